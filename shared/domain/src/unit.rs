//! Staging units: the parts of a minute that runs of prefetch share out among themselves (R11).

use crate::bucket::{Shard, ShardCount};
use crate::pack::PACK_JOBS_MAX;
use crate::time::Minute;

/// About how many jobs one unit may hold. A run stages a million in some seconds, far within its
/// time; more units than that would each leave packs half filled.
pub const UNIT_JOBS_MAX: u64 = 1_000_000;
/// After how many jobs a run may send its open packs and write a checkpoint: what it stages again
/// at most when the run before it died.
pub const CHECKPOINT_JOBS: u64 = 250_000;
/// How many full packs there must be for each open one before a checkpoint: sending the open ones
/// then adds a tenth to the messages at most.
const FULL_PACKS_PER_OPEN: u64 = 10;

/// One part of a minute, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit {
    /// The minute.
    pub minute: Minute,
    /// Which part of it.
    pub number: u16,
}

/// How a minute is shared out: so many units, each a range of its shards. Written once for each
/// minute, so that every run sees the same units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    shards: ShardCount,
    units: u16,
}

impl Split {
    /// Splits a minute whose first shard holds so many jobs: shards are chosen by hash, so that one
    /// is a fair sample of all. One unit for each [`UNIT_JOBS_MAX`] jobs, and no more than shards.
    ///
    /// ```
    /// use spillway_domain::{bucket::ShardCount, unit::Split};
    /// let shards = ShardCount::new(64).unwrap();
    /// assert_eq!(Split::estimated(0, shards).units().count(), 1);
    /// assert_eq!(Split::estimated(156_250, shards).units().count(), 10); // 10,000,000 jobs
    /// ```
    pub fn estimated(first_shard_jobs: u64, shards: ShardCount) -> Self {
        let jobs = first_shard_jobs.saturating_mul(u64::from(shards.get()));
        let units = jobs.div_ceil(UNIT_JOBS_MAX).clamp(1, u64::from(shards.get()));
        Self { shards, units: u16::try_from(units).unwrap_or(1) }
    }

    /// Builds a split as it was stored; `None` without a unit, or with more units than shards.
    ///
    /// ```
    /// use spillway_domain::{bucket::ShardCount, unit::Split};
    /// let shards = ShardCount::new(8).unwrap();
    /// assert!(Split::new(shards, 8).is_some());
    /// assert_eq!((Split::new(shards, 0), Split::new(shards, 9)), (None, None));
    /// ```
    pub fn new(shards: ShardCount, units: u16) -> Option<Self> {
        (1..=shards.get()).contains(&units).then_some(Self { shards, units })
    }

    /// Tells how many shards the minute had when it was split.
    ///
    /// ```
    /// use spillway_domain::{bucket::ShardCount, unit::Split};
    /// let shards = ShardCount::new(8).unwrap();
    /// assert_eq!(Split::estimated(0, shards).shards(), shards);
    /// ```
    pub const fn shards(self) -> ShardCount {
        self.shards
    }

    /// Lists the numbers of the units, 0 first.
    ///
    /// ```
    /// use spillway_domain::{bucket::ShardCount, unit::Split};
    /// let split = Split::new(ShardCount::new(8).unwrap(), 3).unwrap();
    /// assert_eq!(split.units().collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    pub fn units(self) -> impl Iterator<Item = u16> {
        0..self.units
    }

    /// Lists the shards of a unit: the ranges follow one another, cover every shard, and differ by
    /// one shard at most. A number that is not a unit's has none.
    ///
    /// ```
    /// use spillway_domain::{bucket::ShardCount, unit::Split};
    /// let split = Split::new(ShardCount::new(8).unwrap(), 3).unwrap();
    /// let numbers = |unit| split.shards_of(unit).map(|shard| shard.number()).collect::<Vec<_>>();
    /// assert_eq!([numbers(0), numbers(1), numbers(2)], [vec![0, 1], vec![2, 3, 4], vec![5, 6, 7]]);
    /// ```
    pub fn shards_of(self, unit: u16) -> impl Iterator<Item = Shard> {
        let first_of = |unit: u16| {
            let first = u32::from(unit.min(self.units)) * u32::from(self.shards.get());
            u16::try_from(first / u32::from(self.units)).unwrap_or(self.shards.get())
        };
        (first_of(unit)..first_of(unit.saturating_add(1))).filter_map(Shard::from_number)
    }
}

/// Tells whether a run writes a checkpoint now, having staged `jobs` since the last one and holding
/// `open_packs` that it would have to send before.
///
/// ```
/// use spillway_domain::unit::is_checkpoint_due;
/// assert!(is_checkpoint_due(250_000, 240));
/// assert!(!is_checkpoint_due(249_999, 1));
/// assert!(!is_checkpoint_due(250_000, 251)); // 2,500 full packs, and 251 half-filled ones
/// ```
pub const fn is_checkpoint_due(jobs: u64, open_packs: usize) -> bool {
    let jobs_per_open = PACK_JOBS_MAX as u64 * FULL_PACKS_PER_OPEN;
    jobs >= CHECKPOINT_JOBS && jobs >= open_packs as u64 * jobs_per_open
}
