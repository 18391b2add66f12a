//! The fixed offset, the shard and the release order that a job's id gives it (R1, R5).
//!
//! Three independent hashes of one id: XXH3 (64 bit) with seeds 0, 1 and 2. Were the shard taken
//! from the bits of the offset, the jobs of one second would fill only a few shards.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::bucket::{Shard, ShardCount};
use crate::name::JobId;

const SHARD_SEED: u64 = 1;
const RELEASE_ORDER_SEED: u64 = 2;

/// Gives the offset that the id has inside its window, in seconds: `-early ..= late - 1`, and 0
/// when both are 0.
///
/// ```
/// use spillway_domain::{jitter::offset_seconds, name::JobId};
/// let id = JobId::new("birthday:42:2026").unwrap();
/// assert_eq!(offset_seconds(&id, 0, 60), 39);
/// assert_eq!(offset_seconds(&id, 0, 0), 0);
/// ```
pub fn offset_seconds(id: &JobId, early_seconds: u32, late_seconds: u32) -> i64 {
    let window = u64::from(early_seconds) + u64::from(late_seconds);
    if window == 0 {
        return 0;
    }
    let place = xxh3_64(id.as_str().as_bytes()) % window;
    // A window is at most 2 × 86,400 s, so that the place always fits.
    i64::try_from(place).unwrap_or(i64::MAX) - i64::from(early_seconds)
}

/// Gives the shard of a minute that the id is kept in.
///
/// ```
/// use spillway_domain::{bucket::ShardCount, jitter::shard, name::JobId};
/// let id = JobId::new("birthday:42:2026").unwrap();
/// assert_eq!(shard(&id, ShardCount::new(64).unwrap()).number(), 31);
/// ```
pub fn shard(id: &JobId, count: ShardCount) -> Shard {
    Shard::from_hash(xxh3_64_with_seed(id.as_str().as_bytes(), SHARD_SEED), count)
}

/// The place of a job among those that are equal in all else: the smaller is released first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseHash(u64);

impl ReleaseHash {
    /// Gives the release hash of an id.
    ///
    /// ```
    /// use spillway_domain::{jitter::ReleaseHash, name::JobId};
    /// let hash = ReleaseHash::of(&JobId::new("birthday:42:2026").unwrap());
    /// assert_eq!(hash.value(), 1_637_862_140_701_687_455);
    /// ```
    pub fn of(id: &JobId) -> Self {
        Self(xxh3_64_with_seed(id.as_str().as_bytes(), RELEASE_ORDER_SEED))
    }

    /// Tells the hash as a number.
    ///
    /// ```
    /// use spillway_domain::{jitter::ReleaseHash, name::JobId};
    /// let id = JobId::new("a").unwrap();
    /// assert_eq!(ReleaseHash::of(&id).value(), ReleaseHash::of(&id).value());
    /// ```
    pub const fn value(self) -> u64 {
        self.0
    }
}
