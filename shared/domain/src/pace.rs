//! The pace at which what is overdue is released, after an outage or when it was lost (R10, R15).

use crate::time::{Instant, Minute};

/// How far ahead of now overdue jobs are given a release, in seconds: three ticks, so that a lost
/// one does not stop the catching up, and far less than the 900 s that a queue can wait.
pub const PACE_AHEAD_SECONDS: i64 = 180;
/// The fastest pace that can be set, in jobs a second.
pub const PACE_JOBS_PER_SECOND_MAX: u32 = 1_000_000;

/// How many overdue jobs are released a second, over all runs together: 1 to
/// [`PACE_JOBS_PER_SECOND_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace(u32);

impl Pace {
    /// Checks a pace in jobs a second; `None` when it is 0 or above [`PACE_JOBS_PER_SECOND_MAX`].
    ///
    /// ```
    /// use spillway_domain::pace::Pace;
    /// assert!(Pace::from_jobs_per_second(5_000).is_some());
    /// assert_eq!(Pace::from_jobs_per_second(0), None);
    /// ```
    pub const fn from_jobs_per_second(jobs: u32) -> Option<Self> {
        if jobs == 0 || jobs > PACE_JOBS_PER_SECOND_MAX { None } else { Some(Self(jobs)) }
    }

    /// Tells how long so many jobs take, in milliseconds, rounded up.
    ///
    /// ```
    /// use spillway_domain::pace::Pace;
    /// let pace = Pace::from_jobs_per_second(5_000).unwrap();
    /// assert_eq!(pace.millis(4_000), 800);
    /// assert_eq!(pace.millis(1), 1);
    /// ```
    pub fn millis(self, jobs: usize) -> i64 {
        let jobs = i64::try_from(jobs).unwrap_or(i64::MAX);
        let scaled = jobs.saturating_mul(1_000);
        let rate = i64::from(self.0);
        scaled / rate + i64::from(scaled % rate != 0)
    }

    /// Tells when the job at a place is released among those that a time was reserved for, which
    /// begins at `from`: rounded up to the whole second, so that they share packs.
    ///
    /// ```
    /// use spillway_domain::{pace::Pace, time::Instant};
    /// let pace = Pace::from_jobs_per_second(100).unwrap();
    /// assert_eq!(pace.release_at(Instant::from_millis(400), 0), Instant::from_millis(1_000));
    /// assert_eq!(pace.release_at(Instant::from_millis(400), 70), Instant::from_millis(2_000));
    /// ```
    pub fn release_at(self, from: Instant, place: usize) -> Instant {
        from.plus_millis(self.millis(place)).ceil_to_second()
    }
}

/// Tells whether a minute is overdue: it is over, and what is left of it is released at the pace.
///
/// ```
/// use spillway_domain::{pace::is_overdue, time::{Instant, Minute}};
/// let minute = Minute::from_epoch_minutes(0);
/// assert!(!is_overdue(minute, Instant::from_millis(59_999)));
/// assert!(is_overdue(minute, Instant::from_millis(60_000)));
/// ```
pub fn is_overdue(minute: Minute, now: Instant) -> bool {
    minute.end() <= now
}

/// Tells the last instant at which a reserved time may begin.
///
/// ```
/// use spillway_domain::{pace::last_begin_at, time::Instant};
/// assert_eq!(last_begin_at(Instant::from_millis(0)), Instant::from_millis(180_000));
/// ```
pub const fn last_begin_at(now: Instant) -> Instant {
    now.plus_seconds(PACE_AHEAD_SECONDS)
}
