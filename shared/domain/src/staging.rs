//! When a bucket is staged, by whom, and with which delay (R9, R10, R17).

use crate::time::{Instant, Minute};

/// The longest delay that SQS takes, in seconds; it refuses 901.
pub const QUEUE_DELAY_SECONDS_MAX: u16 = 900;
/// What a writer adds to the lookahead before it leaves a bucket to prefetch, in seconds: index
/// lag, a late tick, and twice the skew of clocks (PROTOCOL rule 9).
pub const DIRECT_STAGING_MARGIN_SECONDS: u16 = 150;
/// How long before its release a message is asked for, in milliseconds: the time to claim (R17).
pub const HEAD_START_MILLIS: i64 = 400;
/// How long a dispatcher may hold a job for its second, in milliseconds: the head start, plus the
/// second that a whole-second delay rounds away, plus slack (R17).
pub const HOLD_MILLIS_MAX: i64 = 1_500;
/// How far back the first tick of a new stack looks, in minutes: jobs may have been accepted since
/// the stack was made, and its first ticks may have been lost.
pub const FIRST_LOOKBACK_MINUTES: i64 = 60;
/// The shortest lookahead in seconds: a minute must be staged before it begins, by ticks that are
/// a minute apart.
pub const LOOKAHEAD_SECONDS_MIN: u16 = 60;
/// The longest lookahead in seconds. A direct message waits for lookahead + margin + the 59 s of
/// its minute; with 690 s that is 899 s, within [`QUEUE_DELAY_SECONDS_MAX`].
pub const LOOKAHEAD_SECONDS_MAX: u16 = 690;

/// How long before its minute begins a bucket is staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookahead(u16);

impl Lookahead {
    /// Checks a lookahead in seconds; `None` outside [`LOOKAHEAD_SECONDS_MIN`] to
    /// [`LOOKAHEAD_SECONDS_MAX`].
    ///
    /// ```
    /// use spillway_domain::staging::Lookahead;
    /// assert!(Lookahead::from_seconds(300).is_some());
    /// assert!(Lookahead::from_seconds(691).is_none());
    /// ```
    pub const fn from_seconds(seconds: u16) -> Option<Self> {
        if seconds < LOOKAHEAD_SECONDS_MIN || seconds > LOOKAHEAD_SECONDS_MAX {
            None
        } else {
            Some(Self(seconds))
        }
    }

    /// Tells the last minute that is due for staging at `now`.
    ///
    /// ```
    /// use spillway_domain::{staging::Lookahead, time::{Instant, Minute}};
    /// let lookahead = Lookahead::from_seconds(60).unwrap();
    /// let last = lookahead.last_minute(Instant::from_millis(59_999));
    /// assert_eq!(last, Minute::from_epoch_minutes(1));
    /// ```
    pub const fn last_minute(self, now: Instant) -> Minute {
        now.plus_seconds(self.0 as i64).minute()
    }

    /// Tells whether the writer of a bucket sends the message itself, `now` being read after the
    /// write was answered: `minute start − now ≤ lookahead + 150 s` (R9).
    ///
    /// ```
    /// use spillway_domain::{staging::Lookahead, time::{Instant, Minute}};
    /// let lookahead = Lookahead::from_seconds(60).unwrap();
    /// let minute = Minute::from_epoch_minutes(10); // begins at 600 s
    /// assert!(lookahead.is_staged_directly(minute, Instant::from_millis(390_000)));
    /// assert!(!lookahead.is_staged_directly(minute, Instant::from_millis(389_999)));
    /// ```
    pub const fn is_staged_directly(self, minute: Minute, now: Instant) -> bool {
        minute.start().millis_since(now) <= self.direct_millis()
    }

    /// Tells where a job goes that is returned to the table: the first minute that prefetch will
    /// stage by itself, or the minute of its release when that is later.
    ///
    /// ```
    /// use spillway_domain::{staging::Lookahead, time::{Instant, Minute}};
    /// let lookahead = Lookahead::from_seconds(60).unwrap();
    /// let release_at = lookahead.return_at(Instant::from_millis(5_000), Instant::from_millis(0));
    /// assert_eq!(release_at, Instant::from_millis(240_000)); // first start beyond 210 s
    /// ```
    pub fn return_at(self, release_at: Instant, now: Instant) -> Instant {
        release_at.max(now.plus_millis(self.direct_millis()).minute().next().start())
    }

    const fn direct_millis(self) -> i64 {
        (self.0 as i64 + DIRECT_STAGING_MARGIN_SECONDS as i64) * 1_000
    }
}

/// Tells the minute that a job waits in: that of its release, at least the present one, so that
/// nothing is written to a minute that nobody visits again (R15).
///
/// ```
/// use spillway_domain::{staging::bucket_minute, time::Instant};
/// let (past, now) = (Instant::from_millis(0), Instant::from_millis(61_000));
/// assert_eq!(bucket_minute(past, now), now.minute());
/// ```
pub fn bucket_minute(release_at: Instant, now: Instant) -> Minute {
    release_at.max(now).minute()
}

/// The delay that a message is sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueDelay {
    /// So many seconds, 0 to [`QUEUE_DELAY_SECONDS_MAX`].
    Seconds(u16),
    /// The release is further away than a queue can wait.
    TooFar,
}

/// Gives the delay that brings a message to its dispatcher 0.4 to 1.4 s before the release:
/// `floor(release − now − 0.4 s)`, 0 when that is past.
///
/// ```
/// use spillway_domain::{staging::{queue_delay, QueueDelay}, time::Instant};
/// let now = Instant::from_millis(0);
/// assert_eq!(queue_delay(Instant::from_millis(10_000), now), QueueDelay::Seconds(9));
/// assert_eq!(queue_delay(Instant::from_millis(-5_000), now), QueueDelay::Seconds(0));
/// assert_eq!(queue_delay(Instant::from_millis(902_000), now), QueueDelay::TooFar);
/// ```
pub fn queue_delay(release_at: Instant, now: Instant) -> QueueDelay {
    let seconds = (release_at.millis_since(now) - HEAD_START_MILLIS).max(0) / 1_000;
    match u16::try_from(seconds) {
        Ok(seconds) if seconds <= QUEUE_DELAY_SECONDS_MAX => QueueDelay::Seconds(seconds),
        _ => QueueDelay::TooFar,
    }
}

/// Tells whether a job may be claimed for its release: `release_at ≤ now + 1.5 s`.
///
/// ```
/// use spillway_domain::{staging::is_claimable, time::Instant};
/// assert!(is_claimable(Instant::from_millis(1_500), Instant::from_millis(0)));
/// assert!(!is_claimable(Instant::from_millis(1_501), Instant::from_millis(0)));
/// ```
pub fn is_claimable(release_at: Instant, now: Instant) -> bool {
    release_at <= now.plus_millis(HOLD_MILLIS_MAX)
}

/// Tells the first minute that a stack without a watermark stages: [`FIRST_LOOKBACK_MINUTES`] back.
///
/// ```
/// use spillway_domain::{staging::first_minute, time::{Instant, Minute}};
/// assert_eq!(first_minute(Instant::from_millis(0)), Minute::from_epoch_minutes(-60));
/// ```
pub const fn first_minute(now: Instant) -> Minute {
    now.minute().plus(-FIRST_LOOKBACK_MINUTES)
}

/// Lists the minutes to stage, in due order: from the one after `watermark`, or from
/// [`first_minute`] without one, to `last`.
///
/// ```
/// use spillway_domain::{staging::minutes_to_stage, time::{Instant, Minute}};
/// let minute = Minute::from_epoch_minutes;
/// let due: Vec<_> = minutes_to_stage(Some(minute(3)), minute(5), Instant::from_millis(0)).collect();
/// assert_eq!(due, [minute(4), minute(5)]);
/// ```
pub fn minutes_to_stage(
    watermark: Option<Minute>,
    last: Minute,
    now: Instant,
) -> impl Iterator<Item = Minute> {
    let first = watermark.map_or(first_minute(now), Minute::next);
    (first.as_epoch_minutes()..=last.as_epoch_minutes()).map(Minute::from_epoch_minutes)
}
