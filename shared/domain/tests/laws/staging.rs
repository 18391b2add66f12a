//! R9, R10, R15, R17: the boundary between the writer of a bucket and prefetch, and the delays.

use proptest::prelude::*;
use spillway_domain::claim::SKEW_SECONDS_MAX;
use spillway_domain::staging::{
    LOOKAHEAD_SECONDS_MAX, Lookahead, QueueDelay, bucket_minute, is_claimable, minutes_to_stage,
    queue_delay,
};
use spillway_domain::time::{Instant, Minute};

use crate::arbitrary::{instant, lookahead, minute, seeded};

const SKEW_MILLIS: i64 = SKEW_SECONDS_MAX as i64 * 1_000;
/// What the protocol promises beyond the lookahead.
const MARGIN_MILLIS: i64 = 150_000;
/// The oldest that the index may be so that nothing falls between writer and prefetch.
const LAG_MILLIS_MAX: i64 = MARGIN_MILLIS - 2 * SKEW_MILLIS;

/// One write into a bucket and the ticks around it. Clocks are off by their skew from true time.
#[derive(Clone, Debug)]
struct Boundary {
    lookahead: Lookahead,
    /// The bucket's minute.
    minute: Minute,
    /// The true instant at which the write was answered.
    written_at: Instant,
    writer_skew_millis: i64,
    prefetch_skew_millis: i64,
    index_lag_millis: i64,
    /// The true instants of the ticks, the first before the write.
    ticks: Vec<Instant>,
}

impl Boundary {
    fn is_staged_by_its_writer(&self) -> bool {
        let clock = self.written_at.plus_millis(self.writer_skew_millis);
        self.lookahead.is_staged_directly(self.minute, clock)
    }

    /// Runs prefetch at each tick from where the last one ended.
    fn is_found_by_a_tick(&self) -> bool {
        let visible_at = self.written_at.plus_millis(self.index_lag_millis);
        let mut watermark = None;
        self.ticks.iter().any(|tick| {
            let clock = tick.plus_millis(self.prefetch_skew_millis);
            let last = self.lookahead.last_minute(clock);
            let reads_it =
                minutes_to_stage(watermark, last, clock).any(|minute| minute == self.minute);
            watermark = watermark.max(Some(last));
            reads_it && *tick >= visible_at
        })
    }
}

/// Ticks once a minute from five minutes before `from`, each late by its own time; a lost one has
/// none. The last is never lost.
fn ticks(from: Instant, lateness_millis: &[Option<i64>]) -> Vec<Instant> {
    let tick = |(number, late): (usize, &Option<i64>)| {
        let planned = from.plus_seconds(60 * (i64::try_from(number).unwrap() - 5));
        late.map(|late| planned.plus_millis(late))
    };
    let mut ticks: Vec<_> = lateness_millis.iter().enumerate().filter_map(tick).collect();
    ticks.push(from.plus_seconds(7_200));
    ticks
}

prop_compose! {
    fn boundary()(
        lookahead in lookahead(),
        minute in 1_000_i64..2_000,
        before_end_millis in -60_000_i64..1_200_000,
        writer_skew_millis in -SKEW_MILLIS..=SKEW_MILLIS,
        prefetch_skew_millis in -SKEW_MILLIS..=SKEW_MILLIS,
        index_lag_millis in prop_oneof![0..=LAG_MILLIS_MAX, Just(LAG_MILLIS_MAX)],
        lateness in prop::collection::vec(prop::option::weighted(0.8, 0_i64..90_000), 25),
        phase_millis in 0_i64..60_000,
    ) -> Boundary {
        let minute = Minute::from_epoch_minutes(minute);
        let written_at = minute.end().plus_millis(-before_end_millis);
        let ticks = ticks(written_at.plus_millis(phase_millis), &lateness);
        Boundary {
            lookahead, minute, written_at, writer_skew_millis, prefetch_skew_millis,
            index_lag_millis, ticks,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, ..seeded() })]

    #[test]
    fn what_its_writer_leaves_alone_a_tick_finds_in_the_index(boundary in boundary()) {
        prop_assert!(boundary.is_staged_by_its_writer() || boundary.is_found_by_a_tick());
    }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn prefetch_reads_a_minute_more_than_the_margin_after_the_last_write_that_was_left_to_it(
        lookahead in lookahead(), minute in minute(), before_millis in 0_i64..1_200_000,
        tick_millis in 0_i64..1_200_000,
    ) {
        let clock = minute.start().plus_millis(-before_millis);
        let tick = clock.plus_millis(tick_millis);
        let is_left = !lookahead.is_staged_directly(minute, clock);
        if is_left && lookahead.last_minute(tick) >= minute {
            prop_assert!(tick.millis_since(clock) > MARGIN_MILLIS);
        }
    }

    #[test]
    fn ticks_stage_every_minute_once_and_in_order(
        lookahead in lookahead(),
        begin in instant(),
        gaps_millis in prop::collection::vec(-30_000_i64..600_000, 1..20),
    ) {
        let mut now = begin;
        let mut watermark = None;
        let mut staged = Vec::new();
        for gap in gaps_millis {
            let last = lookahead.last_minute(now);
            staged.extend(minutes_to_stage(watermark, last, now));
            watermark = watermark.max(Some(last));
            now = now.plus_millis(gap);
        }
        prop_assert!(staged.windows(2).all(|pair| pair[1] == pair[0].next()));
        prop_assert_eq!(staged.last().copied(), watermark);
    }

    #[test]
    fn a_first_tick_finds_what_was_accepted_in_the_hour_before_it(
        lookahead in lookahead(), accepted_at in instant(), waited_millis in 0_i64..=3_600_000,
        due_millis in -60_000_i64..3_600_000,
    ) {
        let minute = bucket_minute(accepted_at.plus_millis(due_millis), accepted_at);
        let tick = accepted_at.plus_millis(waited_millis);
        let last = lookahead.last_minute(tick);
        prop_assert!(minute > last || minutes_to_stage(None, last, tick).any(|due| due == minute));
    }

    #[test]
    fn a_message_comes_after_the_last_second_before_its_head_start(
        now in instant(), ahead_millis in -100_000_i64..1_000_000,
    ) {
        let release_at = now.plus_millis(ahead_millis);
        match queue_delay(release_at, now) {
            QueueDelay::TooFar => prop_assert!(ahead_millis >= 901_400),
            QueueDelay::Seconds(0) => prop_assert!(ahead_millis < 1_400),
            QueueDelay::Seconds(seconds) => {
                prop_assert!(seconds <= 900);
                let before_millis = release_at.millis_since(now.plus_seconds(i64::from(seconds)));
                prop_assert!((400..1_400).contains(&before_millis), "{}", before_millis);
            }
        }
    }

    #[test]
    fn a_message_that_comes_after_its_delay_may_be_claimed(
        now in instant(), ahead_millis in -100_000_i64..901_400,
    ) {
        let release_at = now.plus_millis(ahead_millis);
        let QueueDelay::Seconds(seconds) = queue_delay(release_at, now) else {
            return Err(TestCaseError::fail("too far"));
        };
        prop_assert!(is_claimable(release_at, now.plus_seconds(i64::from(seconds))));
    }

    #[test]
    fn whatever_is_staged_fits_a_queues_delay(
        lookahead in lookahead(), now in instant(), release_millis in 0_i64..1_200_000,
    ) {
        let release_at = now.plus_millis(release_millis);
        let minute = release_at.minute();
        let is_staged =
            lookahead.is_staged_directly(minute, now) || minute <= lookahead.last_minute(now);
        prop_assert!(!is_staged || queue_delay(release_at, now) != QueueDelay::TooFar);
    }

    #[test]
    fn a_job_returned_to_the_table_waits_for_a_minute_that_prefetch_stages(
        lookahead in lookahead(), now in instant(), release_millis in -100_000_i64..2_000_000,
    ) {
        let release_at = now.plus_millis(release_millis);
        let returned_at = lookahead.return_at(release_at, now);
        prop_assert!(returned_at >= release_at);
        prop_assert!(returned_at.minute() > lookahead.last_minute(now));
        prop_assert!(!lookahead.is_staged_directly(returned_at.minute(), now));
        let wait_max = MARGIN_MILLIS + 750_000;
        prop_assert!(returned_at.millis_since(now) <= wait_max.max(release_millis));
    }

    #[test]
    fn a_bucket_is_never_a_minute_that_is_over(now in instant(), release_millis in -100_000_i64..100_000) {
        let release_at = now.plus_millis(release_millis);
        let minute = bucket_minute(release_at, now);
        prop_assert!(minute.end() > now);
        prop_assert!(minute.end() > release_at && (minute.start() <= release_at || release_at < now));
    }
}

/// The sweep over the boundary itself: every second from five minutes before the tick that stages
/// the minute to two minutes after it, with the oldest index and the clocks as far apart as may be.
#[test]
fn no_second_around_the_staging_tick_is_left_to_nobody() {
    let minute = Minute::from_epoch_minutes(10_000);
    for lookahead in [60, 300, 690].map(|seconds| Lookahead::from_seconds(seconds).unwrap()) {
        let staging = (0..).map(|n| minute.start().plus_seconds(n - 800));
        let staging = staging.clone().find(|now| lookahead.last_minute(*now) >= minute).unwrap();
        for second in -300..=120 {
            let boundary = Boundary {
                lookahead,
                minute,
                written_at: staging.plus_seconds(second),
                writer_skew_millis: -SKEW_MILLIS,
                prefetch_skew_millis: SKEW_MILLIS,
                index_lag_millis: LAG_MILLIS_MAX,
                ticks: ticks(staging.plus_seconds(-120), &[Some(0); 25]),
            };
            let is_staged = boundary.is_staged_by_its_writer() || boundary.is_found_by_a_tick();
            assert!(is_staged, "{second} s after the tick: {boundary:?}");
        }
    }
}

/// With the longest lookahead a writer sends a message for the last instant of the last minute that
/// it may.
#[test]
fn the_longest_lookahead_still_fits_a_queues_delay() {
    let lookahead = Lookahead::from_seconds(LOOKAHEAD_SECONDS_MAX).unwrap();
    let mut longest_seconds = 0;
    for millis in (0..60_000).step_by(100) {
        let now = Instant::from_millis(millis);
        let mut minutes = (0..60).rev().map(|by| now.minute().plus(by));
        let last = minutes.find(|minute| lookahead.is_staged_directly(*minute, now)).unwrap();
        let QueueDelay::Seconds(seconds) = queue_delay(last.end().plus_millis(-1), now) else {
            panic!("{millis} ms into a minute the delay is too long");
        };
        longest_seconds = longest_seconds.max(seconds);
    }
    assert_eq!(longest_seconds, 899);
    assert_eq!(Lookahead::from_seconds(LOOKAHEAD_SECONDS_MAX + 1), None);
}

#[test]
fn the_longest_delay_is_what_sqs_takes() {
    let delay = |millis| queue_delay(Instant::from_millis(millis), Instant::from_millis(0));
    assert_eq!(delay(900_399), QueueDelay::Seconds(899));
    assert_eq!(delay(900_400), QueueDelay::Seconds(900));
    assert_eq!(delay(901_399), QueueDelay::Seconds(900));
    assert_eq!(delay(901_400), QueueDelay::TooFar);
}
