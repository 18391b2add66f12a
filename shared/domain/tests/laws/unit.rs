//! R11: the units of a minute cover it, each shard once.

use proptest::prelude::*;
use spillway_domain::bucket::{SHARD_COUNT_MAX, ShardCount};
use spillway_domain::unit::{CHECKPOINT_JOBS, Split, UNIT_JOBS_MAX, is_checkpoint_due};

use crate::arbitrary::seeded;

fn split() -> impl Strategy<Value = Split> {
    prop_oneof![1_u16..300, Just(SHARD_COUNT_MAX)]
        .prop_flat_map(|shards| (Just(shards), 1..=shards))
        .prop_filter_map("no split", |(shards, units)| Split::new(ShardCount::new(shards)?, units))
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn the_units_cover_every_shard_once_and_in_order(split in split()) {
        let covered: Vec<_> = split.units().flat_map(|unit| split.shards_of(unit)).collect();
        prop_assert_eq!(covered, split.shards().shards().collect::<Vec<_>>());
    }

    #[test]
    fn the_units_differ_by_one_shard_at_most(split in split()) {
        let sizes: Vec<_> = split.units().map(|unit| split.shards_of(unit).count()).collect();
        let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        prop_assert!(*least >= 1 && most - least <= 1, "{sizes:?}");
    }

    #[test]
    fn a_unit_holds_a_million_jobs_unless_a_shard_alone_holds_more(
        shards in 1..=SHARD_COUNT_MAX, jobs in 0_u64..1_000_000,
    ) {
        let split = Split::estimated(jobs, ShardCount::new(shards).unwrap());
        let largest = split.units().map(|unit| split.shards_of(unit).count() as u64).max().unwrap();
        // Ranges of whole shards cannot be cut more evenly than by one shard.
        prop_assert!((largest - 1) * jobs <= UNIT_JOBS_MAX, "{largest} shards of {jobs} jobs");
    }

    #[test]
    fn checkpoints_add_a_tenth_to_the_messages_at_most(jobs in 0_u64..10_000_000, open in 0_usize..5_000) {
        if is_checkpoint_due(jobs, open) {
            prop_assert!(jobs >= CHECKPOINT_JOBS);
            prop_assert!(open as u64 * 10 <= jobs / 100);
        }
    }
}

#[test]
fn a_number_that_is_no_units_has_no_shards() {
    let split = Split::new(ShardCount::new(8).unwrap(), 3).unwrap();
    assert_eq!(split.shards_of(3).count(), 0);
    assert_eq!(split.shards_of(u16::MAX).count(), 0);
}
