//! The times of day that people choose.

use spillway_testkit::Dice;

/// Times of day and how often each was found in public schedules. 71 % are at minute :00, and the
/// busiest minute of the day has about 100 times the mean.
const FOUND: &str = include_str!("../../data/times-of-day.csv");

/// A distribution of times of day, to the second.
///
/// ```
/// use spillway_simulator::scale::TimesOfDay;
/// use spillway_testkit::Dice;
///
/// let times = TimesOfDay::found();
/// let second = times.draw(&mut Dice::from_seed(7));
/// assert!(second < 86_400);
/// ```
#[derive(Clone, Debug)]
pub struct TimesOfDay {
    /// Each time of day as its second, and the sum of the counts up to it.
    until: Vec<(u32, u64)>,
}

impl TimesOfDay {
    /// Gives the distribution that was found in public schedules.
    ///
    /// # Panics
    /// When the table that comes with the crate is broken.
    pub fn found() -> Self {
        let mut total = 0;
        let until = FOUND.lines().skip(1).filter(|line| !line.is_empty()).map(|line| {
            let (second, count) =
                row(line).unwrap_or_else(|| panic!("no time of day and count: {line}"));
            total += count;
            (second, total)
        });
        Self { until: until.collect() }
    }

    /// Draws a time of day, in seconds from midnight.
    pub fn draw(&self, dice: &mut Dice) -> u32 {
        let total = self.until.last().map_or(0, |(_, total)| *total);
        let drawn = dice.below(total);
        let place = self.until.partition_point(|(_, until)| *until <= drawn);
        self.until.get(place).map_or(0, |(second, _)| *second)
    }
}

fn row(line: &str) -> Option<(u32, u64)> {
    let (time, count) = line.split_once(',')?;
    let mut parts = time.split(':').map(str::parse::<u32>);
    let mut next = || parts.next()?.ok();
    let (hours, minutes, seconds) = (next()?, next()?, next()?);
    Some((hours * 3_600 + minutes * 60 + seconds, count.trim().parse().ok()?))
}
