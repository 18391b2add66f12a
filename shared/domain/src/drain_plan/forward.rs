//! A plan run forward beyond its minute, as if nothing more came.

use alloc::vec::Vec;

use super::{Cell, ChannelPlan};
use crate::time::{Instant, Minute};

/// All releases of a channel until its backlog clears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward<'p> {
    /// The releases: of the plan's minute, and of those after it.
    pub runs: Vec<Run<'p>>,
    /// When the last second ends in which something is released; none without a job.
    pub clear_at: Option<Instant>,
}

/// Jobs of a cell that are released over seconds that follow one another, as many in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'p> {
    /// The cell.
    pub cell: &'p Cell,
    /// The first of the seconds.
    pub first_at: Instant,
    /// How many seconds they are.
    pub seconds: u64,
    /// How many jobs are released in each.
    pub per_second: u64,
}

impl Run<'_> {
    /// Tells how late the first of its jobs are, in seconds.
    pub(super) fn lateness_seconds(&self) -> u64 {
        u64::try_from(self.first_at.millis_since(self.cell.due_at) / 1_000).unwrap_or(0)
    }

    /// Tells how many jobs it has.
    pub(super) const fn count(&self) -> u64 {
        self.seconds.saturating_mul(self.per_second)
    }

    fn end_at(&self) -> Instant {
        self.first_at.plus_seconds(seconds(self.seconds))
    }
}

/// Runs the plan of a channel forward from the end of its minute: in closed form, since everything
/// that is carried is due already.
///
/// ```
/// use spillway_domain::{drain_plan::*, precision::Lane, rate::Rate, time::Minute};
/// let minute = Minute::from_epoch_minutes(0);
/// let cell = Cell { lane: Lane::Exact, priority: 1, due_at: minute.start(), class: None };
/// let waiting = [(cell, Waiting { from_hash: 0, count: 3_000_000 })].into();
/// let rate = Rate::new(20_000, None, 0).unwrap();
/// let plan = channel_plan(minute, &ChannelLoad { rate, waiting });
/// assert_eq!(forward(&plan, minute).clear_at, Some(minute.start().plus_seconds(150)));
/// ```
pub fn forward(plan: &ChannelPlan, minute: Minute) -> Forward<'_> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (cell, planned) in &plan.cells {
        for release in &planned.releases {
            let run = Run { cell, first_at: release.at, seconds: 1, per_second: release.count };
            match runs.last_mut().filter(|last| is_continued(last, &run)) {
                Some(last) => last.seconds = last.seconds.saturating_add(1),
                None => runs.push(run),
            }
        }
    }
    let mut drain = Drain { at: minute.end(), taken: 0 };
    for (cell, planned) in &plan.cells {
        let limit = u64::from(plan.rate.of_lane(cell.lane));
        runs.extend(drain.runs(cell, planned.carried_count(), limit));
    }
    let clear_at = runs.iter().map(Run::end_at).max();
    Forward { runs, clear_at }
}

fn is_continued(run: &Run<'_>, next: &Run<'_>) -> bool {
    run.cell == next.cell && run.per_second == next.per_second && run.end_at() == next.first_at
}

/// How far the time after the minute is used.
struct Drain {
    at: Instant,
    taken: u64,
}

impl Drain {
    /// Takes the seconds that a cell's jobs need: what is left of the present one, whole ones, and
    /// a part of the last.
    fn runs<'p>(
        &mut self,
        cell: &'p Cell,
        count: u64,
        limit: u64,
    ) -> impl Iterator<Item = Run<'p>> + use<'p> {
        let first_count = count.min(limit.saturating_sub(self.taken));
        let first = Run { cell, first_at: self.at, seconds: 1, per_second: first_count };
        let left = count.saturating_sub(first_count);
        self.taken = self.taken.saturating_add(first_count);
        let whole_seconds = left / limit.max(1);
        let last_count = left % limit.max(1);
        if left > 0 {
            self.at = self.at.plus_seconds(1);
            self.taken = 0;
        }
        let whole = Run { cell, first_at: self.at, seconds: whole_seconds, per_second: limit };
        self.at = self.at.plus_seconds(seconds(whole_seconds));
        let last = Run { cell, first_at: self.at, seconds: 1, per_second: last_count };
        self.taken = self.taken.saturating_add(last_count);
        [first, whole, last].into_iter().filter(|run| run.count() > 0)
    }
}

fn seconds(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
