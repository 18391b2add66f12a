//! Staging: moves the jobs of every bucket that is due into the delay queues (R10, R15).

use futures::stream::{self, StreamExt, TryStreamExt};
use spillway_domain::bucket::{Bucket, ShardCount, ShardCounts, grown};
use spillway_domain::pack::{OpenPacks, Pack};
use spillway_domain::policy::Policy;
use spillway_domain::precision::Lane;
use spillway_domain::reconcile::Found;
use spillway_domain::staging::{Lookahead, minutes_to_stage};
use spillway_domain::time::{Instant, Minute};

use crate::ports::{Clock, DueIndex, JobQueue, PortError, QueueMessage, StagingState};
use crate::send_messages::{PendingMessage, send_messages};

/// How many buckets of a minute are read at once: enough to hide the index's latency, few enough
/// for one connection pool.
const BUCKETS_AT_ONCE: usize = 16;

/// Stages what is due. One value serves one invocation.
#[derive(Debug)]
pub struct Stager<'a, I, Q, S, C> {
    /// The due-minute index.
    pub index: &'a I,
    /// The delay queues.
    pub queue: &'a Q,
    /// The watermark, the visits, the shard counts.
    pub state: &'a S,
    /// The clock.
    pub clock: &'a C,
    /// How long before its minute begins a bucket is staged.
    pub lookahead: Lookahead,
    /// The invocation stops before this.
    pub until: Instant,
}

/// What an invocation has staged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StagingReport {
    /// Minutes that are completely staged now.
    pub minutes_count: u64,
    /// Jobs of those minutes.
    pub staged_count: u64,
    /// Drained minutes that were looked at again.
    pub visits_count: u64,
    /// Jobs that were left in them and staged again.
    pub reconciled_count: u64,
    /// Jobs of paused channels that were left in them.
    pub held_back_count: u64,
    /// Minutes that are due and left to the next tick, since this one's time was up.
    pub left_minutes_count: u64,
}

/// Says why a bucket could not be staged; what was not staged stays due for the next tick.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// The index or the control table did not answer.
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
    /// The invocation's time was up.
    #[error("stopped before the invocation's deadline")]
    Deadline,
}

/// What was found in a bucket, or in all buckets of a minute.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    staged_count: u64,
    held_back_count: u64,
}

impl Tally {
    fn plus(self, other: Self) -> Self {
        Self {
            staged_count: self.staged_count + other.staged_count,
            held_back_count: self.held_back_count + other.held_back_count,
        }
    }

    fn found(self) -> Found {
        match (self.staged_count, self.held_back_count) {
            (0, 0) => Found::Nothing,
            (0, _) => Found::HeldBack,
            _ => Found::Jobs,
        }
    }
}

impl<I: DueIndex, Q: JobQueue, S: StagingState, C: Clock> Stager<'_, I, Q, S, C> {
    /// Stages every minute that is due, in order, then visits the drained minutes whose time has
    /// come. The watermark moves over a minute once all of its messages are in their queues, so
    /// that a tick that was missed, doubled, late or cut short costs nothing but time.
    ///
    /// # Errors
    /// [`StagingError`] when a minute could not be staged completely; the minutes before it are.
    pub async fn stage_jobs(
        &self,
        shards: ShardCount,
        policy: &Policy,
    ) -> Result<StagingReport, StagingError> {
        let mut report = StagingReport::default();
        self.stage_due_minutes(shards, &mut report).await?;
        self.reconcile(shards, policy, &mut report).await?;
        Ok(report)
    }

    /// Brings a raised shard count into force, the readers' first; answers the count to read.
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
            tracing::warn!(stored = readers.get(), wanted = wanted.get(), "shards only grow");
        }
        if let Some(counts) = grown(stored, wanted, self.clock.now()) {
            let is_written = self.state.write_shard_counts(&counts, stored.as_ref()).await?;
            tracing::info!(?counts, is_written, "shard counts raised");
        }
        Ok(readers)
    }

    async fn stage_due_minutes(
        &self,
        shards: ShardCount,
        report: &mut StagingReport,
    ) -> Result<(), StagingError> {
        let now = self.clock.now();
        let watermark = self.state.watermark().await?;
        for minute in minutes_to_stage(watermark, self.lookahead.last_minute(now), now) {
            match self.stage_minute(minute, shards, None).await {
                Err(StagingError::Deadline) => report.left_minutes_count += 1,
                Err(error) => return Err(error),
                Ok(tally) => {
                    self.state.advance_watermark(minute).await?;
                    report.minutes_count += 1;
                    report.staged_count += tally.staged_count;
                }
            }
        }
        Ok(())
    }

    async fn reconcile(
        &self,
        shards: ShardCount,
        policy: &Policy,
        report: &mut StagingReport,
    ) -> Result<(), StagingError> {
        let Some(watermark) = self.state.watermark().await? else { return Ok(()) };
        let stored = self.state.visits().await?;
        let mut visits = stored.value.clone();
        visits.take_in(watermark, self.clock.now());
        for minute in visits.due(self.clock.now()) {
            let tally = match self.stage_minute(minute, shards, Some(policy)).await {
                Err(StagingError::Deadline) => break,
                other => other?,
            };
            visits.visited(minute, tally.found(), self.clock.now());
            report.visits_count += 1;
            report.reconciled_count += tally.staged_count;
            report.held_back_count += tally.held_back_count;
        }
        if visits != stored.value {
            let is_written = self.state.write_visits(&visits, stored.version).await?;
            if !is_written {
                // Another run took the same visits; its record stands, ours only staged twice.
                tracing::debug!("visits were written by another run");
            }
        }
        Ok(())
    }

    /// Stages all buckets of a minute. With a policy, jobs of its paused channels are left.
    async fn stage_minute(
        &self,
        minute: Minute,
        shards: ShardCount,
        held_back_by: Option<&Policy>,
    ) -> Result<Tally, StagingError> {
        let buckets: Vec<_> = shards
            .shards()
            .map(|shard| self.stage_bucket(Bucket { minute, shard }, held_back_by))
            .collect();
        stream::iter(buckets)
            .buffer_unordered(BUCKETS_AT_ONCE)
            .try_fold(Tally::default(), |sum, tally| async move { Ok(sum.plus(tally)) })
            .await
    }

    async fn stage_bucket(
        &self,
        bucket: Bucket,
        held_back_by: Option<&Policy>,
    ) -> Result<Tally, StagingError> {
        let mut tally = Tally::default();
        let mut open = OpenPacks::default();
        let mut after = None;
        loop {
            if self.clock.now() >= self.until {
                return Err(StagingError::Deadline);
            }
            let page = self.index.page(bucket, after.as_ref()).await?;
            let (held_back, due): (Vec<_>, Vec<_>) = page.jobs.into_iter().partition(|job| {
                let channel = held_back_by.and_then(|policy| policy.channels.get(&job.key.channel));
                channel.is_some_and(|channel| channel.paused)
            });
            tally.held_back_count += held_back.len() as u64;
            tally.staged_count += due.len() as u64;
            self.send(due.into_iter().filter_map(|job| open.add(job)).collect()).await?;
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        self.send(open.flush().collect()).await?;
        Ok(tally)
    }

    async fn send(&self, packs: Vec<Pack>) -> Result<(), StagingError> {
        for lane in Lane::ALL {
            let messages: Vec<_> = packs
                .iter()
                .filter(|pack| pack.key.lane == lane)
                .map(|pack| PendingMessage {
                    release_at: pack.key.release_at,
                    message: QueueMessage::Release(pack.clone()),
                })
                .collect();
            let answers = send_messages(self.queue, self.clock, lane, messages, self.until).await;
            let mut unsent: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
            if !unsent.is_empty() {
                let unsent_count = unsent.len();
                return Err(StagingError::Queue { unsent_count, first: unsent.swap_remove(0) });
            }
        }
        Ok(())
    }
}
