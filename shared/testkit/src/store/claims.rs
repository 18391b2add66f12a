//! Dispatch's writes.

use spillway_app::ports::{Claims, ConditionalResult, FailedBy, Failure, NextAttempt};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::bucket::Bucket;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{Claim, ClaimToken, Generation, Job, State};
use spillway_domain::pack::PackEntry;
use spillway_domain::staging::is_claimable;
use spillway_domain::time::Instant;

use super::InMemoryStore;
use super::rows::{Row, Write, of_life};
use crate::fault::Operation;

impl Claims for InMemoryStore {
    async fn claim(&self, request: &ClaimRequest) -> ConditionalResult<Box<Job>> {
        let id = &request.entry.job_id;
        self.write(Operation::Claim, id, |row| claim(row, request)).await
    }

    async fn give_back(&self, entry: &PackEntry, token: &ClaimToken) -> ConditionalResult {
        let write = |row: Option<&Job>| give_back(row, entry, token);
        self.write(Operation::GiveBack, &entry.job_id, write).await
    }

    async fn retry(
        &self,
        entry: &PackEntry,
        token: &ClaimToken,
        next: &NextAttempt,
    ) -> ConditionalResult {
        let write = |row: Option<&Job>| retry(row, entry, token, next);
        self.write(Operation::Retry, &entry.job_id, write).await
    }

    async fn record_delivered(&self, record: &DeliveryRecord) -> ConditionalResult {
        let write = |row: Option<&Job>| record_delivered(row, record);
        self.write(Operation::RecordDelivered, &record.job_id, write).await
    }

    async fn record_failed(&self, entry: &PackEntry, failure: &Failure) -> ConditionalResult {
        let write = |row: Option<&Job>| record_failed(row, entry, failure);
        self.write(Operation::RecordFailed, &entry.job_id, write).await
    }

    async fn record_expired(
        &self,
        entry: &PackEntry,
        now: Instant,
        ttl_at: Instant,
    ) -> ConditionalResult {
        let write = |row: Option<&Job>| record_expired(row, entry, now, ttl_at);
        self.write(Operation::RecordExpired, &entry.job_id, write).await
    }

    async fn return_to_table(
        &self,
        entry: &PackEntry,
        release_at: Instant,
        bucket: Bucket,
    ) -> ConditionalResult {
        let write = |row: Option<&Job>| return_to_table(row, entry, release_at, bucket);
        self.write(Operation::ReturnToTable, &entry.job_id, write).await
    }
}

/// Generation; attempts below the maximum; `release_at ≤ now + 1.5 s`; `scheduled`, or a claim that
/// ran out → `claimed`, attempts + 1; `maybe_sent` when taken over.
fn claim(row: Option<&Job>, request: &ClaimRequest) -> Option<Write<Box<Job>>> {
    let row = of_life(row, request.entry.generation)?;
    let is_taken_over = has_run_out(row, request.now);
    let holds = row.attempts < request.attempts_max
        && is_claimable(row.release_at, request.now)
        && (row.state == State::Scheduled || is_taken_over);
    holds.then(|| {
        let job = Job {
            state: State::Claimed,
            claim: Some(Claim { token: request.token.clone(), until: request.until }),
            attempts: row.attempts + 1,
            maybe_sent: row.maybe_sent || is_taken_over,
            ..row.clone()
        };
        Write { answer: Box::new(job.clone()), row: Row { job, ttl_at: None } }
    })
}

/// `claimed`, own token, generation → `scheduled`, attempts − 1, no token.
fn give_back(row: Option<&Job>, entry: &PackEntry, token: &ClaimToken) -> Option<Write> {
    let row = held_by(row, entry.generation, token)?;
    Some(Write::waiting(Job {
        state: State::Scheduled,
        attempts: row.attempts.saturating_sub(1),
        claim: None,
        ..row.clone()
    }))
}

/// `claimed`, own token, generation → `scheduled` for its next attempt, no token.
fn retry(
    row: Option<&Job>,
    entry: &PackEntry,
    token: &ClaimToken,
    next: &NextAttempt,
) -> Option<Write> {
    let row = held_by(row, entry.generation, token)?;
    Some(Write::waiting(Job {
        state: State::Scheduled,
        release_at: next.release_at,
        bucket: Some(next.bucket),
        maybe_sent: next.maybe_sent,
        reason: Some(next.reason.clone()),
        claim: None,
        ..row.clone()
    }))
}

/// Generation, neither `delivered` nor `cancelled` → `delivered`. It happened, whoever holds the
/// row by now.
fn record_delivered(row: Option<&Job>, record: &DeliveryRecord) -> Option<Write> {
    let row = of_life(row, record.generation)?;
    let delivered = || Job {
        state: State::Delivered,
        attempts: record.attempts,
        sent_at: Some(record.sent_at),
        delivered_at: Some(record.delivered_at),
        finished_at: Some(record.delivered_at),
        ..row.clone()
    };
    let holds = !matches!(row.state, State::Delivered | State::Cancelled);
    holds.then(|| Write::finished(delivered(), record.ttl_at))
}

/// The holder's word, or a claim that ran out with the attempts used up → `failed`.
fn record_failed(row: Option<&Job>, entry: &PackEntry, failure: &Failure) -> Option<Write> {
    let row = match &failure.by {
        FailedBy::Holder(token) => held_by(row, entry.generation, token),
        FailedBy::RunOut { now, attempts_max } => of_life(row, entry.generation)
            .filter(|row| has_run_out(row, *now) && row.attempts >= *attempts_max),
    }?;
    let job = Job {
        state: State::Failed,
        maybe_sent: row.maybe_sent || failure.maybe_sent,
        reason: Some(failure.reason.clone()),
        finished_at: Some(failure.finished_at),
        ..row.clone()
    };
    Some(Write::finished(job, failure.ttl_at))
}

/// Generation; `scheduled`, or a claim that ran out; `expires_at < now` → `expired`.
fn record_expired(
    row: Option<&Job>,
    entry: &PackEntry,
    now: Instant,
    ttl_at: Instant,
) -> Option<Write> {
    let row = of_life(row, entry.generation)?;
    let is_free = row.state == State::Scheduled || has_run_out(row, now);
    let is_past = row.expires_at.is_some_and(|expires_at| expires_at < now);
    let expired = || Job { state: State::Expired, finished_at: Some(now), ..row.clone() };
    (is_free && is_past).then(|| Write::finished(expired(), ttl_at))
}

/// Generation, `scheduled`, no later `release_at` than the new one → `release_at` and bucket.
fn return_to_table(
    row: Option<&Job>,
    entry: &PackEntry,
    release_at: Instant,
    bucket: Bucket,
) -> Option<Write> {
    let row = of_life(row, entry.generation)?;
    let holds = row.state == State::Scheduled && row.release_at <= release_at;
    holds.then(|| Write::waiting(Job { release_at, bucket: Some(bucket), ..row.clone() }))
}

/// Gives the row when it is `claimed` with this token and of this life.
fn held_by<'a>(
    row: Option<&'a Job>,
    generation: Generation,
    token: &ClaimToken,
) -> Option<&'a Job> {
    of_life(row, generation).filter(|row| {
        let is_own = row.claim.as_ref().is_some_and(|claim| claim.token == *token);
        row.state == State::Claimed && is_own
    })
}

/// Tells whether the row is `claimed` by one who no longer holds it: `claim_until < now`.
fn has_run_out(row: &Job, now: Instant) -> bool {
    let is_past = row.claim.as_ref().is_some_and(|claim| claim.until < now);
    row.state == State::Claimed && is_past
}
