//! What follows a refused claim: every row that can be answered, against the sentences of the
//! protocol.

use proptest::prelude::*;
use spillway_domain::claim::{
    ClaimRequest, DropReason, RefusedClaim, claim_seconds, last_send_at, not_before,
    outlives_function, refused_claim,
};
use spillway_domain::job::{Claim, ClaimToken, Generation, Job, State};
use spillway_domain::pack::PackEntry;
use spillway_domain::precision::{Contract, Lane};
use spillway_domain::staging::{QueueDelay, queue_delay};
use spillway_domain::time::Instant;

use crate::arbitrary::{instant, seeded};
use crate::samples;

const NOW: Instant = Instant::from_millis(1_000_000);
const ATTEMPTS_MAX: u32 = 5;
const GENERATION: i64 = 500;

/// Whose token the row shows, and when that claim runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Nothing,
    OwnLive,
    OwnRunOut,
    OthersLive,
    /// `claim_until` is now; a claim has run out only when it lies before now.
    OthersEnding,
    OthersRunOut,
}

const ALL_SHOWN: [Shown; 6] = [
    Shown::Nothing,
    Shown::OwnLive,
    Shown::OwnRunOut,
    Shown::OthersLive,
    Shown::OthersEnding,
    Shown::OthersRunOut,
];

/// The row that the store answered with.
#[derive(Clone, Copy, Debug)]
struct Row {
    state: State,
    generation: i64,
    shown: Shown,
    attempts: u32,
    release_in_millis: i64,
}

impl Row {
    fn all() -> impl Iterator<Item = Self> {
        let states = State::ALL.into_iter();
        let lives = states.flat_map(|state| (-1..=1).map(move |by| (state, GENERATION + by)));
        let claims = lives.flat_map(|life| ALL_SHOWN.map(|shown| (life, shown)));
        let tried = claims.flat_map(|claim| [4, 5, 6].map(|attempts| (claim, attempts)));
        tried.flat_map(|(((state, generation), shown), attempts)| {
            [-60_000, 1_500, 1_501, 60_000].map(move |release_in_millis| Self {
                state,
                generation,
                shown,
                attempts,
                release_in_millis,
            })
        })
    }

    fn until(self) -> Instant {
        match self.shown {
            Shown::OwnRunOut | Shown::OthersRunOut => NOW.plus_millis(-1),
            Shown::OthersEnding => NOW,
            _ => NOW.plus_seconds(20),
        }
    }

    fn job(self) -> Job {
        let token = match self.shown {
            Shown::Nothing => None,
            Shown::OwnLive | Shown::OwnRunOut => Some(own_token()),
            _ => Some(ClaimToken::of("another", "message", 0)),
        };
        Job {
            state: self.state,
            generation: Generation::from_number(self.generation),
            claim: token.map(|token| Claim { token, until: self.until() }),
            attempts: self.attempts,
            release_at: self.release_at(),
            ..samples::job("a", NOW, Contract::EXACT, Instant::from_millis(GENERATION))
        }
    }

    fn release_at(self) -> Instant {
        NOW.plus_millis(self.release_in_millis)
    }

    fn is_of_this_life(self) -> bool {
        self.generation == GENERATION && !self.state.is_finished()
    }

    /// The row is claimed, has the same generation and shows this token.
    fn is_own(self) -> bool {
        let shows_own = matches!(self.shown, Shown::OwnLive | Shown::OwnRunOut);
        self.is_of_this_life() && self.state == State::Claimed && shows_own
    }

    fn is_held(self) -> bool {
        let is_live = matches!(self.shown, Shown::OthersLive | Shown::OthersEnding);
        self.is_of_this_life() && self.state == State::Claimed && is_live
    }

    /// Nobody holds it: it is scheduled, whatever token it still shows, or its claim ran out.
    fn is_free(self) -> bool {
        self.is_of_this_life() && !self.is_own() && !self.is_held()
    }

    fn ran_out(self) -> bool {
        self.is_free() && self.state == State::Claimed && self.shown == Shown::OthersRunOut
    }

    fn is_used_up(self) -> bool {
        self.attempts >= ATTEMPTS_MAX
    }

    fn is_too_early(self) -> bool {
        self.release_in_millis > 1_500
    }
}

fn own_token() -> ClaimToken {
    ClaimToken::of("this", "message", 0)
}

fn request() -> ClaimRequest {
    let generation = Generation::from_number(GENERATION);
    let job_id = samples::job("a", NOW, Contract::EXACT, NOW).id;
    ClaimRequest {
        entry: PackEntry { job_id, generation },
        token: own_token(),
        now: NOW,
        until: NOW.plus_seconds(20),
        attempts_max: ATTEMPTS_MAX,
    }
}

type Sentence = (&'static str, fn(Row) -> bool, fn(Row) -> RefusedClaim);

/// The protocol's sentences about a refused claim, each with the rows that it is about.
const SENTENCES: [Sentence; 8] = [
    (
        "an entry is dropped when the row is of a newer generation",
        |row| row.generation > GENERATION,
        |_| RefusedClaim::Drop(DropReason::Superseded),
    ),
    (
        "an entry is dropped when the row is finished",
        |row| row.generation <= GENERATION && row.state.is_finished(),
        |_| RefusedClaim::Drop(DropReason::Finished),
    ),
    (
        "a failed claim is one's own success when the row is claimed and shows this token",
        Row::is_own,
        |_| RefusedClaim::Own,
    ),
    ("an entry is passed on until the live claim of another runs out", Row::is_held, |row| {
        RefusedClaim::PassOn(not_before(row.until()))
    }),
    (
        "a job has failed whose claim ran out with its attempts used up",
        |row| row.ran_out() && row.is_used_up(),
        |_| RefusedClaim::UsedUp,
    ),
    (
        "an entry is passed on until the release when it is too early",
        |row| row.is_free() && row.is_too_early() && !(row.ran_out() && row.is_used_up()),
        |row| RefusedClaim::PassOn(row.release_at()),
    ),
    (
        "a retry that was promised is claimed once more when the policy allows fewer by now",
        |row| {
            let is_waiting = row.is_free() && row.state == State::Scheduled;
            is_waiting && row.is_used_up() && !row.is_too_early()
        },
        |_| RefusedClaim::ClaimOnceMore,
    ),
    (
        "an entry against which nothing stands is passed on for a moment",
        |row| {
            let is_older = row.generation < GENERATION && !row.state.is_finished();
            let failed = row.ran_out() && row.is_used_up();
            let once_more = row.state == State::Scheduled && row.is_used_up();
            let is_claimable = row.is_free() && !row.is_too_early() && !failed && !once_more;
            is_older || is_claimable
        },
        |_| RefusedClaim::PassOn(not_before(NOW.plus_seconds(1))),
    ),
];

#[test]
fn every_refused_claim_follows_the_one_sentence_that_is_about_its_row() {
    let mut told = [0; SENTENCES.len()];
    for row in Row::all() {
        let about: Vec<_> = (0..SENTENCES.len()).filter(|n| SENTENCES[*n].1(row)).collect();
        let [number] = about[..] else { panic!("sentences {about:?} are about {row:?}") };
        let (sentence, _, expected) = SENTENCES[number];
        assert_eq!(
            refused_claim(&request(), Some(&row.job())),
            expected(row),
            "{sentence}: {row:?}"
        );
        told[number] += 1;
    }
    assert!(told.iter().all(|rows| *rows > 0), "a sentence is about no row: {told:?}");
    assert_eq!(told.iter().sum::<usize>(), 6 * 3 * 6 * 3 * 4);
}

#[test]
fn an_entry_without_a_row_is_dropped() {
    assert_eq!(refused_claim(&request(), None), RefusedClaim::Drop(DropReason::Gone));
}

#[test]
fn an_entry_is_dropped_only_when_its_row_is_gone_finished_or_newer() {
    for row in Row::all() {
        let is_dropped =
            matches!(refused_claim(&request(), Some(&row.job())), RefusedClaim::Drop(_));
        assert_eq!(is_dropped, row.state.is_finished() || row.generation > GENERATION, "{row:?}");
    }
}

#[test]
fn nothing_is_passed_on_into_the_past() {
    for row in Row::all() {
        if let RefusedClaim::PassOn(at) = refused_claim(&request(), Some(&row.job())) {
            assert!(at >= NOW, "{row:?}");
        }
    }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn an_entry_that_must_not_come_back_before_an_instant_comes_within_a_second_after_it(
        now in instant(), ahead_millis in 0_i64..=800_000,
    ) {
        let at = now.plus_millis(ahead_millis);
        let QueueDelay::Seconds(seconds) = queue_delay(not_before(at), now) else {
            return Err(TestCaseError::fail("too far"));
        };
        let back_at = now.plus_seconds(i64::from(seconds));
        prop_assert!((1..=1_000).contains(&back_at.millis_since(at)), "{:?}", back_at);
    }

    #[test]
    fn no_send_starts_in_the_last_five_seconds_of_a_claim_or_after_the_deadline(
        until in 0_i64..1_000_000, deadline in 0_i64..1_000_000,
    ) {
        let last = last_send_at(Instant::from_millis(until), Instant::from_millis(deadline));
        prop_assert!(last.as_millis() <= until - 5_000 && last.as_millis() <= deadline);
        prop_assert!(last.as_millis() == until - 5_000 || last.as_millis() == deadline);
    }
}

#[test]
fn a_claim_outlives_its_function_by_twice_the_skew_in_both_lanes() {
    for (lane, timeout_seconds) in [(Lane::Exact, 15), (Lane::Movable, 60)] {
        assert!(timeout_seconds + 2 * 2 < claim_seconds(lane));
        assert!(outlives_function(lane, timeout_seconds));
        assert!(!outlives_function(lane, claim_seconds(lane) - 4));
    }
}
