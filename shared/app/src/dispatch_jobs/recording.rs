//! Writes down what became of a send (PROTOCOL rules 3, 4, 6 and 7).

use spillway_domain::attempt::{AfterAttempt, DeliveryRecord, after_attempt};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::{Job, State};
use spillway_domain::pack::{Pack, PackEntry};
use spillway_domain::policy::Channel;
use spillway_domain::staging::bucket_minute;
use spillway_domain::time::Instant;

use super::pack::left_to_run_out;
use super::sending::Attempted;
use super::{
    DeliveryFact, DispatchPorts, DispatchReport, Dispatcher, Ending, Held, Onward, Step, was_done,
};
use crate::ports::{
    Claims, Clock, Conditional, DeadLetter, DeadLetters, FailedBy, Failure, NextAttempt, PortError,
    QueueMessage,
};
use crate::send_messages::{PendingMessage, send_messages};

impl<P: DispatchPorts> Dispatcher<'_, P> {
    /// Writes down the outcome of a send.
    pub(super) async fn settle(&self, pack: &Pack, channel: &Channel, sent: Attempted) -> Step {
        let Attempted { held, outcome, sent_at, answered_at } = sent;
        match after_attempt(&held.job, &held.claim.token, outcome, channel.retry, answered_at) {
            None => self.record(&held, sent_at, answered_at).await,
            Some(AfterAttempt::Fail { maybe_sent, reason }) => {
                let by = FailedBy::Holder(held.claim.token.clone());
                match self.fail(&held.job, by, maybe_sent, reason).await {
                    Ok(ending) => Step::End(ending),
                    Err(error) => {
                        tracing::warn!(?error, job_id = %held.job.id, "failure not recorded");
                        left_to_run_out(pack, &held)
                    }
                }
            }
            Some(AfterAttempt::Retry { release_at, maybe_sent, reason }) => {
                let minute = bucket_minute(release_at, answered_at);
                let shards = self.settings.shards.writers;
                let bucket = Bucket::of(&held.job.id, minute, shards);
                let next = NextAttempt { release_at, bucket, maybe_sent, reason };
                self.retry(pack, held, next).await
            }
        }
    }

    async fn record(&self, held: &Held, sent_at: Instant, delivered_at: Instant) -> Step {
        let job = &held.job;
        let record = DeliveryRecord {
            job_id: job.id.clone(),
            generation: job.generation,
            attempts: job.attempts,
            sent_at,
            delivered_at,
            ttl_at: job.ttl_at(delivered_at, self.retention_seconds),
        };
        let fact = |ending| DeliveryFact {
            class: job.spec.class.clone(),
            channel: job.spec.channel.clone(),
            lateness_millis: job
                .redriven_at
                .is_none()
                .then(|| delivered_at.millis_since(job.due_at.max(job.accepted_at))),
            maybe_twice: job.maybe_sent,
            ending,
        };
        match self.persist(|| self.claims.record_delivered(&record)).await {
            Ok(answer) if was_done(&answer, &held.entry(), |row| is_own(row, &record)) => {
                Step::Delivered(fact(Ending::Delivered))
            }
            Ok(_) => Step::Delivered(fact(Ending::DeliveredTwice)),
            Err(error) => {
                tracing::debug!(?error, job_id = %job.id, "delivery to be recorded by a message");
                Step::Record(record, fact(Ending::RecordPassedOn))
            }
        }
    }

    /// Sends the messages that record what could not be written; they answer once all are safe.
    pub(super) async fn send_records(&self, records: Vec<DeliveryRecord>) -> Result<(), PortError> {
        let release_at = self.clock.now();
        let messages = records
            .into_iter()
            .map(|record| PendingMessage { message: QueueMessage::Record(record), release_at })
            .collect();
        send_messages(self.queue, self.clock, self.lane, messages, self.deadline)
            .await
            .into_iter()
            .collect()
    }

    /// Takes a message that only records.
    pub(super) async fn run_record(
        &self,
        message_id: &str,
        record: &DeliveryRecord,
    ) -> DispatchReport {
        let mut report = DispatchReport::default();
        match self.persist(|| self.claims.record_delivered(record)).await {
            Ok(Conditional::Done(())) => report.count(Ending::Delivered),
            Ok(Conditional::Refused(Some(row))) if !is_own(&row, record) => {
                report.count(Ending::DeliveredTwice);
            }
            Ok(Conditional::Refused(_)) => {}
            Err(error) => {
                tracing::warn!(?error, job_id = %record.job_id, "delivery still not recorded");
                report.failed_message_ids.push(message_id.to_owned());
            }
        }
        report
    }

    /// Writes the next attempt into the row; its message follows, then the old one is deleted, so
    /// that a crash in between is healed by the old message.
    async fn retry(&self, pack: &Pack, held: Held, next: NextAttempt) -> Step {
        let entry = held.entry();
        let token = &held.claim.token;
        let release_at = next.release_at;
        match self.persist(|| self.claims.retry(&entry, token, &next)).await {
            Ok(answer) if was_done(&answer, &entry, |job| job.release_at == release_at) => {}
            Ok(_) => return left_to_run_out(pack, &held),
            Err(error) => {
                tracing::warn!(?error, job_id = %entry.job_id, "retry not recorded");
                return left_to_run_out(pack, &held);
            }
        }
        if self.lookahead.is_staged_directly(next.bucket.minute, self.clock.now()) {
            Step::Send(Onward { entry, release_at, hops: 0, ending: Ending::Retried })
        } else {
            Step::End(Ending::Retried)
        }
    }

    /// Ends a job as failed: the dead-letter entry first, then the row (rule 7).
    pub(super) async fn fail(
        &self,
        job: &Job,
        by: FailedBy,
        maybe_sent: bool,
        reason: String,
    ) -> Result<Ending, PortError> {
        let now = self.clock.now();
        let letter = DeadLetter {
            job_id: job.id.clone(),
            generation: job.generation,
            channel: job.spec.channel.clone(),
            class: job.spec.class.clone(),
            attempts: job.attempts,
            reason: reason.clone(),
            failed_at: now,
        };
        self.dead_letters.send(&letter).await?;
        let entry = PackEntry { job_id: job.id.clone(), generation: job.generation };
        let ttl_at = job.ttl_at(now, self.retention_seconds);
        let failure = Failure { by, maybe_sent, reason, finished_at: now, ttl_at };
        match self.persist(|| self.claims.record_failed(&entry, &failure)).await? {
            answer if was_done(&answer, &entry, |row| row.state == State::Failed) => {
                Ok(Ending::Failed)
            }
            // Whoever took it over, or recorded a late delivery, has the last word.
            _ => Ok(Ending::Dropped(spillway_domain::claim::DropReason::Finished)),
        }
    }
}

/// Tells whether the row shows this very delivery: a first write of it was done and its answer
/// lost.
fn is_own(row: &Job, record: &DeliveryRecord) -> bool {
    row.state == State::Delivered
        && row.sent_at == Some(record.sent_at)
        && row.attempts == record.attempts
}
