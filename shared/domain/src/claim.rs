//! What a dispatcher makes of a claim that the store refused (PROTOCOL, rules 1 and 8).

use crate::job::{ClaimToken, Job, State};
use crate::pack::PackEntry;
use crate::precision::Lane;
use crate::staging::{HEAD_START_MILLIS, is_claimable};
use crate::time::Instant;

/// The skew of clocks that the protocol allows for, in seconds.
pub const SKEW_SECONDS_MAX: u32 = 2;
/// How long before its claim runs out a holder starts no send any more, in milliseconds (rule 8).
pub const SEND_MARGIN_MILLIS: i64 = 5_000;

/// Tells how long a claim lasts, in seconds: 20 in the exact lane, 65 in the movable one. Longer
/// than a function may run plus twice the skew, so that a holder is gone before its claim is.
///
/// ```
/// use spillway_domain::{claim::claim_seconds, precision::Lane};
/// assert_eq!(claim_seconds(Lane::Exact), 20);
/// ```
pub const fn claim_seconds(lane: Lane) -> u32 {
    match lane {
        Lane::Exact => 20,
        Lane::Movable => 65,
    }
}

/// Tells whether a dispatch function of this time-out keeps rule 8: time-out + 2 × skew < claim.
///
/// ```
/// use spillway_domain::{claim::outlives_function, precision::Lane};
/// assert!(outlives_function(Lane::Exact, 15));
/// assert!(!outlives_function(Lane::Exact, 16));
/// ```
pub const fn outlives_function(lane: Lane, function_timeout_seconds: u32) -> bool {
    function_timeout_seconds + 2 * SKEW_SECONDS_MAX < claim_seconds(lane)
}

/// One claim, as it is asked of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The job, and the life that the message was made for.
    pub entry: PackEntry,
    /// The entry's token.
    pub token: ClaimToken,
    /// When the claim was asked for, read before it is sent.
    pub now: Instant,
    /// When the claim runs out: `now` + [`claim_seconds`].
    pub until: Instant,
    /// The attempts that the channel allows.
    pub attempts_max: u32,
}

/// What to do with the entry of a refused claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedClaim {
    /// The claim is one's own: its answer was lost. Go on with the row's `claim_until`.
    Own,
    /// Drop the entry.
    Drop(DropReason),
    /// Pass the entry on and let it come back at this instant.
    PassOn(Instant),
    /// The last holder died and the attempts are used up: the job has failed.
    UsedUp,
    /// The job waits, but the channel now allows fewer attempts than it has had: its last retry
    /// was promised before, so claim it with one more.
    ClaimOnceMore,
}

/// Why an entry is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// There is no row.
    Gone,
    /// The job is finished: the message was a duplicate.
    Finished,
    /// The row is of a newer generation.
    Superseded,
}

/// How long an entry is passed on whose claim failed although nothing stands against it: another
/// writer was between the claim and its answer. In milliseconds.
const CONTENDED_MILLIS: i64 = 1_000;
/// A message is asked for up to this long before its time, in milliseconds: the head start and the
/// second that a delay in whole seconds rounds away. An entry that must not come back early is
/// asked for this much later, or it would circle through the queue without a delay.
const EARLY_RETURN_MILLIS: i64 = HEAD_START_MILLIS + 1_000;

/// Decides about a refused claim from the row that the store answered with it.
///
/// ```
/// use spillway_domain::{claim::*, job::*, name::JobId, pack::PackEntry, time::Instant};
/// let job_id = JobId::new("a").unwrap();
/// let request = ClaimRequest {
///     entry: PackEntry { job_id, generation: Generation::from_number(1) },
///     token: ClaimToken::of("invocation", "message", 0),
///     now: Instant::from_millis(0),
///     until: Instant::from_millis(20_000),
///     attempts_max: 5,
/// };
/// assert_eq!(refused_claim(&request, None), RefusedClaim::Drop(DropReason::Gone));
/// ```
pub fn refused_claim(request: &ClaimRequest, row: Option<&Job>) -> RefusedClaim {
    let Some(job) = row else {
        return RefusedClaim::Drop(DropReason::Gone);
    };
    if job.generation > request.entry.generation {
        return RefusedClaim::Drop(DropReason::Superseded);
    }
    if job.state.is_finished() {
        return RefusedClaim::Drop(DropReason::Finished);
    }
    let contended = RefusedClaim::PassOn(not_before(request.now.plus_millis(CONTENDED_MILLIS)));
    // A token counts only while the row is claimed, whatever it still shows (rules 1 and 2).
    match job.claim.as_ref().filter(|_| job.state == State::Claimed) {
        _ if job.generation < request.entry.generation => contended,
        Some(claim) if claim.token == request.token => RefusedClaim::Own,
        Some(claim) if claim.until >= request.now => RefusedClaim::PassOn(not_before(claim.until)),
        Some(_) if job.attempts >= request.attempts_max => RefusedClaim::UsedUp,
        _ if !is_claimable(job.release_at, request.now) => RefusedClaim::PassOn(job.release_at),
        None if job.state == State::Scheduled && job.attempts >= request.attempts_max => {
            RefusedClaim::ClaimOnceMore
        }
        _ => contended,
    }
}

/// Gives the release to ask for so that a message does not come back before `at`, although it is
/// asked for early.
///
/// ```
/// use spillway_domain::{claim::not_before, staging::{queue_delay, QueueDelay}, time::Instant};
/// let at = Instant::from_millis(900);
/// assert_eq!(queue_delay(not_before(at), Instant::from_millis(0)), QueueDelay::Seconds(1));
/// ```
pub fn not_before(at: Instant) -> Instant {
    at.plus_millis(EARLY_RETURN_MILLIS)
}

/// The longest wait after a claim that was not answered, in seconds.
const UNANSWERED_SECONDS_MAX: i64 = 64;

/// Tells how long an entry waits whose claim was not answered, in seconds: 1, doubled with every hop
/// up to 64, so that a store that has too much to do is not asked ever more.
///
/// ```
/// use spillway_domain::claim::unanswered_seconds;
/// assert_eq!([0, 1, 2, 100].map(unanswered_seconds), [1, 2, 4, 64]);
/// ```
pub fn unanswered_seconds(hops: u32) -> i64 {
    1_i64.checked_shl(hops).unwrap_or(i64::MAX).clamp(1, UNANSWERED_SECONDS_MAX)
}

/// Tells the last instant at which a holder may start a send: 5 s before its claim runs out, and
/// never after its invocation's deadline.
///
/// ```
/// use spillway_domain::{claim::last_send_at, time::Instant};
/// let (until, deadline) = (Instant::from_millis(20_000), Instant::from_millis(14_000));
/// assert_eq!(last_send_at(until, deadline), Instant::from_millis(14_000));
/// ```
pub fn last_send_at(claim_until: Instant, deadline: Instant) -> Instant {
    claim_until.plus_millis(-SEND_MARGIN_MILLIS).min(deadline)
}
