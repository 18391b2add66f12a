//! Direct staging: the writer of a near bucket sends its message itself (PROTOCOL rule 9).

use std::collections::HashSet;
use std::pin::pin;

use futures::future::{self, Either};
use spillway_domain::job::{Job, State};
use spillway_domain::name::JobId;
use spillway_domain::pack::{DueJob, Pack, packs};
use spillway_domain::precision::Lane;
use spillway_domain::staging::Lookahead;
use spillway_domain::time::Instant;

use crate::ports::{Clock, JobQueue, QueueMessage};
use crate::send_messages::{PendingMessage, send_messages};

/// Sends the messages of waiting jobs.
#[derive(Debug)]
pub(crate) struct DirectStaging<'a, Q, C> {
    /// The delay queues.
    pub(crate) queue: &'a Q,
    /// The clock.
    pub(crate) clock: &'a C,
    /// How long before its minute begins prefetch stages a bucket.
    pub(crate) lookahead: Lookahead,
    /// What is not sent by then is given up.
    pub(crate) until: Instant,
}

impl<Q: JobQueue, C: Clock> DirectStaging<'_, Q, C> {
    /// Sends the messages of those of the jobs that are due soon, and tells whose was not sent. To
    /// be called once all of their writes were answered.
    pub(crate) async fn stage(&self, jobs: impl IntoIterator<Item = &Job>) -> HashSet<JobId> {
        // Read after the last write was answered: by this clock alone prefetch may have been there.
        let now = self.clock.now();
        let due_soon = jobs.into_iter().filter(|job| self.is_due_soon(job, now)).map(DueJob::of);
        let packs = packs(due_soon);
        let mut unsent = packs.iter().flat_map(job_ids).collect();
        if packs.is_empty() {
            return unsent;
        }
        let (exact, movable) = packs.into_iter().partition(|pack| pack.key.lane == Lane::Exact);
        let sending =
            future::join(self.send(Lane::Exact, exact), self.send(Lane::Movable, movable));
        let time_is_over = self.clock.sleep_until(self.until);
        match future::select(pin!(sending), pin!(time_is_over)).await {
            Either::Left(((exact, movable), _)) => {
                unsent = exact.into_iter().chain(movable).collect();
            }
            Either::Right(_) => tracing::error!(jobs = unsent.len(), "the queues did not answer"),
        }
        unsent
    }

    fn is_due_soon(&self, job: &Job, now: Instant) -> bool {
        job.state == State::Scheduled
            && job
                .bucket
                .is_some_and(|bucket| self.lookahead.is_staged_directly(bucket.minute, now))
    }

    /// Sends the packs of a lane and gives back the ids of those that were not sent.
    async fn send(&self, lane: Lane, packs: Vec<Pack>) -> Vec<JobId> {
        let pending = |pack: &Pack| PendingMessage {
            message: QueueMessage::Release(pack.clone()),
            release_at: pack.key.release_at,
        };
        let messages = packs.iter().map(pending).collect();
        let answers = send_messages(self.queue, self.clock, lane, messages, self.until).await;
        let mut unsent = Vec::new();
        for (pack, answer) in packs.iter().zip(answers) {
            if let Err(error) = answer {
                let (lane, jobs) = (lane.as_str(), pack.entries.len());
                tracing::error!(lane, jobs, ?error, "a pack was not sent");
                unsent.extend(job_ids(pack));
            }
        }
        unsent
    }
}

fn job_ids(pack: &Pack) -> impl Iterator<Item = JobId> {
    pack.entries.iter().map(|entry| entry.job_id.clone())
}
