//! The control table, for a caller that persists.

use spillway_app::ports::{
    CatchUp, Intake, LeaseToken, Leased, Limiter, PolicyStore, PortError, Progress, SettingsSource,
    StagingState, StagingUnits, StoredPolicy, Versioned,
};
use spillway_domain::bucket::ShardCounts;
use spillway_domain::drain_plan::PlanRecord;
use spillway_domain::limiter::{Leasing, TokenRequest};
use spillway_domain::name::{ChannelName, JobId};
use spillway_domain::policy::Removed;
use spillway_domain::reconcile::Visits;
use spillway_domain::time::{Instant, Minute};
use spillway_domain::unit::{Split, Unit};

use super::{Persisting, until_answered};
use crate::contract::{ControlTable, JobsTable};

impl<T> ControlTable for Persisting<T>
where
    T: ControlTable + JobsTable + Send + Sync,
{
    fn staging_state(&self) -> &impl StagingState {
        self
    }

    fn staging_units(&self) -> &impl StagingUnits {
        self
    }

    fn catch_up(&self) -> &impl CatchUp {
        self
    }

    fn limiter(&self) -> &impl Limiter {
        self
    }

    fn settings(&self) -> &impl SettingsSource {
        self
    }

    fn policy_store(&self) -> &impl PolicyStore {
        self
    }

    fn intake(&self) -> &impl Intake {
        self
    }

    fn now(&self) -> Instant {
        control_table(&self.0).now()
    }

    async fn pause(&self) {
        control_table(&self.0).pause().await;
    }

    fn answers_get_lost(&self) -> bool {
        true
    }
}

/// Sees one side of what is a jobs table as well.
fn control_table(ports: &impl ControlTable) -> &impl ControlTable {
    ports
}

/// Makes a write until it is answered; one that was refused counts as done when the table holds
/// what it writes, and did not before.
async fn write<V, R, W>(
    read: impl Fn() -> R + Send + Sync,
    written: &V,
    write: impl Fn() -> W + Send + Sync,
) -> Result<bool, PortError>
where
    V: PartialEq + Sync,
    R: Future<Output = Result<V, PortError>> + Send,
    W: Future<Output = Result<bool, PortError>> + Send,
{
    let was_there = read().await? == *written;
    Ok(until_answered(&write).await? || (!was_there && read().await? == *written))
}

impl<T: ControlTable + Send + Sync> StagingState for Persisting<T> {
    async fn watermark(&self) -> Result<Option<Minute>, PortError> {
        until_answered(|| self.0.staging_state().watermark()).await
    }

    async fn advance_watermark(&self, minute: Minute) -> Result<(), PortError> {
        until_answered(|| self.0.staging_state().advance_watermark(minute)).await
    }

    async fn visits(&self) -> Result<Versioned<Visits>, PortError> {
        until_answered(|| self.0.staging_state().visits()).await
    }

    async fn write_visits(&self, visits: &Visits, seen: u64) -> Result<bool, PortError> {
        let written = Versioned { value: visits.clone(), version: seen + 1 };
        let call = || self.0.staging_state().write_visits(visits, seen);
        write(|| self.visits(), &written, call).await
    }

    async fn write_shard_counts(
        &self,
        counts: &ShardCounts,
        seen: Option<&ShardCounts>,
    ) -> Result<bool, PortError> {
        let call = || self.0.staging_state().write_shard_counts(counts, seen);
        write(|| self.shard_counts(), &Some(*counts), call).await
    }
}

impl<T: ControlTable + Send + Sync> SettingsSource for Persisting<T> {
    async fn stored_policy(&self) -> Result<Option<StoredPolicy>, PortError> {
        until_answered(|| self.0.settings().stored_policy()).await
    }

    async fn shard_counts(&self) -> Result<Option<ShardCounts>, PortError> {
        until_answered(|| self.0.settings().shard_counts()).await
    }
}

impl<T: ControlTable + Send + Sync> PolicyStore for Persisting<T> {
    async fn store_policy(&self, text: &str, seen: Option<u64>) -> Result<bool, PortError> {
        let written = StoredPolicy { version: seen.unwrap_or(0) + 1, text: text.to_owned() };
        let call = || self.0.policy_store().store_policy(text, seen);
        write(|| self.stored_policy(), &Some(written), call).await
    }

    async fn waiting_job_of(&self, names: &Removed) -> Result<Option<JobId>, PortError> {
        until_answered(|| self.0.policy_store().waiting_job_of(names)).await
    }
}

/// Each of these writes is answered as the first time when it is made again.
impl<T: ControlTable + Send + Sync> StagingUnits for Persisting<T> {
    async fn plan(&self, minute: Minute) -> Result<Option<PlanRecord>, PortError> {
        until_answered(|| self.0.staging_units().plan(minute)).await
    }

    async fn write_plan(&self, record: &PlanRecord) -> Result<PlanRecord, PortError> {
        until_answered(|| self.0.staging_units().write_plan(record)).await
    }

    async fn split(&self, minute: Minute) -> Result<Option<Split>, PortError> {
        until_answered(|| self.0.staging_units().split(minute)).await
    }

    async fn write_split(&self, minute: Minute, split: Split) -> Result<Split, PortError> {
        until_answered(|| self.0.staging_units().write_split(minute, split)).await
    }

    async fn lease(
        &self,
        unit: Unit,
        token: &LeaseToken,
        now: Instant,
        until: Instant,
    ) -> Result<Leased, PortError> {
        until_answered(|| self.0.staging_units().lease(unit, token, now, until)).await
    }

    async fn write_progress(
        &self,
        unit: Unit,
        token: &LeaseToken,
        progress: &Progress,
    ) -> Result<bool, PortError> {
        until_answered(|| self.0.staging_units().write_progress(unit, token, progress)).await
    }
}

impl<T: ControlTable + Send + Sync> CatchUp for Persisting<T> {
    async fn reserve(
        &self,
        millis: i64,
        now: Instant,
        last: Instant,
    ) -> Result<Option<Instant>, PortError> {
        until_answered(|| self.0.catch_up().reserve(millis, now, last)).await
    }

    async fn reserved_until(&self) -> Result<Option<Instant>, PortError> {
        until_answered(|| self.0.catch_up().reserved_until()).await
    }
}

impl<T: ControlTable + Send + Sync> Limiter for Persisting<T> {
    async fn lease_tokens(
        &self,
        channel: &ChannelName,
        request: &TokenRequest,
    ) -> Result<Leasing, PortError> {
        until_answered(|| self.0.limiter().lease_tokens(channel, request)).await
    }
}
