use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::bucket::Bucket;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{ClaimToken, Generation, Job};
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;
use spillway_domain::time::Instant;

use super::PortError;

/// The outcome of a write that stands under a condition.
#[derive(Debug)]
pub enum Conditional<T = ()> {
    /// The condition held, and the write was done.
    Done(T),
    /// The condition did not hold; the row as it is, if there is one. The write may have been
    /// done a moment ago, by a call of one's own whose answer was lost.
    Refused(Option<Box<Job>>),
}

/// The answer of a write that stands under a condition.
pub type ConditionalResult<T = ()> = Result<Conditional<T>, PortError>;

/// What intake does with the jobs table.
pub trait Intake: Send + Sync {
    /// Reads a row, consistently.
    fn read(&self, id: &JobId) -> impl Future<Output = Result<Option<Job>, PortError>> + Send;

    /// Writes a row where there is none.
    fn create(&self, job: &Job) -> impl Future<Output = ConditionalResult> + Send;

    /// Writes `job` in place of a row that is `scheduled`, of generation `seen`, and not
    /// `maybe_sent`.
    fn reschedule(
        &self,
        job: &Job,
        seen: Generation,
    ) -> impl Future<Output = ConditionalResult> + Send;

    /// Cancels a row that is `scheduled` and of `entry`'s generation: `cancelled`, `finished_at`,
    /// `ttl_at`; no bucket, no token.
    fn cancel(
        &self,
        entry: &PackEntry,
        finished_at: Instant,
        ttl_at: Instant,
    ) -> impl Future<Output = ConditionalResult> + Send;
}

/// On whose word a job has failed.
#[derive(Clone, Debug)]
pub enum FailedBy {
    /// The holder's: the row is `claimed` with this token.
    Holder(ClaimToken),
    /// The next dispatcher's: the row is `claimed` with `claim_until < now`, and has had at least
    /// `attempts_max` attempts.
    RunOut {
        /// When it was found.
        now: Instant,
        /// The attempts that the channel allows.
        attempts_max: u32,
    },
}

/// The end of a job without a delivery.
#[derive(Clone, Debug)]
pub struct Failure {
    /// On whose word.
    pub by: FailedBy,
    /// A send stayed unanswered, now or earlier.
    pub maybe_sent: bool,
    /// What the channel said last.
    pub reason: String,
    /// When it ended.
    pub finished_at: Instant,
    /// When the row may be deleted.
    pub ttl_at: Instant,
}

/// The next attempt of a job.
#[derive(Clone, Debug)]
pub struct NextAttempt {
    /// When it may be sent.
    pub release_at: Instant,
    /// Where the index has it until then.
    pub bucket: Bucket,
    /// A send stayed unanswered, now or earlier.
    pub maybe_sent: bool,
    /// What the channel said.
    pub reason: String,
}

/// What dispatch does with the jobs table. Every write names the generation; every write of a
/// holder names state, token and generation (PROTOCOL, "Every write" and rule 2).
pub trait Claims: Send + Sync {
    /// Claims a job: generation; attempts below the maximum; `release_at ≤ now + 1.5 s`;
    /// `scheduled`, or `claimed` with `claim_until < now`. Sets the claim, attempts + 1, and
    /// `maybe_sent` when it is taken over. Answers the row as it is then.
    fn claim(
        &self,
        request: &ClaimRequest,
    ) -> impl Future<Output = ConditionalResult<Box<Job>>> + Send;

    /// Gives a claim back whose send never started: `scheduled`, attempts − 1, no token. Condition:
    /// `claimed`, own token, generation.
    fn give_back(
        &self,
        entry: &PackEntry,
        token: &ClaimToken,
    ) -> impl Future<Output = ConditionalResult> + Send;

    /// Puts a job back for its next attempt: `scheduled`, no token. Condition: `claimed`, own
    /// token, generation.
    fn retry(
        &self,
        entry: &PackEntry,
        token: &ClaimToken,
        next: &NextAttempt,
    ) -> impl Future<Output = ConditionalResult> + Send;

    /// Records a delivery. Condition: generation; state neither `delivered` nor `cancelled`. Needs
    /// no token, and overrides every other state: it happened. No bucket, no token afterwards.
    fn record_delivered(
        &self,
        record: &DeliveryRecord,
    ) -> impl Future<Output = ConditionalResult> + Send;

    /// Records a failure: `failed`; no bucket, no token. Condition: generation and [`FailedBy`].
    fn record_failed(
        &self,
        entry: &PackEntry,
        failure: &Failure,
    ) -> impl Future<Output = ConditionalResult> + Send;

    /// Records that a job's time ran out: `expired`, `finished_at = now`; no bucket, no token.
    /// Condition: generation; `scheduled`, or `claimed` with `claim_until < now`;
    /// `expires_at < now`.
    fn record_expired(
        &self,
        entry: &PackEntry,
        now: Instant,
        ttl_at: Instant,
    ) -> impl Future<Output = ConditionalResult> + Send;

    /// Returns a waiting job to the table: `release_at` and `bucket`. Condition: generation,
    /// `scheduled`, and no later `release_at` than the new one.
    fn return_to_table(
        &self,
        entry: &PackEntry,
        release_at: Instant,
        bucket: Bucket,
    ) -> impl Future<Output = ConditionalResult> + Send;
}

/// What redrive does with the jobs table.
pub trait Redrives: Send + Sync {
    /// Reads a row, consistently.
    fn row(&self, id: &JobId) -> impl Future<Output = Result<Option<Job>, PortError>> + Send;

    /// Puts a job back: `job`'s `release_at`, `bucket`, `expires_at` and `redriven_at`;
    /// `scheduled`, no attempts, no token, no `finished_at`, no TTL. Condition: `failed`, and of
    /// `job`'s generation.
    fn redrive(&self, job: &Job) -> impl Future<Output = ConditionalResult> + Send;
}
