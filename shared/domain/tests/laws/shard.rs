//! R5: the jobs of one second spread over all shards.
//!
//! With N jobs in k shards of equal chance, the statistic Σ (seen − N/k)² ÷ (N/k) follows the
//! chi-square distribution of d = k − 1 degrees of freedom. Its tail is bounded (Laurent and
//! Massart) by P(X ≥ d + 2√(d·x) + 2x) ≤ e^−x. With x = ln 10⁶ a fair choice of shards exceeds the
//! bound once in a million families of ids: d = 63 gives 63 + 2 × 29.5 + 2 × 13.8 = 149.6. The ids
//! here are fixed, and so is the outcome.

use spillway_domain::bucket::ShardCount;
use spillway_domain::jitter::{ReleaseHash, offset_seconds, shard};
use spillway_domain::name::JobId;
use xxhash_rust::xxh3::xxh3_64;

const SHARDS: usize = 64;
const IDS: usize = 100_000;

fn bound(classes: usize) -> f64 {
    let (degrees, x) = (count(classes - 1), 1e6_f64.ln());
    degrees + 2.0 * (degrees * x).sqrt() + 2.0 * x
}

fn statistic(classes: usize, places: impl Iterator<Item = usize>) -> f64 {
    let mut seen = vec![0_usize; classes];
    places.for_each(|place| seen[place] += 1);
    let expected = count(seen.iter().sum()) / count(classes);
    seen.iter().map(|seen| (count(*seen) - expected).powi(2) / expected).sum()
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}

fn shard_of(id: &JobId) -> usize {
    let shards = ShardCount::new(u16::try_from(SHARDS).unwrap()).unwrap();
    usize::from(shard(id, shards).number())
}

/// The mistake: a shard from the hash that the offset came from.
fn shard_from_the_offsets_hash(id: &JobId) -> usize {
    usize::try_from(xxh3_64(id.as_str().as_bytes())).unwrap() % SHARDS
}

fn sequential_ids() -> impl Iterator<Item = JobId> {
    (0..).map(|n| JobId::new(format!("job-{n}")).unwrap())
}

/// The first of the sequential ids whose offset in a window of `late_seconds` is 3: movable jobs
/// of one requested second that are all due in the same second.
fn ids_of_one_due_second(late_seconds: u32) -> impl Iterator<Item = JobId> {
    sequential_ids().filter(move |id| offset_seconds(id, 0, late_seconds) == 3).take(IDS)
}

#[test]
fn exact_jobs_of_one_second_fill_all_shards_evenly() {
    let spread = statistic(SHARDS, sequential_ids().take(IDS).map(|id| shard_of(&id)));
    assert!(spread < bound(SHARDS), "{spread}");
}

#[test]
fn movable_jobs_of_one_due_second_fill_all_shards_evenly() {
    for late_seconds in [4, 12] {
        let ids = ids_of_one_due_second(late_seconds);
        let spread = statistic(SHARDS, ids.map(|id| shard_of(&id)));
        assert!(spread < bound(SHARDS), "window of {late_seconds} s: {spread}");
    }
}

/// 60 and 64 share a factor 4: jobs of one due second would fill 16 of 64 shards, and the
/// statistic would be N × (64 ÷ 16 − 1) = 3 N.
#[test]
fn a_shard_from_the_offsets_own_hash_would_leave_most_shards_empty() {
    let ids: Vec<_> =
        sequential_ids().take(IDS).filter(|id| offset_seconds(id, 0, 60) == 3).collect();
    let spread = |shard: fn(&JobId) -> usize| statistic(SHARDS, ids.iter().map(shard));
    assert!(spread(shard_from_the_offsets_hash) > 3.0 * count(ids.len()) - 1.0);
    assert!(spread(shard_of) < bound(SHARDS));
}

#[test]
fn the_release_order_does_not_follow_the_shard() {
    let ids = sequential_ids().filter(|id| shard_of(id) == 5).take(10_000);
    let sixteenth = |id: JobId| usize::try_from(ReleaseHash::of(&id).value() >> 60).unwrap();
    let spread = statistic(16, ids.map(sixteenth));
    assert!(spread < bound(16), "{spread}");
}
