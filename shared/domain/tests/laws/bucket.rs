//! The keys of the index, and the shard counts in force.

use proptest::prelude::*;
use spillway_domain::bucket::{Bucket, SHARD_COUNT_MAX, ShardCount, ShardCounts, grown};
use spillway_domain::time::{Instant, Minute};

use crate::arbitrary::{instant, job_id, minute, seeded, shard_count};

fn bucket() -> impl Strategy<Value = Bucket> {
    (job_id(), minute(), shard_count())
        .prop_map(|(id, minute, count)| Bucket::of(&id, minute, count))
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn a_key_is_read_back_as_its_bucket(bucket in bucket()) {
        prop_assert_eq!(Bucket::parse(&bucket.to_string()), Some(bucket));
    }

    #[test]
    fn keys_sort_as_their_buckets(one in bucket(), other in bucket(), by in -3_i64..=3) {
        let near = Bucket { minute: one.minute.plus(by), ..other };
        for other in [other, near] {
            let in_range = other.minute >= Minute::from_epoch_minutes(0);
            prop_assert!(!in_range || one.cmp(&other) == one.to_string().cmp(&other.to_string()));
        }
    }

    #[test]
    fn a_shard_is_one_that_readers_enumerate(id in job_id(), at in minute(), count in shard_count()) {
        let shard = Bucket::of(&id, at, count).shard;
        prop_assert!(count.shards().any(|enumerated| enumerated == shard));
    }

    #[test]
    fn no_other_text_is_a_key(text in "\\PC{0,24}") {
        prop_assert!(Bucket::parse(&text).is_none_or(|bucket| bucket.to_string() == text));
    }

    #[test]
    fn a_key_with_its_shard_written_otherwise_is_none(minute in minute(), number in 0_u16..1_000) {
        for shard in [format!("{number}"), format!("0{number:04}"), format!("+{number:03}")] {
            prop_assert_eq!(Bucket::parse(&format!("{minute}#{shard}")), None, "{}", shard);
        }
        prop_assert_eq!(Bucket::parse(&format!("{minute}{number:04}")), None);
    }

    #[test]
    fn shard_counts_never_fall_and_writers_never_pass_readers(
        wanted in prop::collection::vec((shard_count(), 0_i64..200), 1..20),
        begin in instant(),
    ) {
        let mut stored: Option<ShardCounts> = None;
        let mut now = begin;
        for (wanted, seconds) in wanted {
            now = now.plus_seconds(seconds);
            let Some(next) = grown(stored, wanted, now) else { continue };
            prop_assert!(next.writers <= next.readers);
            if let Some(before) = stored {
                prop_assert!(next.readers >= before.readers && next.writers >= before.writers);
                prop_assert!(next.writers <= before.readers, "a new shard is read before it is written");
            }
            stored = Some(next);
        }
    }

    #[test]
    fn writers_follow_two_minutes_after_the_readers(
        few in 1_u16..100,
        more in 100_u16..200,
        waited_millis in 0_i64..240_000,
    ) {
        let count = |number| ShardCount::new(number).unwrap();
        let raised_at = Instant::from_millis(0);
        let first = grown(None, count(few), raised_at);
        let raised = grown(first, count(more), raised_at).unwrap();
        let later = grown(Some(raised), count(more), raised_at.plus_millis(waited_millis));
        prop_assert_eq!(later.is_some(), waited_millis >= 120_000);
        prop_assert!(later.is_none_or(|counts| counts.writers == count(more)));
    }
}

#[test]
fn the_shards_of_the_largest_count_are_all_written_with_four_digits() {
    let minute = Minute::from_epoch_minutes(0);
    let last = ShardCount::new(SHARD_COUNT_MAX).unwrap().shards().last().unwrap();
    let bucket = Bucket { minute, shard: last };
    assert_eq!(bucket.to_string(), "1970-01-01T00:00Z#9999");
    assert_eq!(Bucket::parse("1970-01-01T00:00Z#9999"), Some(bucket));
    assert_eq!(ShardCount::new(SHARD_COUNT_MAX + 1), None);
}
