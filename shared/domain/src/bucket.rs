//! Buckets: the keys of the due-minute index.

use core::fmt;

use crate::jitter;
use crate::name::JobId;
use crate::time::{Instant, Minute};

/// The most shards that a minute may have: what four digits of a bucket's key can tell apart.
pub const SHARD_COUNT_MAX: u16 = 10_000;

/// How many shards a minute has, 1 to [`SHARD_COUNT_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardCount(u16);

impl ShardCount {
    /// Checks a count; `None` when it is 0 or above [`SHARD_COUNT_MAX`].
    ///
    /// ```
    /// use spillway_domain::bucket::ShardCount;
    /// assert_eq!(ShardCount::new(64).unwrap().get(), 64);
    /// assert_eq!(ShardCount::new(0), None);
    /// ```
    pub const fn new(count: u16) -> Option<Self> {
        if count == 0 || count > SHARD_COUNT_MAX { None } else { Some(Self(count)) }
    }

    /// Tells the count.
    ///
    /// ```
    /// # use spillway_domain::bucket::ShardCount;
    /// assert_eq!(ShardCount::new(8).unwrap().get(), 8);
    /// ```
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Lists the shards, 0 first.
    ///
    /// ```
    /// # use spillway_domain::bucket::ShardCount;
    /// assert_eq!(ShardCount::new(8).unwrap().shards().count(), 8);
    /// ```
    pub fn shards(self) -> impl Iterator<Item = Shard> {
        (0..self.0).map(Shard)
    }
}

/// One part of a minute, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(u16);

impl Shard {
    /// Gives the shard of this number; `None` from [`SHARD_COUNT_MAX`] on.
    ///
    /// ```
    /// # use spillway_domain::bucket::Shard;
    /// assert_eq!(Shard::from_number(7).unwrap().number(), 7);
    /// assert_eq!(Shard::from_number(10_000), None);
    /// ```
    pub const fn from_number(number: u16) -> Option<Self> {
        if number < SHARD_COUNT_MAX { Some(Self(number)) } else { None }
    }

    /// Tells the shard's number.
    ///
    /// ```
    /// # use spillway_domain::bucket::ShardCount;
    /// assert_eq!(ShardCount::new(2).unwrap().shards().last().unwrap().number(), 1);
    /// ```
    pub const fn number(self) -> u16 {
        self.0
    }

    pub(crate) fn from_hash(hash: u64, count: ShardCount) -> Self {
        // The remainder is below a u16.
        Self(u16::try_from(hash % u64::from(count.0)).unwrap_or(0))
    }
}

/// A due minute and a shard of it; written `2026-12-01T09:00Z#0007`, so that keys sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    /// The minute of the next expected release.
    pub minute: Minute,
    /// The part of the minute.
    pub shard: Shard,
}

impl Bucket {
    /// Gives the bucket of a job in a minute.
    ///
    /// ```
    /// use spillway_domain::{bucket::{Bucket, ShardCount}, name::JobId, time::Minute};
    /// let minute = Minute::parse("2026-12-01T09:00Z").unwrap();
    /// let id = JobId::new("birthday:42:2026").unwrap();
    /// let bucket = Bucket::of(&id, minute, ShardCount::new(64).unwrap());
    /// assert_eq!(bucket.to_string(), "2026-12-01T09:00Z#0031");
    /// ```
    pub fn of(id: &JobId, minute: Minute, count: ShardCount) -> Self {
        Self { minute, shard: jitter::shard(id, count) }
    }

    /// Reads a bucket's key; anything that is not one is `None`.
    ///
    /// ```
    /// use spillway_domain::bucket::Bucket;
    /// assert_eq!(Bucket::parse("2026-12-01T09:00Z#0007").unwrap().shard.number(), 7);
    /// assert_eq!(Bucket::parse("2026-12-01T09:00Z#7"), None);
    /// ```
    pub fn parse(key: &str) -> Option<Self> {
        let (minute, shard) = key.split_once('#')?;
        let is_written_well = shard.len() == 4 && shard.bytes().all(|byte| byte.is_ascii_digit());
        let number = if is_written_well {
            shard.parse().ok()?
        } else {
            return None;
        };
        Some(Self { minute: Minute::parse(minute)?, shard: Shard(number) })
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{:04}", self.minute, self.shard.0)
    }
}

/// How long after the readers the writers follow to a higher count, in seconds: twice the longest
/// age of a writer's settings, so that no reader misses a new shard.
pub const WRITERS_FOLLOW_SECONDS: i64 = 120;

/// The shard counts in force: they only grow, the readers' first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardCounts {
    /// The highest count that there ever was: what staging reads.
    pub readers: ShardCount,
    /// The count that new buckets are chosen by; at most the readers'.
    pub writers: ShardCount,
    /// When the readers' count was last raised.
    pub raised_at: Instant,
}

/// Gives the counts to store so that `wanted` comes into force; `None` when nothing changes. A
/// lower count than the stored one is not followed: jobs may wait in the shards above it.
///
/// ```
/// use spillway_domain::{bucket::{grown, ShardCount}, time::Instant};
/// let (eight, many) = (ShardCount::new(8).unwrap(), ShardCount::new(64).unwrap());
/// let first = grown(None, eight, Instant::from_millis(0)).unwrap();
/// let raised = grown(Some(first), many, Instant::from_millis(0)).unwrap();
/// assert_eq!((raised.readers, raised.writers), (many, eight));
/// assert_eq!(grown(Some(raised), many, Instant::from_millis(119_999)), None);
/// let settled = grown(Some(raised), many, Instant::from_millis(120_000)).unwrap();
/// assert_eq!(settled.writers, many);
/// assert_eq!(grown(Some(settled), eight, Instant::from_millis(120_000)), None);
/// ```
pub fn grown(stored: Option<ShardCounts>, wanted: ShardCount, now: Instant) -> Option<ShardCounts> {
    let Some(counts) = stored else {
        return Some(ShardCounts { readers: wanted, writers: wanted, raised_at: now });
    };
    if wanted > counts.readers {
        return Some(ShardCounts { readers: wanted, raised_at: now, ..counts });
    }
    let readers_know = counts.raised_at.plus_seconds(WRITERS_FOLLOW_SECONDS) <= now;
    (counts.writers < counts.readers && readers_know)
        .then_some(ShardCounts { writers: counts.readers, ..counts })
}
