//! When a drained minute is looked at again (R15, PROTOCOL rule 11).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::claim::claim_seconds;
use crate::pace::is_overdue;
use crate::precision::Lane;
use crate::staging::first_minute;
use crate::time::{Instant, Minute};

/// How long after the longest claim a drained minute is first visited, in seconds.
pub const FIRST_VISIT_MARGIN_SECONDS: i64 = 120;
/// The longest gap between two visits, in minutes.
pub const VISIT_GAP_MINUTES_MAX: i64 = 60;

/// How many messages may wait in a lane for a dispatcher before it counts as behind: 10,000 jobs in
/// full packs. What is left in a minute then waits in the queue; staging it again would only make
/// the queue longer.
pub const WAITING_MESSAGES_MAX: u64 = 100;

/// Tells whether a lane is behind in which so many messages wait for a dispatcher.
///
/// ```
/// use spillway_domain::reconcile::is_behind;
/// assert!(!is_behind(100));
/// assert!(is_behind(101));
/// ```
pub const fn is_behind(waiting_messages: u64) -> bool {
    waiting_messages > WAITING_MESSAGES_MAX
}

/// The next visit to a minute that was not empty yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// When it is due.
    pub at: Instant,
    /// The gap that follows it, in minutes: 2, 4, 8 … 60.
    pub gap_minutes: i64,
}

/// The minutes that reconcile still has to visit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// The last minute that was taken in; those after it follow when they are staged.
    pub taken_in: Option<Minute>,
    /// The visits to come.
    pub next: BTreeMap<Minute, Visit>,
}

impl Visits {
    /// Takes in the minutes that were staged since, up to `watermark`: the first time, all that a
    /// first tick stages.
    ///
    /// ```
    /// use spillway_domain::{reconcile::Visits, time::{Instant, Minute}};
    /// let mut visits = Visits::default();
    /// visits.take_in(Minute::from_epoch_minutes(0), Instant::from_millis(0), None);
    /// assert_eq!(visits.next.len(), 61);
    /// visits.take_in(Minute::from_epoch_minutes(2), Instant::from_millis(0), None);
    /// assert_eq!(visits.next.len(), 63);
    /// ```
    ///
    /// Minutes that were overdue were released at a pace that lasts until `reserved_until`.
    pub fn take_in(&mut self, watermark: Minute, now: Instant, reserved_until: Option<Instant>) {
        let first = self.taken_in.map_or_else(|| first_minute(now), Minute::next);
        for minute in first.as_epoch_minutes()..=watermark.as_epoch_minutes() {
            let minute = Minute::from_epoch_minutes(minute);
            let reserved_until = reserved_until.filter(|_| is_overdue(minute, now));
            let at = first_visit_at(minute, reserved_until.map_or(now, |until| until.max(now)));
            self.next.insert(minute, Visit { at, gap_minutes: 2 });
        }
        self.taken_in = self.taken_in.max(Some(watermark));
    }

    /// Takes the visits that are due at `now`, and lists their minutes, the oldest first. Each is
    /// put off by its gap: should the run that takes it die, it comes again.
    ///
    /// ```
    /// use spillway_domain::{reconcile::Visits, time::{Instant, Minute}};
    /// let taken_in = Some(Minute::from_epoch_minutes(-1));
    /// let mut visits = Visits { taken_in, ..Visits::default() };
    /// visits.take_in(Minute::from_epoch_minutes(0), Instant::from_millis(0), None);
    /// assert!(visits.take_due(Instant::from_millis(244_999)).is_empty());
    /// assert_eq!(visits.take_due(Instant::from_millis(245_000)).len(), 1); // 60 + 65 + 120 s
    /// assert!(visits.take_due(Instant::from_millis(364_999)).is_empty());
    /// ```
    pub fn take_due(&mut self, now: Instant) -> Vec<Minute> {
        let due = self.next.iter_mut().filter(|(_, visit)| visit.at <= now);
        due.map(|(minute, visit)| {
            visit.at = now.plus_seconds(visit.gap_minutes * 60);
            *minute
        })
        .collect()
    }

    /// Notes what a visit found: an empty minute is done, any other is visited again after its gap.
    /// The gap doubles up to [`VISIT_GAP_MINUTES_MAX`], but not when the visit was skipped.
    ///
    /// ```
    /// use spillway_domain::{reconcile::*, time::{Instant, Minute}};
    /// let (minute, now) = (Minute::from_epoch_minutes(0), Instant::from_millis(245_000));
    /// let mut visits = Visits { taken_in: Some(minute.plus(-1)), ..Visits::default() };
    /// visits.take_in(minute, Instant::from_millis(0), None);
    /// visits.visited(minute, Found::Jobs, now);
    /// assert_eq!(visits.next[&minute].at, now.plus_seconds(120));
    /// assert_eq!(visits.next[&minute].gap_minutes, 4);
    /// visits.visited(minute, Found::Nothing, now);
    /// assert!(visits.next.is_empty());
    /// ```
    pub fn visited(&mut self, minute: Minute, found: Found, now: Instant) {
        if found == Found::Nothing {
            self.next.remove(&minute);
        } else if let Some(visit) = self.next.get_mut(&minute) {
            visit.at = now.plus_seconds(visit.gap_minutes * 60);
            if found == Found::Jobs {
                visit.gap_minutes = (visit.gap_minutes * 2).min(VISIT_GAP_MINUTES_MAX);
            }
        }
    }
}

/// What a visit found in its minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No job: everything has ended or moved on.
    Nothing,
    /// Jobs of paused channels or of lanes that are behind alone, or whose planned release is still
    /// to come, which were left where they are.
    HeldBack,
    /// Jobs that were staged again.
    Jobs,
}

/// Tells whether a job that was planned for a release may still be on its way at `now`: it counts as
/// lost once the longest claim and [`FIRST_VISIT_MARGIN_SECONDS`] have passed.
///
/// ```
/// use spillway_domain::{reconcile::is_on_its_way, time::Instant};
/// let release_at = Instant::from_millis(0);
/// assert!(is_on_its_way(release_at, Instant::from_millis(184_999)));
/// assert!(!is_on_its_way(release_at, Instant::from_millis(185_000)));
/// ```
pub fn is_on_its_way(release_at: Instant, now: Instant) -> bool {
    now < release_at.plus_seconds(lost_after_seconds())
}

/// Tells when a minute that was staged at `now` is first visited: the longest claim and
/// [`FIRST_VISIT_MARGIN_SECONDS`] after its end, or after `now` when it was staged late.
///
/// ```
/// use spillway_domain::{reconcile::first_visit_at, time::{Instant, Minute}};
/// let minute = Minute::from_epoch_minutes(0);
/// assert_eq!(first_visit_at(minute, Instant::from_millis(0)), Instant::from_millis(245_000));
/// ```
pub fn first_visit_at(minute: Minute, now: Instant) -> Instant {
    minute.end().max(now).plus_seconds(lost_after_seconds())
}

fn lost_after_seconds() -> i64 {
    i64::from(claim_seconds(Lane::Movable)) + FIRST_VISIT_MARGIN_SECONDS
}
