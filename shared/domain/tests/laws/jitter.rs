//! R1: the offset.

use proptest::prelude::*;
use spillway_domain::jitter::offset_seconds;
use spillway_domain::name::JobId;

use crate::arbitrary::{contract, job_id, seeded};

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn the_offset_lies_inside_its_window(id in job_id(), contract in contract()) {
        let (early, late) = (contract.early_seconds, contract.late_seconds);
        let offset = offset_seconds(&id, early, late);
        if early + late == 0 {
            prop_assert_eq!(offset, 0);
        } else {
            prop_assert!((-i64::from(early)..i64::from(late)).contains(&offset), "{}", offset);
        }
    }

    #[test]
    fn the_same_id_has_the_same_offset_whenever_it_is_asked(id in job_id(), contract in contract()) {
        let (early, late) = (contract.early_seconds, contract.late_seconds);
        let again = JobId::new(id.as_str().to_owned()).unwrap();
        prop_assert_eq!(offset_seconds(&id, early, late), offset_seconds(&again, early, late));
    }

    #[test]
    fn a_window_moved_earlier_moves_the_offset_by_as_much(id in job_id(), contract in contract()) {
        let (early, late) = (contract.early_seconds, contract.late_seconds);
        let moved = offset_seconds(&id, early + late, 0);
        prop_assert_eq!(moved, offset_seconds(&id, early, late) - i64::from(late));
    }
}

#[test]
fn every_second_of_a_window_is_taken_by_some_id() {
    let ids = (0..2_000).map(|n| JobId::new(format!("job-{n}")).unwrap());
    let mut taken: Vec<_> = ids.map(|id| offset_seconds(&id, 10, 20)).collect();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken, (-10..20).collect::<Vec<_>>());
}
