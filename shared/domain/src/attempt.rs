//! What follows an attempt to send a job (R20, PROTOCOL rules 3, 4 and 7).

use alloc::string::String;

use crate::job::{ClaimToken, Generation, Job};
use crate::name::JobId;
use crate::policy::Retry;
use crate::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

/// The longest that a channel can put off the next attempt, in seconds: as long as the longest
/// back-off of a policy.
pub const RETRY_AFTER_SECONDS_MAX: u32 = 86_400;

/// What the channel made of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// It took the job.
    Delivered,
    /// It refused this job now; later it may take it.
    Refused(String),
    /// It refused this job now and said when to come again.
    Deferred {
        /// What it said.
        reason: String,
        /// How long not to come again, in seconds; what exceeds
        /// [`RETRY_AFTER_SECONDS_MAX`] counts as that.
        retry_after_seconds: u32,
    },
    /// It will never take this job.
    RefusedForGood(String),
    /// No answer came: the job may have arrived.
    Unanswered(String),
}

/// What is written after a send that did not deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterAttempt {
    /// The job waits for its next attempt.
    Retry {
        /// When it may next be sent: a whole second, so that retries share packs.
        release_at: Instant,
        /// A send stayed unanswered, now or earlier.
        maybe_sent: bool,
        /// What the channel said.
        reason: String,
    },
    /// The job has failed.
    Fail {
        /// A send stayed unanswered, now or earlier.
        maybe_sent: bool,
        /// What the channel said.
        reason: String,
    },
}

/// Decides what follows a send that did not deliver; `None` after one that did. `job.attempts`
/// counts the attempt that was just made.
///
/// ```
/// # use spillway_domain::{attempt::*, bucket::ShardCount, job::*, name::*, policy::Retry};
/// # use spillway_domain::{precision::Contract, spec::*, time::Instant};
/// # let spec = JobSpec {
/// #     requested_at: Instant::from_millis(60_000),
/// #     channel: ChannelName::new("inbox").unwrap(),
/// #     class: None,
/// #     overrides: Overrides::default(),
/// #     payload: Payload::from_canonical_json("null").unwrap(),
/// # };
/// # let (id, shards) = (JobId::new("a").unwrap(), ShardCount::new(8).unwrap());
/// # let mut job = Job::accepted(id, spec, Contract::EXACT, Instant::from_millis(5), shards);
/// # let (token, now) = (ClaimToken::of("i", "m", 0), Instant::from_millis(60_000));
/// job.attempts = 5;
/// let refused = SendOutcome::Refused("busy".into());
/// let after = after_attempt(&job, &token, refused, Retry::DEFAULT, now);
/// assert_eq!(after, Some(AfterAttempt::Fail { maybe_sent: false, reason: "busy".into() }));
/// ```
pub fn after_attempt(
    job: &Job,
    token: &ClaimToken,
    outcome: SendOutcome,
    retry: Retry,
    now: Instant,
) -> Option<AfterAttempt> {
    let is_last = job.attempts >= retry.attempts_max;
    let mut wait_millis = backoff_millis(job.attempts, token, retry);
    let (reason, is_unanswered, has_failed) = match outcome {
        SendOutcome::Delivered => return None,
        SendOutcome::RefusedForGood(reason) => (reason, false, true),
        SendOutcome::Refused(reason) => (reason, false, is_last),
        SendOutcome::Deferred { reason, retry_after_seconds } => {
            let seconds = retry_after_seconds.min(RETRY_AFTER_SECONDS_MAX);
            wait_millis = wait_millis.max(i64::from(seconds) * 1_000);
            (reason, false, is_last)
        }
        SendOutcome::Unanswered(reason) => (reason, true, is_last),
    };
    let maybe_sent = job.maybe_sent || is_unanswered;
    if has_failed {
        return Some(AfterAttempt::Fail { maybe_sent, reason });
    }
    Some(AfterAttempt::Retry {
        release_at: now.plus_millis(wait_millis).ceil_to_second(),
        maybe_sent,
        reason,
    })
}

/// Gives the wait before the next attempt, in milliseconds: full jitter, anywhere between 0 and
/// `min(max, min × 2^(attempts − 1))` seconds. The place is the hash of the attempt's token, which
/// no other attempt shares, so that a run can be repeated.
///
/// ```
/// use spillway_domain::{attempt::backoff_millis, job::ClaimToken, policy::Retry};
/// let wait = backoff_millis(3, &ClaimToken::of("i", "m", 0), Retry::DEFAULT);
/// assert!((0..=4_000).contains(&wait));
/// ```
pub fn backoff_millis(attempts: u32, token: &ClaimToken, retry: Retry) -> i64 {
    let doubled = 1_u64.checked_shl(attempts.saturating_sub(1)).unwrap_or(u64::MAX);
    let bound_seconds = u64::from(retry.backoff_seconds_min)
        .saturating_mul(doubled)
        .min(u64::from(retry.backoff_seconds_max));
    let place = xxh3_64(token.as_str().as_bytes()) % (bound_seconds * 1_000 + 1);
    i64::try_from(place).unwrap_or(i64::MAX)
}

/// A delivery that happened, as it is written to the row. It travels as a message of its own when
/// the row could not be written in time (PROTOCOL rule 6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// The job.
    pub job_id: JobId,
    /// The life that was delivered.
    pub generation: Generation,
    /// Which attempt it was, from 1.
    pub attempts: u32,
    /// When the send left.
    pub sent_at: Instant,
    /// When the channel's answer was there.
    pub delivered_at: Instant,
    /// When the row may be deleted.
    pub ttl_at: Instant,
}
