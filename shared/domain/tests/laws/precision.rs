//! R3, R4, R19: the times of a job.

use proptest::prelude::*;
use spillway_domain::precision::{Contract, Lane, times};

use crate::arbitrary::{contract, instant, job_id, seeded};

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn nothing_is_due_before_its_window_begins(
        id in job_id(), requested_at in instant(), contract in contract(),
    ) {
        let times = times(&id, requested_at, &contract);
        let early_millis = i64::from(contract.early_seconds) * 1_000;
        prop_assert!(requested_at.millis_since(times.due_at) <= early_millis);
        prop_assert_eq!(requested_at.millis_since(times.earliest_at), early_millis);
    }

    #[test]
    fn late_alone_is_never_early(
        id in job_id(), requested_at in instant(), contract in contract(),
    ) {
        let contract = Contract { early_seconds: 0, ..contract };
        prop_assert!(times(&id, requested_at, &contract).due_at >= requested_at);
    }

    #[test]
    fn the_due_time_lies_between_the_earliest_and_the_latest(
        id in job_id(), requested_at in instant(), contract in contract(),
    ) {
        let times = times(&id, requested_at, &contract);
        prop_assert!(times.earliest_at <= times.due_at && times.due_at <= times.latest_at);
    }

    #[test]
    fn the_latest_is_the_last_second_of_the_window(
        id in job_id(), requested_at in instant(), contract in contract(),
    ) {
        let beyond = requested_at.ceil_to_second().plus_seconds(contract.late_seconds.into());
        let latest_at = times(&id, requested_at, &contract).latest_at;
        let expected = if contract.late_seconds == 0 { beyond } else { beyond.plus_seconds(-1) };
        prop_assert_eq!(latest_at, expected);
    }

    #[test]
    fn the_due_time_is_a_whole_second(
        id in job_id(), requested_at in instant(), contract in contract(),
    ) {
        prop_assert_eq!(times(&id, requested_at, &contract).due_at.as_millis() % 1_000, 0);
    }

    #[test]
    fn an_exact_job_is_due_in_the_first_whole_second_from_its_request(
        id in job_id(), requested_at in instant(),
    ) {
        let times = times(&id, requested_at, &Contract::EXACT);
        prop_assert_eq!(times.due_at, requested_at.ceil_to_second());
        prop_assert_eq!(times.latest_at, times.due_at);
        prop_assert_eq!(times.earliest_at, requested_at);
    }

    #[test]
    fn a_contract_that_can_be_kept_expires_after_its_last_due_time(
        id in job_id(), requested_at in instant(), contract in contract(),
    ) {
        prop_assert!(contract.problems().is_empty());
        let times = times(&id, requested_at, &contract);
        prop_assert!(times.expires_at.is_none_or(|expires_at| expires_at > times.due_at));
    }

    #[test]
    fn requests_within_one_second_are_due_together(
        id in job_id(), second in 1_i64..1_000_000, millis in 0_i64..1_000, contract in contract(),
    ) {
        let whole = spillway_domain::time::Instant::from_millis(second * 1_000);
        let due_at = |requested_at| times(&id, requested_at, &contract).due_at;
        prop_assert_eq!(due_at(whole.plus_millis(-millis)), due_at(whole));
    }

    #[test]
    fn only_a_job_without_any_window_is_exact(contract in contract()) {
        let may_move = contract.early_seconds > 0 || contract.late_seconds > 0;
        prop_assert_eq!(contract.lane() == Lane::Movable, may_move);
    }
}
