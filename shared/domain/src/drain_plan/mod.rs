//! The drain plan: which job is released in which second when a channel gets more jobs than its
//! rate (R14).
//!
//! Jobs are counted by [`Cell`]. [`channel_plan`] gives the cells of a minute their release seconds,
//! second by second: the exact lane first, then by priority, then by due second. What does not fit
//! into its minute is carried into the next one. The jobs of a cell share its releases by ranges of
//! their release hash, so that a job finds its second from its cell and its hash alone, whichever
//! other jobs are still there ([`place`](DrainPlan::place)).
//!
//! A [`PlanRecord`] holds what a minute's plan is computed from. It is stored once; whoever needs
//! the plan computes it from there.

mod cell;
mod channel;
mod forward;
mod lateness;
mod record;
mod text;

use alloc::collections::BTreeMap;

pub use cell::{Cell, ChannelLoad, Histogram, Loads, Waiting};
pub use channel::{CellPlan, ChannelPlan, Release, channel_plan};
pub use forward::{Forward, Run, forward};
pub use lateness::{Lateness, Limit, lateness};
pub use record::{PlanRecord, RECORD_BYTES_MAX};

use crate::jitter::ReleaseHash;
use crate::name::ChannelName;
use crate::pack::DueJob;
use crate::time::{Instant, Minute};

/// Which job of a minute is released in which second, and which are carried into the next minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainPlan {
    /// The minute that its releases lie in.
    pub minute: Minute,
    /// The channels that have more jobs than their rate. Jobs of all others are released when they
    /// are due.
    pub channels: BTreeMap<ChannelName, ChannelPlan>,
}

/// Where a plan puts a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is released at the instant, which lies in the plan's minute.
    At(Instant),
    /// It is carried into the next minute.
    Carried,
    /// It is none of this plan's jobs: the plan of an earlier minute released it.
    Earlier,
    /// The plan has no cell for it: it is released when it is due, and the limiter orders it.
    Unplanned,
}

/// Computes the plan of a minute from its record.
///
/// ```
/// use spillway_domain::{drain_plan::*, time::Minute};
/// let plan = drain_plan(&PlanRecord::empty(Minute::from_epoch_minutes(0)));
/// assert!(plan.channels.is_empty());
/// ```
pub fn drain_plan(record: &PlanRecord) -> DrainPlan {
    let channels = record.channels.iter();
    let channels = channels.map(|(name, load)| (name.clone(), channel_plan(record.minute, load)));
    DrainPlan { minute: record.minute, channels: channels.collect() }
}

impl DrainPlan {
    /// Tells where a job is put that waits in a bucket of the minute `waits_in`. The answer depends
    /// on the job's cell and hash alone.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::*, job::Generation, name::*, pack::*, precision::Lane};
    /// use spillway_domain::{rate::Rate, time::Minute};
    /// let minute = Minute::from_epoch_minutes(0);
    /// let channel = ChannelName::new("sms").unwrap();
    /// let job = DueJob {
    ///     key: PackKey { release_at: minute.start(), channel: channel.clone(), lane: Lane::Exact },
    ///     entry: PackEntry {
    ///         job_id: JobId::new("a").unwrap(),
    ///         generation: Generation::from_number(1),
    ///     },
    ///     class: None,
    ///     priority: 1,
    /// };
    /// let waiting = Waiting { from_hash: 0, count: 1 };
    /// let load = ChannelLoad {
    ///     rate: Rate::new(1, None, 0).unwrap(),
    ///     waiting: [(Cell::of(&job, minute), waiting)].into(),
    /// };
    /// let plan = DrainPlan { minute, channels: [(channel, channel_plan(minute, &load))].into() };
    /// assert_eq!(plan.place(&job, minute), Place::At(minute.start()));
    /// ```
    pub fn place(&self, job: &DueJob, waits_in: Minute) -> Place {
        let Some(channel) = self.channels.get(&job.key.channel) else { return Place::Unplanned };
        let Some(cell) = channel.cells.get(&Cell::of(job, waits_in)) else {
            return Place::Unplanned;
        };
        match cell.place(ReleaseHash::of(&job.entry.job_id)) {
            Place::At(at) => Place::At(at.max(job.key.release_at)),
            other => other,
        }
    }

    /// Lists what is carried into the next minute, each channel with the rate that was planned with.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::*, time::Minute};
    /// let plan = drain_plan(&PlanRecord::empty(Minute::from_epoch_minutes(0)));
    /// assert!(plan.carried().is_empty());
    /// ```
    pub fn carried(&self) -> Loads {
        let loads = self.channels.iter().map(|(name, channel)| (name.clone(), channel.carried()));
        loads.filter(|(_, load)| !load.waiting.is_empty()).collect()
    }
}
