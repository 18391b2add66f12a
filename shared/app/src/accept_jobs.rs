//! Accepting jobs: each is created, rescheduled, found unchanged, or refused (R1 to R9).

use std::collections::HashSet;

use futures::stream::{self, StreamExt};
use spillway_domain::acceptance::{Acceptance, Refusal, Submission, acceptance, contract_at};
use spillway_domain::bucket::ShardCount;
use spillway_domain::job::{Generation, Job};
use spillway_domain::name::JobId;
use spillway_domain::staging::Lookahead;
use spillway_domain::time::Instant;

use crate::direct_staging::DirectStaging;
use crate::ports::{Clock, Conditional, Intake, JobQueue, PortError};

/// How many jobs of one call are written at once: a full call of 500 takes eight rounds, and one
/// function does not use up the 1,000 writes a second of a partition by itself.
const WRITES_AT_ONCE: usize = 64;

/// What is kept of a call's time for the messages of what was written, in milliseconds: one call on
/// the queue at its slowest.
const SENDING_MILLIS: i64 = 5_000;

/// What an accepted job's write changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// The id was new.
    Created,
    /// The stored job was what was asked; nothing was written.
    Unchanged,
    /// The waiting job took the new spec.
    Rescheduled,
}

/// What became of one submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The job is stored as it was asked, and will be staged by prefetch or has been here.
    Accepted(Change, Box<Job>),
    /// Nothing was written.
    Refused(Refusal),
    /// It is not known whether the job is stored, or it is stored and could not be staged. Trying
    /// again is safe.
    Unavailable,
}

/// Accepts jobs by way of its ports.
#[derive(Debug)]
pub struct Acceptor<'a, S, Q, C> {
    /// The jobs table.
    pub store: &'a S,
    /// The delay queues.
    pub queue: &'a Q,
    /// The clock.
    pub clock: &'a C,
    /// How long before its minute begins prefetch stages a bucket.
    pub lookahead: Lookahead,
    /// The shards that buckets are chosen from: the writers' count.
    pub shards: ShardCount,
    /// When the answer is given at the latest. What is not known by then is unavailable.
    pub until: Instant,
}

impl<S: Intake, Q: JobQueue, C: Clock> Acceptor<'_, S, Q, C> {
    /// Accepts the submissions, whose ids all differ, and answers for each, in the order given.
    ///
    /// A job that is due soon is staged here, after its write was answered and before its own
    /// answer is given: prefetch may have read its bucket already (R9).
    pub async fn accept(&self, submissions: Vec<Submission>) -> Vec<Answer> {
        let mut answers = self.write_all(&submissions).await;
        let unsent = self.stage_due_soon(&answers).await;
        for answer in &mut answers {
            if matches!(answer, Answer::Accepted(_, job) if unsent.contains(&job.id)) {
                *answer = Answer::Unavailable;
            }
        }
        answers
    }

    /// Writes until the time is over. A write that is under way then is given up: it may be done or
    /// not.
    async fn write_all(&self, submissions: &[Submission]) -> Vec<Answer> {
        let mut answers = vec![Answer::Unavailable; submissions.len()];
        let writes: Vec<_> = answers
            .iter_mut()
            .zip(submissions)
            .map(|(answer, submission)| async move { *answer = self.write(submission).await })
            .collect();
        let time_is_over = self.clock.sleep_until(self.until.plus_millis(-SENDING_MILLIS));
        stream::iter(writes)
            .buffer_unordered(WRITES_AT_ONCE)
            .take_until(time_is_over)
            .collect::<()>()
            .await;
        answers
    }

    async fn write(&self, submission: &Submission) -> Answer {
        match self.try_write(submission, self.clock.now()).await {
            Ok(answer) => answer,
            Err(error) => {
                log_unavailable(&submission.id, &error);
                Answer::Unavailable
            }
        }
    }

    /// Carries out what `domain` decides. Most ids are new, so that creation is tried unread; the
    /// store answers with the row when there is one. What could not be created is only looked up.
    async fn try_write(&self, submission: &Submission, now: Instant) -> Result<Answer, PortError> {
        let is_creatable = contract_at(submission, now).is_ok();
        let stored = if is_creatable { None } else { self.store.read(&submission.id).await? };
        let decided = acceptance(submission, stored.as_ref(), now, self.shards);
        let Acceptance::Create(job) = decided else {
            return self.settle(submission, decided, now).await;
        };
        match self.store.create(&job).await? {
            Conditional::Done(()) => Ok(Answer::Accepted(Change::Created, job)),
            Conditional::Refused(Some(row)) => {
                let decided = acceptance(submission, Some(&row), now, self.shards);
                self.settle(submission, decided, now).await
            }
            Conditional::Refused(None) => Err(gone()),
        }
    }

    async fn settle(
        &self,
        submission: &Submission,
        decided: Acceptance,
        now: Instant,
    ) -> Result<Answer, PortError> {
        match decided {
            Acceptance::Unchanged(job) => Ok(Answer::Accepted(Change::Unchanged, job)),
            Acceptance::Refuse(refusal) => Ok(Answer::Refused(refusal)),
            Acceptance::Reschedule { job, seen } => {
                self.reschedule(submission, job, seen, now).await
            }
            // Only an id without a row is created, and a row was seen.
            Acceptance::Create(_) => Err(gone()),
        }
    }

    /// Reschedules once. A refusal is not tried again: exactly one of two racing writers wins. What
    /// the row says now decides whether this call lost, or had won and lost only its answer.
    async fn reschedule(
        &self,
        submission: &Submission,
        job: Box<Job>,
        seen: Generation,
        now: Instant,
    ) -> Result<Answer, PortError> {
        let row = match self.store.reschedule(&job, seen).await? {
            Conditional::Done(()) => return Ok(Answer::Accepted(Change::Rescheduled, job)),
            Conditional::Refused(Some(row)) => row,
            Conditional::Refused(None) => return Err(gone()),
        };
        Ok(match acceptance(submission, Some(&row), now, self.shards) {
            Acceptance::Unchanged(row) => Answer::Accepted(Change::Unchanged, row),
            Acceptance::Refuse(refusal) => Answer::Refused(refusal),
            Acceptance::Create(_) | Acceptance::Reschedule { .. } => {
                Answer::Refused(Refusal::Conflict(row))
            }
        })
    }

    /// Sends the messages of the accepted jobs that are due soon, and tells whose was not sent.
    async fn stage_due_soon(&self, answers: &[Answer]) -> HashSet<JobId> {
        let Self { queue, clock, lookahead, until, .. } = *self;
        let accepted = answers.iter().filter_map(|answer| match answer {
            Answer::Accepted(_, job) => Some(&**job),
            _ => None,
        });
        DirectStaging { queue, clock, lookahead, until }.stage(accepted).await
    }
}

/// Says that a row was there and is not any more: its time to live ran out in between.
fn gone() -> PortError {
    PortError::Transient("the row is gone".into())
}

/// Logs why a job is unavailable: a lasting fault is the operator's, a temporary one the caller's
/// to try again.
fn log_unavailable(id: &JobId, error: &PortError) {
    match error {
        PortError::Transient(_) => tracing::debug!(%id, ?error, "the store did not take a job"),
        PortError::Permanent(_) => tracing::error!(%id, ?error, "the store refused a job"),
    }
}
