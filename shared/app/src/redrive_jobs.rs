//! Redrive: puts failed jobs back, as their dead-letter entries name them (R20, PROTOCOL rule 7).

use std::collections::HashSet;

use futures::future::try_join_all;
use futures::stream::{self, StreamExt};
use spillway_domain::bucket::ShardCount;
use spillway_domain::job::Job;
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;
use spillway_domain::precision::Lane;
use spillway_domain::redrive::{Redrive, RedriveWindow, redrive};
use spillway_domain::staging::Lookahead;
use spillway_domain::time::Instant;

use crate::direct_staging::DirectStaging;
use crate::persist::persist;
use crate::ports::{
    BATCH_MESSAGES_MAX, Clock, Conditional, DeadLetterQueues, JobQueue, PortError, Receipt,
    ReceivedLetter, Redrives,
};

/// How many receives are under way at once: what they bring together, 100 entries, shares packs.
const RECEIVES_AT_ONCE: usize = 10;
/// How many rows are read and written at once.
const WRITES_AT_ONCE: usize = 16;
/// What a run keeps of its time to finish the entries that it has received, in milliseconds.
const STOPPING_MILLIS: i64 = 8_000;
/// What it keeps of that to answer in, in milliseconds.
const ENDING_MILLIS: i64 = 1_000;
/// How long beyond its deadline a run hides what it has received, in seconds: until it has ended,
/// so that what it leaves does not come back to it.
const HIDDEN_BEYOND_SECONDS: i64 = 1;

/// Puts failed jobs back. One value serves one invocation.
#[derive(Debug)]
pub struct Redriver<'a, J, Q, L, C> {
    /// The jobs table.
    pub rows: &'a J,
    /// The delay queues.
    pub queue: &'a Q,
    /// The dead-letter queues.
    pub dead_letters: &'a L,
    /// The clock.
    pub clock: &'a C,
    /// How long before its minute begins prefetch stages a bucket.
    pub lookahead: Lookahead,
    /// The shards that buckets are chosen from: the writers' count.
    pub shards: ShardCount,
    /// Over how long the jobs are spread, from the moment at which each is put back.
    pub window: RedriveWindow,
    /// When the invocation is ended; it stops by itself before.
    pub deadline: Instant,
}

/// What an invocation has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedriveReport {
    /// Jobs that wait again; their entries are deleted.
    pub moved_count: u64,
    /// Entries that were deleted because their job ended otherwise, is gone, or began a newer life.
    pub dropped_count: u64,
    /// Entries that stay, because their job waits or is held, or because a call failed. They can be
    /// received again once the run has ended.
    pub left_count: u64,
    /// Messages that stay because they are no entries.
    pub unreadable_count: u64,
    /// The run's time was up before it found both queues empty.
    pub has_more: bool,
}

/// What became of an entry.
#[derive(Debug)]
enum Outcome {
    /// Its job waits again, as this row.
    Moved(Box<Job>),
    /// There is nothing to put back.
    Dropped,
    /// It stays; the row of its job, when it was read.
    Left(Option<Box<Job>>),
    /// It is none.
    Unreadable,
}

type Settled = (Receipt, Outcome);

impl<J, Q, L, C> Redriver<'_, J, Q, L, C>
where
    J: Redrives,
    Q: JobQueue,
    L: DeadLetterQueues,
    C: Clock,
{
    /// Goes through the dead-letter queues until both are empty or the time is short.
    ///
    /// For each entry the row is written, then its message is sent when the release is near, then
    /// the entry is deleted: a run that dies in between leaves the entry to the next.
    ///
    /// # Errors
    /// [`PortError`] of a dead-letter queue that cannot be read. What was done before stays done.
    pub async fn redrive_jobs(&self) -> Result<RedriveReport, PortError> {
        let mut report = RedriveReport::default();
        for lane in Lane::ALL {
            report.has_more |= !self.drain(lane, &mut report).await?;
        }
        Ok(report)
    }

    /// Goes through a lane's dead-letter queue; tells whether it came to its end.
    async fn drain(&self, lane: Lane, report: &mut RedriveReport) -> Result<bool, PortError> {
        while self.clock.now() < self.receives_until() {
            let received = self.receive(lane).await?;
            if received.is_empty() {
                return Ok(true);
            }
            self.redrive_entries(lane, received, report).await;
        }
        Ok(false)
    }

    async fn receive(&self, lane: Lane) -> Result<Vec<ReceivedLetter>, PortError> {
        let receive = || {
            let left_seconds = self.deadline.millis_since(self.clock.now()).max(0) / 1_000;
            let hidden_seconds = u32::try_from(left_seconds + 1 + HIDDEN_BEYOND_SECONDS);
            self.dead_letters.receive(lane, hidden_seconds.unwrap_or(u32::MAX))
        };
        let receives =
            (0..RECEIVES_AT_ONCE).map(|_| persist(self.clock, self.writes_until(), receive));
        Ok(try_join_all(receives).await?.into_iter().flatten().collect())
    }

    async fn redrive_entries(
        &self,
        lane: Lane,
        received: Vec<ReceivedLetter>,
        report: &mut RedriveReport,
    ) {
        let moves: Vec<_> = received.into_iter().map(|letter| self.settle(letter)).collect();
        let settled: Vec<_> = stream::iter(moves).buffer_unordered(WRITES_AT_ONCE).collect().await;
        let unsent = self.stage(&settled).await;
        let mut done = Vec::new();
        for (receipt, outcome) in settled {
            match outcome {
                Outcome::Moved(job) if !unsent.contains(&job.id) => {
                    report.moved_count += 1;
                    done.push(receipt);
                }
                Outcome::Dropped => {
                    report.dropped_count += 1;
                    done.push(receipt);
                }
                // The next run finds a moved job whose message was not sent, and sends it.
                Outcome::Moved(_) | Outcome::Left(_) => report.left_count += 1,
                Outcome::Unreadable => report.unreadable_count += 1,
            }
        }
        self.delete(lane, &done).await;
    }

    async fn settle(&self, received: ReceivedLetter) -> Settled {
        let ReceivedLetter { letter, receipt } = received;
        let Some(letter) = letter else { return (receipt, Outcome::Unreadable) };
        let entry = PackEntry { job_id: letter.job_id, generation: letter.generation };
        let outcome = match self.try_move(&entry).await {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::warn!(?error, job_id = %entry.job_id, "entry left");
                Outcome::Left(None)
            }
        };
        (receipt, outcome)
    }

    async fn try_move(&self, entry: &PackEntry) -> Result<Outcome, PortError> {
        let until = self.writes_until();
        let row = persist(self.clock, until, || self.rows.row(&entry.job_id)).await?.map(Box::new);
        let job = match self.decided(entry, row.as_deref()) {
            Redrive::Move(job) => job,
            Redrive::Drop => return Ok(Outcome::Dropped),
            Redrive::Leave => return Ok(Outcome::Left(row)),
        };
        let row = match persist(self.clock, until, || self.rows.redrive(&job)).await? {
            Conditional::Done(()) => return Ok(Outcome::Moved(job)),
            // A first try was done, and its answer lost.
            Conditional::Refused(Some(row)) if row == job => return Ok(Outcome::Moved(job)),
            Conditional::Refused(row) => row,
        };
        Ok(match self.decided(entry, row.as_deref()) {
            Redrive::Drop => Outcome::Dropped,
            Redrive::Move(_) | Redrive::Leave => Outcome::Left(row),
        })
    }

    fn decided(&self, entry: &PackEntry, row: Option<&Job>) -> Redrive {
        redrive(entry, row, self.window, self.clock.now(), self.shards)
    }

    /// Stages what is due soon, also of the jobs that wait already: the run that put them back may
    /// have died before their messages. Tells whose message was not sent.
    async fn stage(&self, settled: &[Settled]) -> HashSet<JobId> {
        let Self { queue, clock, lookahead, .. } = *self;
        let jobs = settled.iter().filter_map(|(_, outcome)| match outcome {
            Outcome::Moved(job) | Outcome::Left(Some(job)) => Some(&**job),
            Outcome::Left(None) | Outcome::Dropped | Outcome::Unreadable => None,
        });
        let until = self.writes_until();
        DirectStaging { queue, clock, lookahead, until }.stage(jobs).await
    }

    /// Deletes entries; one that stays comes again, and its job is looked at again.
    async fn delete(&self, lane: Lane, receipts: &[Receipt]) {
        let deletes = receipts.chunks(BATCH_MESSAGES_MAX).map(|some| {
            persist(self.clock, self.writes_until(), || self.dead_letters.delete(lane, some))
        });
        if let Err(error) = try_join_all(deletes).await {
            tracing::warn!(?error, lane = lane.as_str(), "entries not deleted; they come again");
        }
    }

    /// Tells until when entries are received.
    fn receives_until(&self) -> Instant {
        self.deadline.plus_millis(-STOPPING_MILLIS)
    }

    /// Tells until when rows are written, messages sent and entries deleted.
    fn writes_until(&self) -> Instant {
        self.deadline.plus_millis(-ENDING_MILLIS)
    }
}
