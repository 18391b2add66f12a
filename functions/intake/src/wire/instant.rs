//! Instants as RFC 3339 text.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use spillway_domain::time::Instant;

const NOT_RFC_3339: &str = "must be an RFC 3339 instant such as 2026-12-01T09:00:00+01:00";
const NO_SUCH_TIME: &str = "must be a date and a time that exist, without leap seconds";
const NANOS_PER_MILLI: u32 = 1_000_000;
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Reads an instant strictly: date, `T`, time with seconds, up to nine digits of a fraction, and an
/// offset. What is finer than a millisecond is rounded up, so that nothing is ever early (R3).
///
/// # Errors
/// What the text must be.
pub(crate) fn read_instant(text: &str) -> Result<Instant, &'static str> {
    Written::read(text).ok_or(NOT_RFC_3339)?.instant().ok_or(NO_SUCH_TIME)
}

/// Writes an instant in UTC, with a fraction only when there is one.
pub(crate) fn written(at: Instant) -> String {
    // Beyond the year 9999 there is no text; no accepted job lies there.
    Timestamp::from_millisecond(at.as_millis()).unwrap_or(Timestamp::MAX).to_string()
}

/// The numbers of an instant, as they were written.
struct Written {
    date: (i16, i8, i8),
    time: (i8, i8, i8),
    /// 0 to 1,000: a fraction that was rounded up may carry into the next second.
    millis: u32,
    /// The sign, hours and minutes of the offset.
    offset: (i64, i8, i8),
}

impl Written {
    fn read(text: &str) -> Option<Self> {
        let mut rest = Rest(text.as_bytes());
        let year = i16::from(rest.two_digits()?) * 100 + i16::from(rest.two_digits()?);
        let month = rest.after(b"-")?.two_digits()?;
        let day = rest.after(b"-")?.two_digits()?;
        let hour = rest.after(b"Tt")?.two_digits()?;
        let minute = rest.after(b":")?.two_digits()?;
        let second = rest.after(b":")?.two_digits()?;
        let (millis, offset) = (rest.fraction_millis()?, rest.offset()?);
        let (date, time) = ((year, month, day), (hour, minute, second));
        rest.0.is_empty().then_some(Self { date, time, millis, offset })
    }

    /// Gives the instant; none for a date, a time or an offset that does not exist. A second 60 is
    /// among them.
    fn instant(&self) -> Option<Instant> {
        let (year, month, day) = self.date;
        let (hour, minute, second) = self.time;
        let (sign, offset_hours, offset_minutes) = self.offset;
        let date = Date::new(year, month, day).ok()?;
        let time = date.to_datetime(Time::new(hour, minute, second, 0).ok()?);
        if offset_hours > 23 || offset_minutes > 59 {
            return None;
        }
        let offset_seconds = i64::from(offset_hours) * 3_600 + i64::from(offset_minutes) * 60;
        let seconds = time.duration_since(EPOCH).as_secs() - sign * offset_seconds;
        Some(Instant::from_millis(i64::from(self.millis)).plus_seconds(seconds))
    }
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn two_digits(&mut self) -> Option<i8> {
        let [tens @ b'0'..=b'9', units @ b'0'..=b'9', rest @ ..] = self.0 else {
            return None;
        };
        self.0 = rest;
        i8::try_from((tens - b'0') * 10 + (units - b'0')).ok()
    }

    fn after(&mut self, any_of: &[u8]) -> Option<&mut Self> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        any_of.contains(first).then_some(self)
    }

    /// Reads `.` and one to nine digits, if there, and gives the milliseconds, rounded up.
    fn fraction_millis(&mut self) -> Option<u32> {
        let Some(b'.') = self.0.first() else {
            return Some(0);
        };
        let digits = self.0[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        let (written, rest) = self.0[1..].split_at(digits);
        self.0 = rest;
        let padded = written.iter().chain(std::iter::repeat(&b'0')).take(9);
        let nanos = padded.fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0'));
        Some(nanos.div_ceil(NANOS_PER_MILLI))
    }

    /// Reads `Z` or `±hh:mm`.
    fn offset(&mut self) -> Option<(i64, i8, i8)> {
        let (sign, rest) = self.0.split_first()?;
        self.0 = rest;
        let sign = match sign {
            b'Z' | b'z' => return Some((1, 0, 0)),
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        Some((sign, self.two_digits()?, self.after(b":")?.two_digits()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> Result<i64, &'static str> {
        read_instant(text).map(Instant::as_millis)
    }

    #[test]
    fn an_instant_is_the_same_in_every_zone() {
        let at = Ok(1_796_112_000_000);
        assert_eq!(millis("2026-12-01T08:00:00Z"), at);
        assert_eq!(millis("2026-12-01t08:00:00z"), at);
        assert_eq!(millis("2026-12-01T09:00:00+01:00"), at);
        assert_eq!(millis("2026-12-01T08:00:00-00:00"), at);
        assert_eq!(millis("2026-11-30T08:01:00-23:59"), at);
        assert_eq!(millis("2026-12-01T13:45:00.000+05:45"), at);
    }

    #[test]
    fn a_fraction_is_rounded_up_to_the_millisecond() {
        assert_eq!(millis("1970-01-01T00:00:00.5Z"), Ok(500));
        assert_eq!(millis("1970-01-01T00:00:00.000000001Z"), Ok(1));
        assert_eq!(millis("1970-01-01T00:00:00.001000000Z"), Ok(1));
        assert_eq!(millis("1970-01-01T00:00:00.001000001Z"), Ok(2));
        assert_eq!(millis("1969-12-31T23:59:59.999900000Z"), Ok(0));
        assert_eq!(millis("2026-12-31T23:59:59.9999Z"), millis("2027-01-01T00:00:00Z"));
    }

    #[test]
    fn a_leap_second_and_dates_that_do_not_exist_are_refused() {
        for text in [
            "2026-12-31T23:59:60Z",
            "2026-06-30T23:59:60.5Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+00:60",
        ] {
            assert_eq!(millis(text), Err(NO_SUCH_TIME), "{text}");
        }
        assert!(millis("2028-02-29T00:00:00Z").is_ok());
    }

    #[test]
    fn whatever_is_not_rfc_3339_is_refused() {
        for text in [
            "",
            "2026-12-01",
            "2026-12-01T09:00Z",
            "2026-12-01T09:00:00",
            "2026-12-01 09:00:00Z",
            "2026-12-01T09:00:00.Z",
            "2026-12-01T09:00:00.1234567890Z",
            "2026-12-01T09:00:00,5Z",
            "2026-12-01T09:00:00+0100",
            "2026-12-01T09:00:00+01",
            "2026-12-01T09:00:00Z ",
            " 2026-12-01T09:00:00Z",
            "2026-12-01T09:00:00[Europe/Berlin]",
            "2026-12-01T09:00:00+01:00[Europe/Berlin]",
            "+002026-12-01T09:00:00Z",
            "-2026-12-01T09:00:00Z",
            "20261201T090000Z",
            "26-12-01T09:00:00Z",
            "2026-12-1T9:00:00Z",
            "2026-W49-2T09:00:00Z",
            "１９70-01-01T00:00:00Z",
            "1796112000",
        ] {
            assert_eq!(millis(text), Err(NOT_RFC_3339), "{text}");
        }
    }

    #[test]
    fn the_ends_of_the_calendar_are_instants_too() {
        assert_eq!(millis("0000-01-01T00:00:00Z"), Ok(-62_167_219_200_000));
        assert_eq!(millis("9999-12-31T23:59:59.999-23:59"), Ok(253_402_387_139_999));
    }

    #[test]
    fn an_instant_is_written_in_utc_to_the_millisecond() {
        assert_eq!(written(Instant::from_millis(1_796_112_000_000)), "2026-12-01T08:00:00Z");
        assert_eq!(written(Instant::from_millis(1_796_112_000_012)), "2026-12-01T08:00:00.012Z");
        assert_eq!(written(Instant::from_millis(-1)), "1969-12-31T23:59:59.999Z");
        assert_eq!(written(Instant::from_millis(i64::MAX)), "9999-12-30T22:00:00.999999999Z");
    }
}
