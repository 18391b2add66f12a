//! The plan of one channel.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Cell, ChannelLoad, Place, Waiting};
use crate::jitter::ReleaseHash;
use crate::rate::Rate;
use crate::time::{Instant, Minute};

const MINUTE_SECONDS: i64 = 60;

/// What a channel releases in a minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelPlan {
    /// The rate that it was planned with.
    pub rate: Rate,
    /// Its cells, in the order of release.
    pub cells: BTreeMap<Cell, CellPlan>,
}

/// What is released of one cell, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellPlan {
    /// The jobs that the plan was made for.
    pub waiting: Waiting,
    /// Their releases, in order.
    pub releases: Vec<Release>,
    released_count: u64,
}

/// The jobs of a cell that are released in one second: those from this hash on, up to the hash of
/// the next release or of what is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The whole second.
    pub at: Instant,
    /// How many they are.
    pub count: u64,
    /// The lowest release hash among them.
    pub from_hash: u64,
}

/// Gives the cells of a channel their releases in a minute. Second by second, what is due is
/// released in order as long as there is room: exact work up to the whole rate, movable work as
/// long as the second holds less than the rate less the reserve.
///
/// ```
/// use spillway_domain::{drain_plan::*, precision::Lane, rate::Rate, time::Minute};
/// let minute = Minute::from_epoch_minutes(0);
/// let cell = Cell { lane: Lane::Exact, priority: 1, due_at: minute.start(), class: None };
/// let waiting = [(cell.clone(), Waiting { from_hash: 0, count: 250 })].into();
/// let rate = Rate::new(100, None, 0).unwrap();
/// let plan = channel_plan(minute, &ChannelLoad { rate, waiting });
/// let counts: Vec<_> = plan.cells[&cell].releases.iter().map(|release| release.count).collect();
/// assert_eq!(counts, [100, 100, 50]);
/// ```
pub fn channel_plan(minute: Minute, load: &ChannelLoad) -> ChannelPlan {
    let cells = load.waiting.iter().map(|(cell, waiting)| (cell.clone(), CellPlan::of(*waiting)));
    let mut plan = ChannelPlan { rate: load.rate, cells: cells.collect() };
    for second in 0..MINUTE_SECONDS {
        let at = minute.start().plus_seconds(second);
        let mut taken: u64 = 0;
        for (cell, planned) in plan.cells.iter_mut().filter(|(cell, _)| cell.due_at <= at) {
            let room = u64::from(load.rate.of_lane(cell.lane)).saturating_sub(taken);
            taken = taken.saturating_add(planned.release(at, room));
        }
    }
    plan
}

impl ChannelPlan {
    /// Tells whether every job is released in the second in which it is due: then no plan is needed.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::*, precision::Lane, rate::Rate, time::Minute};
    /// let minute = Minute::from_epoch_minutes(0);
    /// let rate = Rate::new(100, None, 0).unwrap();
    /// let cell = Cell { lane: Lane::Exact, priority: 1, due_at: minute.start(), class: None };
    /// let plan_of = |count| {
    ///     let waiting = [(cell.clone(), Waiting { from_hash: 0, count })].into();
    ///     channel_plan(minute, &ChannelLoad { rate, waiting })
    /// };
    /// assert!(plan_of(100).is_as_due());
    /// assert!(!plan_of(101).is_as_due());
    /// ```
    pub fn is_as_due(&self) -> bool {
        self.cells.iter().all(|(cell, plan)| {
            plan.carried_count() == 0
                && plan.releases.iter().all(|release| release.at == cell.due_at)
        })
    }

    /// Lists what is carried into the next minute, with the rate that was planned with.
    pub(super) fn carried(&self) -> ChannelLoad {
        let carried = self.cells.iter();
        let carried = carried.filter_map(|(cell, plan)| Some((cell.clone(), plan.carried()?)));
        ChannelLoad { rate: self.rate, waiting: carried.collect() }
    }
}

impl CellPlan {
    const fn of(waiting: Waiting) -> Self {
        Self { waiting, releases: Vec::new(), released_count: 0 }
    }

    /// Releases as many jobs in a second as there is room for; tells how many.
    fn release(&mut self, at: Instant, room: u64) -> u64 {
        let count = self.carried_count().min(room);
        if count > 0 {
            let from_hash = self.waiting.hash_after(self.released_count);
            self.releases.push(Release { at, count, from_hash });
            self.released_count = self.released_count.saturating_add(count);
        }
        count
    }

    /// Tells how many jobs are carried into the next minute.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::*, precision::Lane, rate::Rate, time::Minute};
    /// let minute = Minute::from_epoch_minutes(0);
    /// let cell = Cell { lane: Lane::Exact, priority: 1, due_at: minute.start(), class: None };
    /// let waiting = [(cell.clone(), Waiting { from_hash: 0, count: 6_001 })].into();
    /// let rate = Rate::new(100, None, 0).unwrap();
    /// let plan = channel_plan(minute, &ChannelLoad { rate, waiting });
    /// assert_eq!(plan.cells[&cell].carried_count(), 1);
    /// ```
    pub const fn carried_count(&self) -> u64 {
        self.waiting.count.saturating_sub(self.released_count)
    }

    /// Tells which jobs are carried into the next minute.
    pub(super) fn carried(&self) -> Option<Waiting> {
        let count = self.carried_count();
        let from_hash = || self.waiting.hash_after(self.released_count);
        (count > 0).then(|| Waiting { from_hash: from_hash(), count })
    }

    /// Tells where the job with this hash is put.
    pub(super) fn place(&self, hash: ReleaseHash) -> Place {
        let hash = hash.value();
        if hash < self.waiting.from_hash {
            return Place::Earlier;
        }
        if self.carried().is_some_and(|carried| hash >= carried.from_hash) {
            return Place::Carried;
        }
        let after = self.releases.partition_point(|release| release.from_hash <= hash);
        let release = after.checked_sub(1).and_then(|place| self.releases.get(place));
        release.map_or(Place::Unplanned, |release| Place::At(release.at))
    }
}
