//! The staging units and the time of overdue jobs, in the control table.

use std::collections::BTreeMap;

use spillway_app::ports::{
    CatchUp, Checkpoint, LeaseToken, Leased, PortError, Progress, StagingUnits,
};
use spillway_domain::drain_plan::PlanRecord;
use spillway_domain::time::{Instant, Minute};
use spillway_domain::unit::{Split, Unit};

use super::{InMemoryStore, Tables};
use crate::fault::Operation;

/// The items of the staging units.
#[derive(Debug, Default)]
pub(super) struct Units {
    plans: BTreeMap<Minute, PlanRecord>,
    splits: BTreeMap<Minute, Split>,
    leases: BTreeMap<Unit, Lease>,
    reserved_until: Option<Instant>,
}

#[derive(Debug)]
struct Lease {
    token: LeaseToken,
    until: Instant,
    checkpoint: Option<Checkpoint>,
    is_done: bool,
}

impl Units {
    /// Not done; no lease, one that ran out, or one's own → the lease.
    fn lease(&mut self, unit: Unit, token: &LeaseToken, now: Instant, until: Instant) -> Leased {
        let Some(lease) = self.leases.get_mut(&unit) else {
            let lease = Lease { token: token.clone(), until, checkpoint: None, is_done: false };
            self.leases.insert(unit, lease);
            return Leased::Taken(None);
        };
        if lease.is_done {
            return Leased::Done;
        }
        if lease.until >= now && lease.token != *token {
            return Leased::Held;
        }
        (lease.token, lease.until) = (token.clone(), until);
        Leased::Taken(lease.checkpoint.clone())
    }

    /// One's own lease → what its holder says.
    fn write_progress(&mut self, unit: Unit, token: &LeaseToken, progress: &Progress) -> bool {
        let Some(lease) = self.leases.get_mut(&unit).filter(|lease| lease.token == *token) else {
            return false;
        };
        match progress {
            Progress::Reached(checkpoint) => lease.checkpoint = Some(checkpoint.clone()),
            Progress::Left => lease.until = Instant::from_millis(0),
            Progress::Done => lease.is_done = true,
        }
        true
    }

    /// Begins at the latest at `last` → moved on.
    fn reserve(&mut self, millis: i64, now: Instant, last: Instant) -> Option<Instant> {
        let begin = self.reserved_until.map_or(now, |until| until.max(now));
        if begin > last {
            return None;
        }
        self.reserved_until = Some(begin.plus_millis(millis));
        Some(begin)
    }
}

impl StagingUnits for InMemoryStore {
    async fn plan(&self, minute: Minute) -> Result<Option<PlanRecord>, PortError> {
        let read = |tables: &mut Tables| tables.units.plans.get(&minute).cloned();
        self.control(Operation::Plan, read).await
    }

    async fn write_plan(&self, record: &PlanRecord) -> Result<PlanRecord, PortError> {
        let write = |tables: &mut Tables| {
            tables.units.plans.entry(record.minute).or_insert_with(|| record.clone()).clone()
        };
        self.control(Operation::WritePlan, write).await
    }

    async fn split(&self, minute: Minute) -> Result<Option<Split>, PortError> {
        let read = |tables: &mut Tables| tables.units.splits.get(&minute).copied();
        self.control(Operation::Split, read).await
    }

    async fn write_split(&self, minute: Minute, split: Split) -> Result<Split, PortError> {
        let write = |tables: &mut Tables| *tables.units.splits.entry(minute).or_insert(split);
        self.control(Operation::WriteSplit, write).await
    }

    async fn lease(
        &self,
        unit: Unit,
        token: &LeaseToken,
        now: Instant,
        until: Instant,
    ) -> Result<Leased, PortError> {
        let lease = |tables: &mut Tables| tables.units.lease(unit, token, now, until);
        self.control(Operation::Lease, lease).await
    }

    async fn write_progress(
        &self,
        unit: Unit,
        token: &LeaseToken,
        progress: &Progress,
    ) -> Result<bool, PortError> {
        let write = |tables: &mut Tables| tables.units.write_progress(unit, token, progress);
        self.control(Operation::WriteProgress, write).await
    }
}

impl CatchUp for InMemoryStore {
    async fn reserve(
        &self,
        millis: i64,
        now: Instant,
        last: Instant,
    ) -> Result<Option<Instant>, PortError> {
        let reserve = |tables: &mut Tables| tables.units.reserve(millis, now, last);
        self.control(Operation::Reserve, reserve).await
    }

    async fn reserved_until(&self) -> Result<Option<Instant>, PortError> {
        let read = |tables: &mut Tables| tables.units.reserved_until;
        self.control(Operation::ReservedUntil, read).await
    }
}
