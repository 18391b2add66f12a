//! How late a plan makes its jobs, and why.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{ChannelPlan, Forward, Run};
use crate::name::ClassName;
use crate::precision::Lane;

/// How late the jobs of a class are released, in whole seconds after their due second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// How many jobs there are.
    pub count: u64,
    /// Half of them are no later than this.
    pub p50_seconds: u64,
    /// 99 of 100 are no later than this.
    pub p99_seconds: u64,
    /// None is later than this.
    pub max_seconds: u64,
}

/// What keeps a channel's jobs from being released when they are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The channel's rate: exact work is late, or there is no reserve.
    Rate,
    /// The rate less the reserve: movable work alone is late.
    Reserve,
}

/// Tells how late a channel's jobs are by class, those without a class by themselves.
///
/// ```
/// use spillway_domain::{drain_plan::*, precision::Lane, rate::Rate, time::Minute};
/// let minute = Minute::from_epoch_minutes(0);
/// let cell = Cell { lane: Lane::Exact, priority: 1, due_at: minute.start(), class: None };
/// let waiting = [(cell, Waiting { from_hash: 0, count: 3_000_000 })].into();
/// let rate = Rate::new(20_000, None, 0).unwrap();
/// let plan = channel_plan(minute, &ChannelLoad { rate, waiting });
/// let of_none = lateness(&forward(&plan, minute))[&None];
/// assert_eq!((of_none.p50_seconds, of_none.p99_seconds, of_none.max_seconds), (74, 148, 149));
/// ```
pub fn lateness(forward: &Forward<'_>) -> BTreeMap<Option<ClassName>, Lateness> {
    let mut of_class: BTreeMap<_, Vec<&Run<'_>>> = BTreeMap::new();
    for run in &forward.runs {
        of_class.entry(run.cell.class.clone()).or_default().push(run);
    }
    of_class.into_iter().map(|(class, runs)| (class, lateness_of(&runs))).collect()
}

impl Limit {
    /// Tells which limit binds; none when every job is released when it is due.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::*, precision::Lane, rate::Rate, time::Minute};
    /// let minute = Minute::from_epoch_minutes(0);
    /// let cell = Cell { lane: Lane::Movable, priority: 1, due_at: minute.start(), class: None };
    /// let waiting = [(cell, Waiting { from_hash: 0, count: 95 })].into();
    /// let rate = Rate::new(100, None, 10).unwrap();
    /// let plan = channel_plan(minute, &ChannelLoad { rate, waiting });
    /// assert_eq!(Limit::of(&plan, &forward(&plan, minute)), Some(Limit::Reserve));
    /// ```
    pub fn of(plan: &ChannelPlan, forward: &Forward<'_>) -> Option<Self> {
        let late = || forward.runs.iter().filter(|run| run.first_at > run.cell.due_at);
        let is_exact_late = late().any(|run| run.cell.lane == Lane::Exact);
        if late().next().is_none() {
            None
        } else if is_exact_late || plan.rate.reserve_per_second() == 0 {
            Some(Self::Rate)
        } else {
            Some(Self::Reserve)
        }
    }
}

fn lateness_of(runs: &[&Run<'_>]) -> Lateness {
    let count = runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.count()));
    let last = |run: &&Run<'_>| run.lateness_seconds().saturating_add(run.seconds.max(1) - 1);
    let max_seconds = runs.iter().map(last).max().unwrap_or(0);
    let share = |percent: u64| {
        let wanted = u128::from(count).saturating_mul(u128::from(percent)).div_ceil(100);
        lateness_reached(runs, wanted, max_seconds)
    };
    Lateness { count, p50_seconds: share(50), p99_seconds: share(99), max_seconds }
}

/// Tells the smallest lateness that so many jobs do not exceed, by halving.
fn lateness_reached(runs: &[&Run<'_>], wanted: u128, max_seconds: u64) -> u64 {
    let (mut low, mut high) = (0, max_seconds);
    while low < high {
        let middle = low.midpoint(high);
        let within = runs.iter().map(|run| {
            let seconds = middle.saturating_add(1).saturating_sub(run.lateness_seconds());
            u128::from(seconds.min(run.seconds)).saturating_mul(u128::from(run.per_second))
        });
        if within.sum::<u128>() >= wanted { high = middle } else { low = middle.saturating_add(1) }
    }
    low
}
