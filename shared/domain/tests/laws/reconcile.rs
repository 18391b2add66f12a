//! R15: every staged minute is visited until it is empty, and nothing waits in a minute that is
//! not visited any more.

use proptest::prelude::*;
use spillway_domain::claim::claim_seconds;
use spillway_domain::precision::Lane;
use spillway_domain::reconcile::{Found, Visits, first_visit_at};
use spillway_domain::staging::{Lookahead, bucket_minute, minutes_to_stage};
use spillway_domain::time::{Instant, Minute};

use crate::arbitrary::{instant, lookahead, minute, seeded};

/// Visits that know of one minute.
fn visits_of(minute: Minute, now: Instant) -> Visits {
    let mut visits = Visits { taken_in: Some(minute.plus(-1)), ..Visits::default() };
    visits.take_in(minute, now, None);
    visits
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn every_staged_minute_is_taken_in_once(
        lookahead in lookahead(),
        begin in instant(),
        gaps_seconds in prop::collection::vec(0_i64..600, 1..20),
    ) {
        let (mut visits, mut staged) = (Visits::default(), Vec::new());
        let (mut watermark, mut now) = (None, begin);
        for gap in gaps_seconds {
            let last = lookahead.last_minute(now);
            staged.extend(minutes_to_stage(watermark, last, now));
            watermark = watermark.max(Some(last));
            visits.take_in(last, now, None);
            now = now.plus_seconds(gap);
        }
        prop_assert_eq!(visits.next.keys().copied().collect::<Vec<_>>(), staged);
    }

    #[test]
    fn a_watermark_that_was_taken_in_before_changes_nothing(
        now in instant(), minute in minute(), back in 0_i64..100,
    ) {
        let mut visits = visits_of(minute, now);
        visits.visited(minute, Found::Jobs, now);
        let before = visits.clone();
        visits.take_in(minute.plus(-back), now.plus_seconds(60), None);
        prop_assert_eq!(visits, before);
    }

    #[test]
    fn the_first_visit_waits_for_the_longest_claim(minute in minute(), staged_at in instant()) {
        let visit_at = first_visit_at(minute, staged_at);
        let wait_millis = (i64::from(claim_seconds(Lane::Movable)) + 120) * 1_000;
        prop_assert!(visit_at.millis_since(minute.end()) >= wait_millis);
        prop_assert!(visit_at.millis_since(staged_at) >= wait_millis);
    }

    #[test]
    fn a_minute_is_visited_until_it_is_found_empty(minute in minute(), full_visits in 0_usize..30) {
        let mut visits = visits_of(minute, minute.start());
        for _ in 0..full_visits {
            let at = visits.next[&minute].at;
            prop_assert!(visits.take_due(at.plus_millis(-1)).is_empty());
            prop_assert_eq!(visits.take_due(at), vec![minute]);
            visits.visited(minute, Found::Jobs, at);
        }
        let at = visits.next[&minute].at;
        visits.visited(minute, Found::Nothing, at);
        prop_assert!(visits.next.is_empty());
        prop_assert!(visits.take_due(at.plus_seconds(1_000_000)).is_empty());
    }

    #[test]
    fn a_minute_whose_jobs_are_held_back_is_visited_again_without_a_longer_gap(
        minute in minute(), full_visits in 0_usize..8, held_back_visits in 1_usize..8,
    ) {
        let mut visits = visits_of(minute, minute.start());
        let visit = |visits: &mut Visits, found| {
            let at = visits.next[&minute].at;
            visits.visited(minute, found, at);
            visits.next[&minute].at.millis_since(at)
        };
        for _ in 0..full_visits {
            visit(&mut visits, Found::Jobs);
        }
        let gap = visit(&mut visits, Found::HeldBack);
        for _ in 0..held_back_visits {
            prop_assert_eq!(visit(&mut visits, Found::HeldBack), gap);
        }
        prop_assert_eq!(visit(&mut visits, Found::Jobs), gap);
    }

    #[test]
    fn a_visit_that_comes_late_counts_its_gap_from_then(
        minute in minute(), late_seconds in 0_i64..100_000,
    ) {
        let mut visits = visits_of(minute, minute.start());
        let later = visits.next[&minute].at.plus_seconds(late_seconds);
        prop_assert_eq!(visits.take_due(later), vec![minute]);
        visits.visited(minute, Found::Jobs, later);
        prop_assert_eq!(visits.next[&minute].at, later.plus_seconds(120));
    }

    #[test]
    fn a_visit_that_was_taken_comes_again_after_its_gap(
        minute in minute(), full_visits in 0_usize..8,
    ) {
        let mut visits = visits_of(minute, minute.start());
        for _ in 0..full_visits {
            let at = visits.next[&minute].at;
            visits.visited(minute, Found::Jobs, at);
        }
        let visit = visits.next[&minute];
        visits.take_due(visit.at);
        let again_at = visit.at.plus_seconds(visit.gap_minutes * 60);
        prop_assert!(visits.take_due(again_at.plus_millis(-1)).is_empty());
        prop_assert_eq!(visits.take_due(again_at), vec![minute]);
    }

    #[test]
    fn an_overdue_minute_is_visited_after_the_time_that_its_jobs_were_given(
        minute in minute(), late_seconds in 0_i64..100_000, reserved_seconds in 0_i64..1_000,
    ) {
        let now = minute.end().plus_seconds(late_seconds);
        let reserved_until = now.plus_seconds(reserved_seconds);
        let mut visits = Visits { taken_in: Some(minute.plus(-1)), ..Visits::default() };
        visits.take_in(minute, now, Some(reserved_until));
        prop_assert_eq!(visits.next[&minute].at, first_visit_at(minute, reserved_until));
    }

    #[test]
    fn what_is_written_now_waits_in_a_minute_whose_first_visit_is_still_to_come(
        now in instant(), release_millis in -1_000_000_i64..1_000_000, staged_millis in 0_i64..1_000_000,
    ) {
        let minute = bucket_minute(now.plus_millis(release_millis), now);
        let staged_at = now.plus_millis(-staged_millis);
        prop_assert!(first_visit_at(minute, staged_at).millis_since(now) >= 185_000);
    }

    #[test]
    fn due_minutes_come_oldest_first(begin in minute(), count in 1_i64..30) {
        let last = begin.plus(count);
        let mut visits = Visits { taken_in: Some(begin), ..Visits::default() };
        visits.take_in(last, begin.start(), None);
        let due = visits.take_due(last.end().plus_seconds(1_000));
        prop_assert_eq!(due, (1..=count).map(|by| begin.plus(by)).collect::<Vec<_>>());
    }
}

#[test]
fn the_gaps_between_visits_are_two_four_eight_up_to_sixty_minutes() {
    let minute = Minute::from_epoch_minutes(0);
    let mut visits = visits_of(minute, minute.start());
    let gaps = (0..8).map(|_| {
        let at = visits.next[&minute].at;
        visits.visited(minute, Found::Jobs, at);
        visits.next[&minute].at.millis_since(at) / 60_000
    });
    assert_eq!(gaps.collect::<Vec<_>>(), [2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn the_minutes_of_a_first_tick_are_all_visited() {
    let now = Instant::from_millis(7_200_000);
    let last = Lookahead::from_seconds(300).unwrap().last_minute(now);
    let mut visits = Visits::default();
    visits.take_in(last, now, None);
    assert!(minutes_to_stage(None, last, now).all(|minute| visits.next.contains_key(&minute)));
}
