//! R10: what is overdue is released at a bounded rate.

use proptest::prelude::*;
use spillway_domain::pace::{PACE_JOBS_PER_SECOND_MAX, Pace};

use crate::arbitrary::{instant, seeded};

fn pace() -> impl Strategy<Value = Pace> {
    prop_oneof![1_u32..100, 1..=PACE_JOBS_PER_SECOND_MAX]
        .prop_filter_map("no pace", Pace::from_jobs_per_second)
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn no_second_has_more_releases_than_the_pace(
        jobs_per_second in 1_u32..300, from in instant(), counts in prop::collection::vec(1_usize..400, 1..20),
    ) {
        let pace = Pace::from_jobs_per_second(jobs_per_second).unwrap();
        let (mut begin, mut releases) = (from, Vec::new());
        for count in counts {
            releases.extend((0..count).map(|place| pace.release_at(begin, place)));
            begin = begin.plus_millis(pace.millis(count));
        }
        let allowed = usize::try_from(jobs_per_second).unwrap();
        for second in releases.chunk_by(|one, next| one == next) {
            prop_assert!(second.len() <= allowed, "{} in {:?}", second.len(), second[0]);
        }
    }

    #[test]
    fn a_reserved_time_holds_the_releases_that_it_was_reserved_for(
        pace in pace(), from in instant(), count in 1_usize..10_000,
    ) {
        let until = from.plus_millis(pace.millis(count));
        prop_assert!(pace.release_at(from, 0) >= from);
        prop_assert!(pace.release_at(from, count - 1) <= until.ceil_to_second());
    }
}
