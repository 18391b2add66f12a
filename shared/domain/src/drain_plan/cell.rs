//! What a plan counts jobs by.

use alloc::collections::BTreeMap;

use crate::name::{ChannelName, ClassName};
use crate::pack::DueJob;
use crate::precision::Lane;
use crate::rate::Rate;
use crate::time::{Instant, Minute};

/// The jobs of one channel that only their release hashes tell apart. Cells are in the order in
/// which they are released: lane, priority, due second, class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The lane, the exact one first.
    pub lane: Lane,
    /// 0 first, 9 last.
    pub priority: u8,
    /// The whole second at which they are due. It lies in the minute that they wait in, so that the
    /// cells of two minutes are never the same.
    pub due_at: Instant,
    /// Their class, if they have one.
    pub class: Option<ClassName>,
}

impl Cell {
    /// Tells the cell of a job that waits in a bucket of the minute `waits_in`: the second of its
    /// release, or the nearest one of that minute when it lies outside.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::Cell, job::Generation, name::*, pack::*, precision::Lane};
    /// use spillway_domain::time::{Instant, Minute};
    /// # let channel = ChannelName::new("sms").unwrap();
    /// # let entry = PackEntry {
    /// #     job_id: JobId::new("a").unwrap(),
    /// #     generation: Generation::from_number(1),
    /// # };
    /// let release_at = Instant::from_millis(61_250);
    /// let key = PackKey { release_at, channel, lane: Lane::Exact };
    /// let job = DueJob { key, entry, class: None, priority: 1 };
    /// let due_at = |minute| Cell::of(&job, Minute::from_epoch_minutes(minute)).due_at.as_millis();
    /// assert_eq!([due_at(0), due_at(1), due_at(2)], [59_000, 61_000, 120_000]);
    /// ```
    pub fn of(job: &DueJob, waits_in: Minute) -> Self {
        let release_at = job.key.release_at.max(waits_in.start());
        let into_millis = release_at.min(waits_in.end().plus_millis(-1));
        let seconds = into_millis.millis_since(waits_in.start()) / 1_000;
        Self {
            lane: job.key.lane,
            priority: job.priority,
            due_at: waits_in.start().plus_seconds(seconds),
            class: job.class.clone(),
        }
    }
}

/// The jobs of a cell that are still to be released: those whose release hash is not below
/// `from_hash`, `count` when they were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The lowest release hash among them; 0 when all of the cell's jobs are.
    pub from_hash: u64,
    /// How many they are.
    pub count: u64,
}

impl Waiting {
    /// Tells from which hash on those of the jobs wait that are not among the first `count`: hashes
    /// are spread evenly, so that each share of the jobs has the same share of the range.
    pub(super) fn hash_after(self, count: u64) -> u64 {
        const HASHES: u128 = 1 << 64;
        let range = HASHES.saturating_sub(u128::from(self.from_hash));
        // At most 2^64 × 2^64 − 2^64, which fits.
        let passed = range.saturating_mul(u128::from(count)) / u128::from(self.count.max(1));
        let from_hash = passed.saturating_add(u128::from(self.from_hash));
        u64::try_from(from_hash).unwrap_or(u64::MAX)
    }
}

/// What a channel has to release, and its rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelLoad {
    /// How many jobs it takes.
    pub rate: Rate,
    /// Its cells, in the order of release.
    pub waiting: BTreeMap<Cell, Waiting>,
}

/// What channels have to release.
pub type Loads = BTreeMap<ChannelName, ChannelLoad>;

/// The jobs of a minute, counted by channel and cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(BTreeMap<ChannelName, BTreeMap<Cell, u64>>);

impl Histogram {
    /// Counts jobs of a cell.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::*, name::ChannelName, precision::Lane, time::Instant};
    /// let due_at = Instant::from_millis(0);
    /// let cell = Cell { lane: Lane::Exact, priority: 1, due_at, class: None };
    /// let mut histogram = Histogram::default();
    /// histogram.add(&ChannelName::new("sms").unwrap(), cell, 3);
    /// assert_eq!(histogram.job_count(), 3);
    /// ```
    pub fn add(&mut self, channel: &ChannelName, cell: Cell, count: u64) {
        if !self.0.contains_key(channel) {
            self.0.insert(channel.clone(), BTreeMap::new());
        }
        let Some(cells) = self.0.get_mut(channel).filter(|_| count > 0) else { return };
        let counted = cells.entry(cell).or_default();
        *counted = counted.saturating_add(count);
    }

    /// Adds what another part of the minute holds.
    ///
    /// ```
    /// use spillway_domain::drain_plan::Histogram;
    /// let mut histogram = Histogram::default();
    /// histogram.add_all(Histogram::default());
    /// assert_eq!(histogram.job_count(), 0);
    /// ```
    pub fn add_all(&mut self, other: Self) {
        for (channel, cells) in other.0 {
            for (cell, count) in cells {
                self.add(&channel, cell, count);
            }
        }
    }

    /// Tells how many jobs were counted.
    ///
    /// ```
    /// assert_eq!(spillway_domain::drain_plan::Histogram::default().job_count(), 0);
    /// ```
    pub fn job_count(&self) -> u64 {
        let counts = self.0.values().flat_map(BTreeMap::values);
        counts.fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Lists the channels with their cells.
    pub(super) fn into_channels(self) -> BTreeMap<ChannelName, BTreeMap<Cell, u64>> {
        self.0
    }
}
