use spillway_domain::bucket::Shard;
use spillway_domain::drain_plan::PlanRecord;
use spillway_domain::time::{Instant, Minute};
use spillway_domain::unit::{Split, Unit};

use super::{PageKey, PortError};

/// Names a run of prefetch: who holds a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseToken(String);

impl LeaseToken {
    /// Makes the token of an invocation.
    pub fn of(invocation: impl Into<String>) -> Self {
        Self(invocation.into())
    }

    /// Shows the token.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Up to where a unit is staged: everything before it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The minute that comes next: the unit's own, or one that jobs are carried from.
    pub minute: Minute,
    /// The shard that comes next.
    pub shard: Shard,
    /// Where in it the next page begins; none at its first.
    pub after: Option<PageKey>,
}

/// The answer to a run that asks for a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leased {
    /// It has the lease, and begins where the last holder left a checkpoint.
    Taken(Option<Checkpoint>),
    /// Another run has it.
    Held,
    /// The unit is completely staged.
    Done,
}

/// What the holder of a lease says of its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Everything before the checkpoint was sent.
    Reached(Checkpoint),
    /// The holder stops; whoever comes next goes on from the last checkpoint.
    Left,
    /// Everything was sent.
    Done,
}

/// The plans of minutes and their staging units in the control table.
pub trait StagingUnits: Send + Sync {
    /// Reads what a minute's plan is computed from; none before a run came to it. Consistent.
    fn plan(
        &self,
        minute: Minute,
    ) -> impl Future<Output = Result<Option<PlanRecord>, PortError>> + Send;

    /// Writes what a minute's plan is computed from, unless another run has: answers the record that
    /// is in force.
    fn write_plan(
        &self,
        record: &PlanRecord,
    ) -> impl Future<Output = Result<PlanRecord, PortError>> + Send;

    /// Reads how a minute is split; none before a run came to it. Consistent.
    fn split(
        &self,
        minute: Minute,
    ) -> impl Future<Output = Result<Option<Split>, PortError>> + Send;

    /// Writes how a minute is split, unless another run has: answers the split that is in force.
    fn write_split(
        &self,
        minute: Minute,
        split: Split,
    ) -> impl Future<Output = Result<Split, PortError>> + Send;

    /// Takes the lease of a unit until an instant. Condition: not done; no lease, a lease that ran
    /// out before `now`, or this token's own.
    fn lease(
        &self,
        unit: Unit,
        token: &LeaseToken,
        now: Instant,
        until: Instant,
    ) -> impl Future<Output = Result<Leased, PortError>> + Send;

    /// Writes what a holder says of its unit. Condition: the lease is this token's; `false` when
    /// another run has taken it over.
    fn write_progress(
        &self,
        unit: Unit,
        token: &LeaseToken,
        progress: &Progress,
    ) -> impl Future<Output = Result<bool, PortError>> + Send;
}

/// The time of overdue jobs, which all runs take from one place in the control table.
pub trait CatchUp: Send + Sync {
    /// Reserves so many milliseconds after what is reserved already, or from `now` on; answers
    /// where they begin, or none when that would be after `last`.
    fn reserve(
        &self,
        millis: i64,
        now: Instant,
        last: Instant,
    ) -> impl Future<Output = Result<Option<Instant>, PortError>> + Send;

    /// Tells where the reserved time ends; none when none was ever reserved.
    fn reserved_until(&self) -> impl Future<Output = Result<Option<Instant>, PortError>> + Send;
}
