//! Instants, whole seconds and minutes, in UTC.

use alloc::string::ToString;
use core::fmt;

const MILLIS_PER_SECOND: i64 = 1_000;
const MILLIS_PER_MINUTE: i64 = 60_000;
const MINUTES_PER_DAY: i64 = 1_440;

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z. Arithmetic saturates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i64);

impl Instant {
    /// Builds the instant that lies `millis` milliseconds after the Unix epoch.
    ///
    /// ```
    /// use spillway_domain::time::Instant;
    /// assert_eq!(Instant::from_millis(1_500).as_millis(), 1_500);
    /// ```
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Tells the milliseconds since the Unix epoch.
    ///
    /// ```
    /// use spillway_domain::time::Instant;
    /// assert_eq!(Instant::from_millis(-1).as_millis(), -1);
    /// ```
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Moves the instant by whole seconds, backwards when negative.
    ///
    /// ```
    /// use spillway_domain::time::Instant;
    /// assert_eq!(Instant::from_millis(500).plus_seconds(-1), Instant::from_millis(-500));
    /// ```
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(MILLIS_PER_SECOND)))
    }

    /// Moves the instant by milliseconds, backwards when negative.
    ///
    /// ```
    /// use spillway_domain::time::Instant;
    /// assert_eq!(Instant::from_millis(1).plus_millis(2), Instant::from_millis(3));
    /// ```
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Tells the milliseconds from `earlier` to this instant, negative when it is the earlier one.
    ///
    /// ```
    /// use spillway_domain::time::Instant;
    /// assert_eq!(Instant::from_millis(5).millis_since(Instant::from_millis(7)), -2);
    /// ```
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Rounds up to the whole second; a whole second stays itself.
    ///
    /// ```
    /// use spillway_domain::time::Instant;
    /// assert_eq!(Instant::from_millis(1_001).ceil_to_second(), Instant::from_millis(2_000));
    /// assert_eq!(Instant::from_millis(2_000).ceil_to_second(), Instant::from_millis(2_000));
    /// ```
    #[must_use]
    pub const fn ceil_to_second(self) -> Self {
        let floor = self.0.div_euclid(MILLIS_PER_SECOND).saturating_mul(MILLIS_PER_SECOND);
        if floor == self.0 { self } else { Self(floor.saturating_add(MILLIS_PER_SECOND)) }
    }

    /// Tells the minute that the instant lies in.
    ///
    /// ```
    /// use spillway_domain::time::{Instant, Minute};
    /// assert_eq!(Instant::from_millis(119_999).minute(), Minute::from_epoch_minutes(1));
    /// ```
    pub const fn minute(self) -> Minute {
        Minute(self.0.div_euclid(MILLIS_PER_MINUTE))
    }
}

/// A minute of UTC, counted from the Unix epoch; written `2026-12-01T09:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minute(i64);

impl Minute {
    /// Builds the minute that begins `minutes` minutes after the Unix epoch.
    ///
    /// ```
    /// use spillway_domain::time::Minute;
    /// assert_eq!(Minute::from_epoch_minutes(0).to_string(), "1970-01-01T00:00Z");
    /// ```
    pub const fn from_epoch_minutes(minutes: i64) -> Self {
        Self(minutes)
    }

    /// Tells the minutes since the Unix epoch.
    ///
    /// ```
    /// use spillway_domain::time::Minute;
    /// assert_eq!(Minute::from_epoch_minutes(3).as_epoch_minutes(), 3);
    /// ```
    pub const fn as_epoch_minutes(self) -> i64 {
        self.0
    }

    /// Tells the first instant of the minute.
    ///
    /// ```
    /// use spillway_domain::time::{Instant, Minute};
    /// assert_eq!(Minute::from_epoch_minutes(1).start(), Instant::from_millis(60_000));
    /// ```
    pub const fn start(self) -> Instant {
        Instant(self.0.saturating_mul(MILLIS_PER_MINUTE))
    }

    /// Tells the first instant after the minute.
    ///
    /// ```
    /// use spillway_domain::time::{Instant, Minute};
    /// assert_eq!(Minute::from_epoch_minutes(1).end(), Instant::from_millis(120_000));
    /// ```
    pub const fn end(self) -> Instant {
        self.next().start()
    }

    /// Tells the minute after this one.
    ///
    /// ```
    /// use spillway_domain::time::Minute;
    /// assert_eq!(Minute::from_epoch_minutes(1).next(), Minute::from_epoch_minutes(2));
    /// ```
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// Moves the minute by whole minutes, backwards when negative.
    ///
    /// ```
    /// use spillway_domain::time::Minute;
    /// assert_eq!(Minute::from_epoch_minutes(5).plus(-2), Minute::from_epoch_minutes(3));
    /// ```
    #[must_use]
    pub const fn plus(self, minutes: i64) -> Self {
        Self(self.0.saturating_add(minutes))
    }

    /// Reads a minute as it is written, `YYYY-MM-DDThh:mmZ`; anything else is `None`.
    ///
    /// ```
    /// use spillway_domain::time::Minute;
    /// let minute = Minute::parse("2026-12-01T09:00Z").unwrap();
    /// assert_eq!(minute.to_string(), "2026-12-01T09:00Z");
    /// assert_eq!(Minute::parse("2026-02-30T09:00Z"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let number = |range: core::ops::Range<usize>| -> Option<i64> {
            let digits = text.get(range)?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        let civil = Civil { year: number(0..4)?, month: number(5..7)?, day: number(8..10)? };
        let (hour, minute) = (number(11..13)?, number(14..16)?);
        let parsed = Self(civil.days_since_epoch() * MINUTES_PER_DAY + hour * 60 + minute);
        // Writing it again refuses what the arithmetic would carry over: month 13, February 30th.
        (parsed.to_string() == text).then_some(parsed)
    }
}

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let civil = Civil::from_days(self.0.div_euclid(MINUTES_PER_DAY));
        let of_day = self.0.rem_euclid(MINUTES_PER_DAY);
        let (hour, minute) = (of_day / 60, of_day % 60);
        let Civil { year, month, day } = civil;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}Z")
    }
}

/// A date of the proleptic Gregorian calendar.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
}

/// Days from 0000-03-01 to 1970-01-01. Years are counted from March, so that the leap day is the
/// last day of a year; 146,097 days are one 400-year cycle of the Gregorian calendar.
const DAYS_BEFORE_EPOCH: i64 = 719_468;
const DAYS_PER_CYCLE: i64 = 146_097;

impl Civil {
    fn days_since_epoch(&self) -> i64 {
        let year = if self.month <= 2 { self.year - 1 } else { self.year };
        let month_from_march = (self.month + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + self.day - 1;
        let (cycle, year_of_cycle) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100;
        cycle * DAYS_PER_CYCLE + day_of_cycle + day_of_year - DAYS_BEFORE_EPOCH
    }

    fn from_days(days: i64) -> Self {
        let shifted = days + DAYS_BEFORE_EPOCH;
        let (cycle, day_of_cycle) =
            (shifted.div_euclid(DAYS_PER_CYCLE), shifted.rem_euclid(DAYS_PER_CYCLE));
        let leap_days = day_of_cycle / 1_460 - day_of_cycle / 36_524 + day_of_cycle / 146_096;
        let year_of_cycle = (day_of_cycle - leap_days) / 365;
        let first_day = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100;
        let day_of_year = day_of_cycle - first_day;
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = (month_from_march + 2) % 12 + 1;
        let year = cycle * 400 + year_of_cycle + i64::from(month <= 2);
        Self { year, month, day }
    }
}
