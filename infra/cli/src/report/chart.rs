use std::collections::BTreeMap;
use std::fmt;

use spillway_domain::time::Instant;

use super::Report;
use super::table::grouped;
use crate::schedule::rfc_3339;

/// How many seconds share a line of the chart.
const SECONDS_A_LINE: i64 = 10;
/// How long the longest bar is.
const BAR_WIDTH: u64 = 32;
/// The room before a bar for its number.
const NUMBER_WIDTH: usize = 6;
/// The room for a number, its bar and what keeps them apart.
const COLUMN_WIDTH: usize = 42;

/// How many lines there are on either side of the busiest second that was asked for.
const LINES_ASIDE: i64 = 18;

impl Report {
    /// Draws what the busiest second of every ten was asked to hold, beside what it held: both by
    /// one measure.
    pub(super) fn write_chart(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(peak) = self.seconds.iter().max_by_key(|second| second.requested) else {
            return Ok(());
        };
        let peak_line = peak.number.div_euclid(SECONDS_A_LINE);
        let mut lines: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
        for second in &self.seconds {
            let line = second.number.div_euclid(SECONDS_A_LINE);
            if (line - peak_line).abs() <= LINES_ASIDE {
                let busiest = lines.entry(line).or_default();
                *busiest = (busiest.0.max(second.requested), busiest.1.max(second.released));
            }
        }
        let longest = self.peak_requested.max(self.peak_released).max(1);
        writeln!(f, "jobs a second, the busiest of every ten seconds")?;
        writeln!(f, "{:10}{:COLUMN_WIDTH$}released", "", "asked for")?;
        let (first, last) = (lines.keys().min(), lines.keys().max());
        let (first, last) = (first.copied().unwrap_or(0), last.copied().unwrap_or(0));
        for line in first..=last {
            let (requested, released) = lines.get(&line).copied().unwrap_or_default();
            let (requested, released) = (bar(requested, longest), bar(released, longest));
            let row =
                format!("{:10}{requested:COLUMN_WIDTH$}{released}", clock(line * SECONDS_A_LINE));
            writeln!(f, "{}", row.trim_end())?;
        }
        let (requested, released) = (grouped(self.peak_requested), grouped(self.peak_released));
        writeln!(f, "the busiest second: {requested} asked for, {released} released")
    }
}

/// Draws a count; any but 0 shows.
fn bar(count: u64, longest: u64) -> String {
    let length = (count * BAR_WIDTH).div_ceil(longest);
    let length = usize::try_from(length).unwrap_or_default();
    format!("{:>NUMBER_WIDTH$} {}", grouped(count), "#".repeat(length))
}

/// Shows the time of day of a second.
fn clock(second: i64) -> String {
    let text = rfc_3339(Instant::from_millis(0).plus_seconds(second));
    text.get(11..19).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_vanishes() {
        assert_eq!(bar(2_000, 2_000), format!(" 2,000 {}", "#".repeat(32)));
        assert_eq!(bar(1_000, 2_000), format!(" 1,000 {}", "#".repeat(16)));
        assert_eq!(bar(1, 2_000), "     1 #");
        assert_eq!(bar(0, 2_000), "     0 ");
    }

    #[test]
    fn a_line_of_the_chart_shows_its_time_of_day() {
        assert_eq!(clock(86_400 + 9 * 3_600 + 70), "09:01:10");
    }
}
