//! Steps that clauses have in common.

use spillway_app::ports::{
    Claims as _, Conditional, ConditionalResult, FailedBy, Failure, Intake as _, NextAttempt,
    PortError,
};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::bucket::Bucket;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{ClaimToken, Generation, Job};
use spillway_domain::pack::PackEntry;
use spillway_domain::spec::{JobSpec, Overrides};
use spillway_domain::time::Instant;

use super::JobsTable;
use crate::build::{claim_request, entry, job_of, job_spec, shards, token};

/// More pauses than any eventually consistent read needs.
const PAUSES_MAX: usize = 100;

/// Takes the answer of a call that has to succeed.
pub(super) fn answered<T>(answer: Result<T, PortError>) -> T {
    answer.unwrap_or_else(|error| panic!("the port failed: {error:?}"))
}

/// Takes the answer of a write whose condition has to hold.
pub(super) fn done<T>(answer: ConditionalResult<T>) -> T {
    match answered(answer) {
        Conditional::Done(value) => value,
        Conditional::Refused(row) => panic!("the write was refused; the row is {row:?}"),
    }
}

/// Takes the row that a write answers whose condition has to fail.
pub(super) fn refused<T>(answer: ConditionalResult<T>) -> Option<Job> {
    match answered(answer) {
        Conditional::Done(_) => panic!("the write was done; it had to be refused"),
        Conditional::Refused(row) => row.map(|row| *row),
    }
}

/// Holds a refused write to what a refusal is: it answers the row, and changes nothing of it.
pub(super) async fn leaves<T>(table: &impl JobsTable, before: &Job, answer: ConditionalResult<T>) {
    assert_eq!(refused(answer).as_ref(), Some(before), "a refusal answers the row");
    assert_eq!(row(table, before).await, *before, "a refusal changes nothing");
}

/// Asks again and again, with pauses, until something holds.
pub(super) async fn eventually(pause: impl AsyncFn(), what: &str, holds: impl AsyncFn() -> bool) {
    for _ in 0..PAUSES_MAX {
        if holds().await {
            return;
        }
        pause().await;
    }
    panic!("it never came to be that {what}");
}

/// Reads a row that has to be there.
pub(super) async fn row(table: &impl JobsTable, job: &Job) -> Job {
    let row = answered(table.intake().read(&job.id).await);
    row.unwrap_or_else(|| panic!("{} has no row", job.id))
}

/// Builds a row that is not stored.
pub(super) fn unwritten(table: &impl JobsTable, name: &str, spec: JobSpec) -> Job {
    job_of(&format!("{}-{name}", table.prefix()), spec, table.now())
}

/// Creates a job that was asked for now, and may be claimed now.
pub(super) async fn waiting(table: &impl JobsTable, name: &str) -> Job {
    waiting_for(table, name, job_spec(table.now())).await
}

/// Creates a job of a spec.
pub(super) async fn waiting_for(table: &impl JobsTable, name: &str, spec: JobSpec) -> Job {
    let job = unwritten(table, name, spec);
    done(table.intake().create(&job).await);
    job
}

/// Creates a job, and claims it now.
pub(super) async fn held(table: &impl JobsTable, name: &str, by: &ClaimToken) -> Job {
    let job = waiting(table, name).await;
    *done(table.claims().claim(&claim_request(&job, by, table.now())).await)
}

/// Creates a job of a spec, and claims it until `until`, half a second ago: a claim that is made
/// again since its answer was lost does not find that it has run out by itself.
pub(super) async fn held_until(
    table: &impl JobsTable,
    name: &str,
    spec: JobSpec,
    until: Instant,
) -> Job {
    let job = waiting_for(table, name, spec).await;
    let claimed_at = table.now().plus_millis(-500);
    let request = ClaimRequest { until, ..claim_request(&job, &token("died"), claimed_at) };
    *done(table.claims().claim(&request).await)
}

/// Creates a job whose claim ran out a millisecond ago.
pub(super) async fn run_out(table: &impl JobsTable, name: &str) -> Job {
    held_until(table, name, job_spec(table.now()), table.now().plus_millis(-1)).await
}

/// Creates a job that waits for its second attempt.
pub(super) async fn retried(table: &impl JobsTable, name: &str, maybe_sent: bool) -> Job {
    let by = token("first");
    let job = held(table, name, &by).await;
    let next = next_attempt(&job, maybe_sent);
    done(table.claims().retry(&entry(&job), &by, &next).await);
    row(table, &job).await
}

/// Builds a next attempt, a minute after the last one, at a channel that said "busy".
pub(super) fn next_attempt(job: &Job, maybe_sent: bool) -> NextAttempt {
    let release_at = job.release_at.plus_seconds(60);
    let bucket = Bucket::of(&job.id, release_at.minute(), shards(8));
    NextAttempt { release_at, bucket, maybe_sent, reason: "busy".into() }
}

/// Builds a spec whose job expired ten seconds ago.
pub(super) fn expired_spec(table: &impl JobsTable) -> JobSpec {
    let overrides = Overrides { expires_after_seconds: Some(10), ..Overrides::default() };
    JobSpec { overrides, ..job_spec(table.now().plus_seconds(-20)) }
}

/// Gives a time at which no table deletes anything yet.
pub(super) fn ttl_at(table: &impl JobsTable) -> Instant {
    table.now().plus_seconds(86_400)
}

/// Builds the record of a job's delivery.
pub(super) fn record_of(table: &impl JobsTable, job: &Job) -> DeliveryRecord {
    DeliveryRecord {
        job_id: job.id.clone(),
        generation: job.generation,
        attempts: job.attempts.max(1),
        sent_at: table.now().plus_millis(3),
        delivered_at: table.now().plus_millis(45),
        ttl_at: ttl_at(table),
    }
}

/// Builds the failure of a job, on somebody's word.
pub(super) fn failure(table: &impl JobsTable, by: FailedBy) -> Failure {
    let finished_at = table.now().plus_millis(7);
    let (maybe_sent, reason) = (false, "no such user".into());
    Failure { by, maybe_sent, reason, finished_at, ttl_at: ttl_at(table) }
}

/// Gives the entry of another life of the job: a number later or, when negative, earlier.
pub(super) fn other_life(job: &Job, later: i64) -> PackEntry {
    let generation = Generation::from_number(job.generation.number() + later);
    PackEntry { generation, ..entry(job) }
}

/// Creates four jobs and ends one in each way.
pub(super) async fn finished(table: &impl JobsTable) -> Vec<Job> {
    let ended = [
        cancelled(table, "cancelled").await,
        delivered(table, "delivered").await,
        failed(table, "failed").await,
        expired(table, "expired").await,
    ];
    let states: Vec<_> = ended.iter().map(|job| job.state.as_str()).collect();
    assert_eq!(states, ["cancelled", "delivered", "failed", "expired"]);
    ended.into()
}

/// Creates a job and cancels it.
pub(super) async fn cancelled(table: &impl JobsTable, name: &str) -> Job {
    let job = waiting(table, name).await;
    cancel(table, &job).await
}

/// Creates a job and delivers it.
pub(super) async fn delivered(table: &impl JobsTable, name: &str) -> Job {
    let job = held(table, name, &token("holder")).await;
    deliver(table, &job).await
}

/// Creates a job and lets it fail.
pub(super) async fn failed(table: &impl JobsTable, name: &str) -> Job {
    let by = token("holder");
    let job = held(table, name, &by).await;
    fail(table, &job, &by).await
}

/// Creates a job and lets it expire.
pub(super) async fn expired(table: &impl JobsTable, name: &str) -> Job {
    let job = waiting_for(table, name, expired_spec(table)).await;
    expire(table, &job).await
}

/// Cancels a waiting job, and reads what is left.
pub(super) async fn cancel(table: &impl JobsTable, job: &Job) -> Job {
    done(table.intake().cancel(&entry(job), table.now(), ttl_at(table)).await);
    row(table, job).await
}

/// Delivers a job, and reads what is left.
pub(super) async fn deliver(table: &impl JobsTable, job: &Job) -> Job {
    done(table.claims().record_delivered(&record_of(table, job)).await);
    row(table, job).await
}

/// Lets a held job fail, and reads what is left.
pub(super) async fn fail(table: &impl JobsTable, job: &Job, by: &ClaimToken) -> Job {
    let failure = failure(table, FailedBy::Holder(by.clone()));
    done(table.claims().record_failed(&entry(job), &failure).await);
    row(table, job).await
}

/// Lets a waiting job expire, and reads what is left.
pub(super) async fn expire(table: &impl JobsTable, job: &Job) -> Job {
    done(table.claims().record_expired(&entry(job), table.now(), ttl_at(table)).await);
    row(table, job).await
}
