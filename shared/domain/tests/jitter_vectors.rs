//! The vectors that another implementation of XXH3 computed: every row must come out the same.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use spillway_domain::bucket::ShardCount;
use spillway_domain::jitter::{ReleaseHash, offset_seconds, shard};
use spillway_domain::name::JobId;

const VECTORS: &str = include_str!("data/jitter-vectors.csv");
const HEADER: &str =
    "job_id,early_seconds,late_seconds,offset_seconds,shard_count,shard,release_hash";

struct Vector {
    id: JobId,
    early_seconds: u32,
    late_seconds: u32,
    offset_seconds: i64,
    shard_count: ShardCount,
    shard: u16,
    release_hash: u64,
}

fn vector(row: &str) -> Vector {
    let fields: Vec<_> = row.split(',').collect();
    let [id, early, late, offset, count, shard, hash] = fields[..] else {
        panic!("not seven fields: {row}");
    };
    Vector {
        id: JobId::new(id).unwrap(),
        early_seconds: early.parse().unwrap(),
        late_seconds: late.parse().unwrap(),
        offset_seconds: offset.parse().unwrap(),
        shard_count: ShardCount::new(count.parse().unwrap()).unwrap(),
        shard: shard.parse().unwrap(),
        release_hash: hash.parse().unwrap(),
    }
}

fn vectors() -> Vec<Vector> {
    let mut rows = VECTORS.lines();
    assert_eq!(rows.next(), Some(HEADER));
    rows.map(vector).collect()
}

#[test]
fn the_file_of_vectors_is_whole() {
    assert_eq!(vectors().len(), 210);
}

#[test]
fn every_offset_is_the_vectors() {
    for vector in vectors() {
        let offset = offset_seconds(&vector.id, vector.early_seconds, vector.late_seconds);
        assert_eq!(offset, vector.offset_seconds, "{}", vector.id);
    }
}

#[test]
fn every_shard_is_the_vectors() {
    for vector in vectors() {
        assert_eq!(shard(&vector.id, vector.shard_count).number(), vector.shard, "{}", vector.id);
    }
}

#[test]
fn every_release_hash_is_the_vectors() {
    for vector in vectors() {
        assert_eq!(ReleaseHash::of(&vector.id).value(), vector.release_hash, "{}", vector.id);
    }
}
