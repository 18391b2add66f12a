//! Staging: moves the jobs of every minute that is due into the delay queues (R10, R11, R12, R15).
//!
//! `planning` counts each minute once and stores what its drain plan is computed from; `minutes`
//! shares the minute out in units that a run takes by a lease; `sweep` reads the shards of a unit
//! and fills packs across them; `reconcile` looks again at minutes that should have
//! drained.

mod minutes;
mod planning;
mod reconcile;
mod sweep;

use spillway_domain::bucket::{Bucket, ShardCount, ShardCounts, grown};
use spillway_domain::claim::SKEW_SECONDS_MAX;
use spillway_domain::pace::Pace;
use spillway_domain::policy::Policy;
use spillway_domain::staging::Lookahead;
use spillway_domain::time::Instant;

use crate::persist::persist;
use crate::ports::{
    CatchUp, Clock, DueIndex, DuePage, JobQueue, LeaseToken, PageKey, PortError, QueueDepth,
    StagingState, StagingUnits,
};

/// What a run keeps of its time to send its open packs and write its checkpoint, in milliseconds.
const STOPPING_MILLIS: i64 = 5_000;
/// What it keeps of that to end in, in milliseconds.
const ENDING_MILLIS: i64 = 1_000;

/// Stages what is due. One value serves one invocation.
#[derive(Debug)]
pub struct Stager<'a, I, Q, D, S, C> {
    /// The due-minute index.
    pub index: &'a I,
    /// The delay queues.
    pub queue: &'a Q,
    /// How much waits in them.
    pub depth: &'a D,
    /// The watermark, the units, the visits, the pace, the shard counts.
    pub state: &'a S,
    /// The clock.
    pub clock: &'a C,
    /// How long before its minute begins a bucket is staged.
    pub lookahead: Lookahead,
    /// How fast overdue jobs are released.
    pub pace: Pace,
    /// Names the invocation.
    pub token: LeaseToken,
    /// When the invocation is ended; it stops by itself before.
    pub deadline: Instant,
}

/// What an invocation has staged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StagingReport {
    /// Due minutes that are completely staged now.
    pub minutes_count: u64,
    /// Jobs that this invocation staged.
    pub staged_count: u64,
    /// Drained minutes that were looked at again.
    pub visits_count: u64,
    /// Jobs that were left in them and staged again.
    pub reconciled_count: u64,
    /// Jobs that were left in them because their channel is paused, their lane is behind, or their
    /// planned release is still to come.
    pub held_back_count: u64,
    /// Due minutes that are left to another run or to the next tick.
    pub left_minutes_count: u64,
    /// Those of them that are over already.
    pub overdue_minutes_count: u64,
}

/// Says why a minute could not be staged; what was not staged stays due for the next tick.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// The index, the queues' depth or the control table did not answer.
    #[error("could not read or write what is staged")]
    Store(#[from] PortError),
    /// The queue did not take every message.
    #[error("could not send {unsent_count} messages")]
    Queue {
        /// How many it did not take.
        unsent_count: usize,
        /// What it said of the first.
        #[source]
        first: PortError,
    },
}

impl<I, Q, D, S, C> Stager<'_, I, Q, D, S, C>
where
    I: DueIndex,
    Q: JobQueue,
    D: QueueDepth,
    S: StagingState + StagingUnits + CatchUp,
    C: Clock,
{
    /// Stages every minute that is due, then visits the drained minutes whose time has come. A
    /// minute counts as staged once all of its messages are in their queues, so that a tick that
    /// was missed, doubled, late or cut short costs nothing but time; runs that overlap share the
    /// work.
    ///
    /// # Errors
    /// [`StagingError`] when a minute could not be staged completely; the minutes before it are.
    pub async fn stage_jobs(
        &self,
        shards: ShardCount,
        policy: &Policy,
    ) -> Result<StagingReport, StagingError> {
        let mut report = StagingReport::default();
        self.stage_due_minutes(shards, policy, &mut report).await?;
        if self.has_time() {
            self.reconcile(shards, policy, &mut report).await?;
        }
        Ok(report)
    }

    /// Brings a raised shard count into force, the readers' first; answers the count to read. A
    /// lower count than the stored one is refused: jobs may wait in the shards above it.
    ///
    /// # Errors
    /// [`PortError`] of the control table.
    pub async fn raise_shards(
        &self,
        stored: Option<ShardCounts>,
        wanted: ShardCount,
    ) -> Result<ShardCount, PortError> {
        let readers = stored.map_or(wanted, |counts| counts.readers.max(wanted));
        if wanted < readers {
            let (stored, wanted) = (readers.get(), wanted.get());
            tracing::error!(stored, wanted, "a lower shard count is refused: shards only grow");
        }
        if let Some(counts) = grown(stored, wanted, self.clock.now()) {
            let is_written = self.state.write_shard_counts(&counts, stored.as_ref()).await?;
            tracing::info!(?counts, is_written, "shard counts raised");
        }
        Ok(readers)
    }

    /// Tells until when pages are read.
    fn reads_until(&self) -> Instant {
        self.deadline.plus_millis(-STOPPING_MILLIS)
    }

    /// Tells whether this run begins anything more.
    fn has_time(&self) -> bool {
        self.clock.now() < self.reads_until()
    }

    /// Tells until when messages are sent and progress is written.
    fn writes_until(&self) -> Instant {
        self.deadline.plus_millis(-ENDING_MILLIS)
    }

    /// Tells until when this run has a lease that it takes: no holder outlives it, whatever the
    /// clocks say, so that no two runs ever stage one unit at once.
    fn lease_until(&self) -> Instant {
        self.deadline.plus_seconds(2 * i64::from(SKEW_SECONDS_MAX))
    }

    /// Reads a page until it is answered.
    async fn page(&self, bucket: Bucket, after: Option<&PageKey>) -> Result<DuePage, PortError> {
        persist(self.clock, self.reads_until(), || self.index.page(bucket, after)).await
    }

    /// Makes a call to the control table until it is answered.
    async fn control<T, F>(&self, call: impl Fn() -> F + Send + Sync) -> Result<T, PortError>
    where
        F: Future<Output = Result<T, PortError>> + Send,
        T: Send,
    {
        persist(self.clock, self.writes_until(), call).await
    }
}
