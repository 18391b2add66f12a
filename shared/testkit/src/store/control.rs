//! The control table: one value a kind.

use spillway_app::ports::{
    PolicyStore, PortError, SettingsSource, StagingState, StoredPolicy, Versioned,
};
use spillway_domain::bucket::ShardCounts;
use spillway_domain::job::Job;
use spillway_domain::name::JobId;
use spillway_domain::policy::Removed;
use spillway_domain::reconcile::Visits;
use spillway_domain::time::Minute;

use super::InMemoryStore;
use crate::fault::Operation;

/// The control table's items.
#[derive(Debug, Default)]
pub(super) struct Control {
    policy: Option<StoredPolicy>,
    shard_counts: Option<ShardCounts>,
    watermark: Option<Minute>,
    visits: Versioned<Visits>,
}

impl Control {
    /// Version as seen → the next version.
    fn store_policy(&mut self, text: &str, seen: Option<u64>) -> bool {
        let holds = self.policy.as_ref().map(|policy| policy.version) == seen;
        if holds {
            let version = seen.unwrap_or(0) + 1;
            self.policy = Some(StoredPolicy { version, text: text.to_owned() });
        }
        holds
    }

    /// Forward alone.
    fn advance_watermark(&mut self, minute: Minute) {
        self.watermark = self.watermark.max(Some(minute));
    }

    /// Version as seen → the next version.
    fn write_visits(&mut self, visits: &Visits, seen: u64) -> bool {
        let holds = self.visits.version == seen;
        if holds {
            self.visits = Versioned { value: visits.clone(), version: seen + 1 };
        }
        holds
    }

    /// Counts as seen → the new ones.
    fn write_shard_counts(&mut self, counts: ShardCounts, seen: Option<ShardCounts>) -> bool {
        let holds = self.shard_counts == seen;
        if holds {
            self.shard_counts = Some(counts);
        }
        holds
    }
}

impl SettingsSource for InMemoryStore {
    async fn stored_policy(&self) -> Result<Option<StoredPolicy>, PortError> {
        self.control(Operation::StoredPolicy, |tables| tables.control.policy.clone()).await
    }

    async fn shard_counts(&self) -> Result<Option<ShardCounts>, PortError> {
        self.control(Operation::ShardCounts, |tables| tables.control.shard_counts).await
    }
}

impl PolicyStore for InMemoryStore {
    async fn store_policy(&self, text: &str, seen: Option<u64>) -> Result<bool, PortError> {
        let store = |tables: &mut super::Tables| tables.control.store_policy(text, seen);
        self.control(Operation::StorePolicy, store).await
    }

    async fn waiting_job_of(&self, names: &Removed) -> Result<Option<JobId>, PortError> {
        let find = |tables: &mut super::Tables| {
            let waiting = tables.jobs.all().filter(|row| waits_for(&row.job, names));
            waiting.map(|row| &row.job.id).min().cloned()
        };
        self.control(Operation::WaitingJobOf, find).await
    }
}

fn waits_for(job: &Job, names: &Removed) -> bool {
    let has_class = job.spec.class.as_ref().is_some_and(|class| names.classes.contains(class));
    !job.state.is_finished() && (has_class || names.channels.contains(&job.spec.channel))
}

impl StagingState for InMemoryStore {
    async fn watermark(&self) -> Result<Option<Minute>, PortError> {
        self.control(Operation::Watermark, |tables| tables.control.watermark).await
    }

    async fn advance_watermark(&self, minute: Minute) -> Result<(), PortError> {
        let advance = |tables: &mut super::Tables| tables.control.advance_watermark(minute);
        self.control(Operation::AdvanceWatermark, advance).await
    }

    async fn visits(&self) -> Result<Versioned<Visits>, PortError> {
        self.control(Operation::Visits, |tables| tables.control.visits.clone()).await
    }

    async fn write_visits(&self, visits: &Visits, seen: u64) -> Result<bool, PortError> {
        let write = |tables: &mut super::Tables| tables.control.write_visits(visits, seen);
        self.control(Operation::WriteVisits, write).await
    }

    async fn write_shard_counts(
        &self,
        counts: &ShardCounts,
        seen: Option<&ShardCounts>,
    ) -> Result<bool, PortError> {
        let (counts, seen) = (*counts, seen.copied());
        let write =
            move |tables: &mut super::Tables| tables.control.write_shard_counts(counts, seen);
        self.control(Operation::WriteShardCounts, write).await
    }
}
