//! R20: what follows an attempt.

use proptest::prelude::*;
use spillway_domain::attempt::{
    AfterAttempt, RETRY_AFTER_SECONDS_MAX, SendOutcome, after_attempt, backoff_millis,
};
use spillway_domain::job::{ClaimToken, Job};
use spillway_domain::policy::Retry;
use spillway_domain::precision::Contract;
use spillway_domain::time::Instant;

use crate::arbitrary::{instant, seeded};
use crate::samples;

fn retry() -> impl Strategy<Value = Retry> {
    (1_u32..=86_400, 1_u32..=100).prop_flat_map(|(backoff_seconds_max, attempts_max)| {
        (1..=backoff_seconds_max).prop_map(move |backoff_seconds_min| Retry {
            attempts_max,
            backoff_seconds_min,
            backoff_seconds_max,
        })
    })
}

fn token(position: usize) -> ClaimToken {
    ClaimToken::of("invocation", "message", position)
}

/// The bound in words: the first one, doubled by each attempt after the first, up to the last one.
fn bound_millis(attempts: u32, retry: Retry) -> i64 {
    let mut seconds = i64::from(retry.backoff_seconds_min);
    for _ in 1..attempts {
        seconds = (seconds * 2).min(i64::from(retry.backoff_seconds_max));
    }
    seconds * 1_000
}

fn tried(attempts: u32, maybe_sent: bool) -> Job {
    let begin = Instant::from_millis(0);
    Job { attempts, maybe_sent, ..samples::job("a", begin, Contract::EXACT, begin) }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn a_back_off_lies_inside_its_bound(
        attempts in 1_u32..=100, position in 0_usize..1_000, retry in retry(),
    ) {
        let wait = backoff_millis(attempts, &token(position), retry);
        prop_assert!((0..=bound_millis(attempts, retry)).contains(&wait), "{}", wait);
    }

    #[test]
    fn the_same_attempt_waits_the_same_time(
        attempts in 1_u32..=100, position in 0_usize..1_000, retry in retry(),
    ) {
        let wait = || backoff_millis(attempts, &token(position), retry);
        prop_assert_eq!(wait(), wait());
    }

    #[test]
    fn a_retry_is_released_on_a_whole_second_inside_its_bound(
        attempts in 1_u32..100, now in instant(), retry in retry(), is_answered in any::<bool>(),
        was_maybe_sent in any::<bool>(),
    ) {
        let retry = Retry { attempts_max: 100, ..retry };
        let said = "busy".to_owned();
        let outcome =
            if is_answered { SendOutcome::Refused(said) } else { SendOutcome::Unanswered(said) };
        let job = tried(attempts, was_maybe_sent);
        let after = after_attempt(&job, &token(0), outcome, retry, now);
        let Some(AfterAttempt::Retry { release_at, maybe_sent, reason }) = after else {
            return Err(TestCaseError::fail("not tried again"));
        };
        prop_assert_eq!(release_at.as_millis() % 1_000, 0);
        prop_assert!(release_at >= now);
        prop_assert!(release_at.millis_since(now) < bound_millis(attempts, retry) + 1_000);
        prop_assert_eq!(maybe_sent, was_maybe_sent || !is_answered);
        prop_assert_eq!(reason, "busy");
    }

    #[test]
    fn a_job_fails_exactly_when_it_is_refused_for_good_or_its_attempts_are_used_up(
        attempts in 1_u32..=100, attempts_max in 1_u32..=100, was_maybe_sent in any::<bool>(),
    ) {
        let retry = Retry { attempts_max, ..Retry::DEFAULT };
        let now = Instant::from_millis(0);
        let fails = |outcome: fn(String) -> SendOutcome, maybe_sent| {
            let job = tried(attempts, was_maybe_sent);
            let after = after_attempt(&job, &token(0), outcome("no".into()), retry, now);
            after == Some(AfterAttempt::Fail { maybe_sent, reason: "no".into() })
        };
        prop_assert!(fails(SendOutcome::RefusedForGood, was_maybe_sent));
        prop_assert_eq!(fails(SendOutcome::Refused, was_maybe_sent), attempts >= attempts_max);
        prop_assert_eq!(fails(SendOutcome::Unanswered, true), attempts >= attempts_max);
    }

    #[test]
    fn a_job_that_was_deferred_is_not_tried_before(
        attempts in 1_u32..100, now in instant(), retry in retry(), seconds in any::<u32>(),
    ) {
        let retry = Retry { attempts_max: 100, ..retry };
        let deferred = |seconds| SendOutcome::Deferred {
            reason: "busy".to_owned(), retry_after_seconds: seconds,
        };
        let release = |outcome| match after_attempt(&tried(attempts, false), &token(0), outcome, retry, now) {
            Some(AfterAttempt::Retry { release_at, maybe_sent: false, .. }) => Ok(release_at),
            _ => Err(TestCaseError::fail("not tried again")),
        };
        let asked = now.plus_seconds(seconds.min(RETRY_AFTER_SECONDS_MAX).into()).ceil_to_second();
        let by_back_off = release(deferred(0))?;
        prop_assert_eq!(by_back_off, release(SendOutcome::Refused("busy".to_owned()))?);
        prop_assert_eq!(release(deferred(seconds))?, asked.max(by_back_off));
    }

    #[test]
    fn nothing_follows_a_delivery(attempts in 1_u32..=100, retry in retry()) {
        let now = Instant::from_millis(0);
        let job = tried(attempts, false);
        prop_assert_eq!(after_attempt(&job, &token(0), SendOutcome::Delivered, retry, now), None);
    }
}

/// Full jitter: over many attempts the waits reach into every tenth of the bound, and the bound
/// doubles until it is capped.
#[test]
fn waits_fill_a_bound_that_doubles_up_to_its_cap() {
    let retry = Retry { attempts_max: 100, backoff_seconds_min: 2, backoff_seconds_max: 30 };
    for (attempts, bound) in
        [(1, 2_000), (2, 4_000), (3, 8_000), (4, 16_000), (5, 30_000), (70, 30_000)]
    {
        let mut tenths: Vec<_> = (0..1_000)
            .map(|position| backoff_millis(attempts, &token(position), retry) * 10 / (bound + 1))
            .collect();
        tenths.sort_unstable();
        tenths.dedup();
        assert_eq!(tenths, (0..10).collect::<Vec<_>>(), "after attempt {attempts}");
    }
}
