//! Minutes as they are written, against a calendar of another make.

use jiff::ToSpan;
use jiff::civil::{DateTime, date};
use proptest::prelude::*;
use spillway_domain::time::{Instant, Minute};

use crate::arbitrary::{LAST_MINUTE, instant, minute, seeded};

fn civil(minute: Minute) -> DateTime {
    date(1970, 1, 1).at(0, 0, 0, 0) + minute.as_epoch_minutes().minutes()
}

fn written(at: DateTime) -> String {
    at.strftime("%Y-%m-%dT%H:%MZ").to_string()
}

fn assert_written_as_in_the_calendar(minute: Minute) {
    let text = minute.to_string();
    assert_eq!(text, written(civil(minute)));
    assert_eq!(Minute::parse(&text), Some(minute));
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn a_minute_is_written_as_in_the_calendar_and_read_back(minute in minute()) {
        assert_written_as_in_the_calendar(minute);
    }

    #[test]
    fn a_text_is_a_minute_exactly_when_the_calendar_has_it(
        (year, month, day) in (1970..=9999_i16, 0..=13_i8, 0..=32_i8),
        (hour, minute) in (0..=24_i8, 0..=60_i8),
    ) {
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}Z");
        let of_calendar = DateTime::new(year, month, day, hour, minute, 0, 0).ok();
        prop_assert_eq!(Minute::parse(&text).map(civil), of_calendar);
    }

    #[test]
    fn no_other_text_is_a_minute(text in "\\PC{0,20}") {
        prop_assert!(Minute::parse(&text).is_none_or(|minute| minute.to_string() == text));
    }

    #[test]
    fn an_instant_lies_inside_its_minute(at in instant()) {
        let minute = at.minute();
        prop_assert!(minute.start() <= at && at < minute.end());
        prop_assert_eq!(minute.end(), minute.next().start());
    }

    #[test]
    fn rounding_up_reaches_the_next_whole_second_and_no_further(at in instant()) {
        let second = at.ceil_to_second();
        prop_assert_eq!(second.as_millis() % 1_000, 0);
        prop_assert!((0..1_000).contains(&second.millis_since(at)));
    }

    #[test]
    fn arithmetic_stops_at_the_ends_of_time(at in any::<i64>(), by in any::<i64>()) {
        let moved = Instant::from_millis(at).plus_seconds(by);
        prop_assert_eq!(moved < Instant::from_millis(at), by < 0 && at > i64::MIN);
    }
}

/// Both sides of every place where a calendar can go wrong: the turn of each year, and the end of
/// each February.
#[test]
fn every_turn_of_a_year_and_of_february_is_the_calendars() {
    for year in 1970..=9999 {
        for first in [date(year, 1, 1), date(year, 3, 1)] {
            let days = first.duration_since(date(1970, 1, 1)).as_hours() / 24;
            let midnight = Minute::from_epoch_minutes(days * 1_440);
            assert_written_as_in_the_calendar(midnight);
            if days > 0 {
                assert_written_as_in_the_calendar(midnight.plus(-1));
            }
        }
    }
}

#[test]
fn the_last_minute_of_four_digit_years_is_the_calendars() {
    assert_written_as_in_the_calendar(Minute::from_epoch_minutes(LAST_MINUTE));
    assert_eq!(Minute::from_epoch_minutes(LAST_MINUTE).to_string(), "9999-12-31T23:59Z");
}
