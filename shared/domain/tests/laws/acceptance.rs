//! R6, R7: what a call changes, given any stored row.

use proptest::prelude::*;
use spillway_domain::acceptance::{
    Acceptance, Cancellation, OnDifference, Refusal, Submission, acceptance, cancellation,
};
use spillway_domain::job::{Job, State};
use spillway_domain::name::JobId;
use spillway_domain::precision::Contract;
use spillway_domain::problem::FieldProblem;
use spillway_domain::spec::{JobSpec, Payload};
use spillway_domain::time::Instant;

use crate::arbitrary::{contract, seeded, spec, stored_job};
use crate::samples::shards;

/// Within the bounds of time for every spec of these laws.
const NOW: Instant = Instant::from_millis(3_000_000);

fn submission(spec: JobSpec, contract: Contract) -> Submission {
    Submission {
        id: JobId::new("a").unwrap(),
        spec,
        contract: Ok(contract),
        rendered: None,
        on_difference: OnDifference::Reschedule,
    }
}

fn accept(submission: &Submission, stored: Option<&Job>) -> Acceptance {
    acceptance(submission, stored, NOW, shards())
}

fn reschedules_at(stored: &Job, spec: JobSpec, contract: Contract, now: Instant) -> Option<Job> {
    match acceptance(&submission(spec, contract), Some(stored), now, shards()) {
        Acceptance::Reschedule { job, seen } => {
            assert_eq!(seen, stored.generation);
            Some(*job)
        }
        _ => None,
    }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn unchanged_is_answered_exactly_when_the_specs_are_equal(
        stored in stored_job(), spec in spec(), contract in contract(),
    ) {
        let answer = accept(&submission(spec.clone(), contract), Some(&stored));
        let is_unchanged = answer == Acceptance::Unchanged(Box::new(stored.clone()));
        prop_assert_eq!(is_unchanged, stored.spec == spec);
    }

    #[test]
    fn a_replay_is_unchanged_at_any_time_and_under_any_policy(
        stored in stored_job(), now in any::<i64>(), is_key in any::<bool>(),
    ) {
        let on_difference = if is_key { OnDifference::Refuse } else { OnDifference::Reschedule };
        let contract = Err(vec![FieldProblem::new("class", "is gone")]);
        let (id, spec) = (stored.id.clone(), stored.spec.clone());
        let rendered = Some(spec.payload.clone());
        let replay = Submission { id, spec, contract, rendered, on_difference };
        let answer = acceptance(&replay, Some(&stored), Instant::from_millis(now), shards());
        prop_assert_eq!(answer, Acceptance::Unchanged(Box::new(stored)));
    }

    #[test]
    fn only_a_waiting_job_that_was_surely_not_sent_takes_another_spec(
        stored in stored_job(), spec in spec(), contract in contract(),
    ) {
        prop_assume!(spec != stored.spec);
        let row = Box::new(stored.clone());
        match accept(&submission(spec, contract), Some(&stored)) {
            Acceptance::Reschedule { .. } => {
                prop_assert!(stored.state == State::Scheduled && !stored.maybe_sent);
            }
            Acceptance::Refuse(Refusal::MaybeSent(answered)) => {
                prop_assert!(stored.state == State::Scheduled && stored.maybe_sent);
                prop_assert_eq!(answered, row);
            }
            Acceptance::Refuse(Refusal::TooLate(answered)) => {
                prop_assert!(stored.state != State::Scheduled);
                prop_assert_eq!(answered, row);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn a_reschedule_begins_a_larger_generation_and_keeps_what_belongs_to_the_id(
        stored in stored_job(), spec in spec(), contract in contract(),
        now in 0_i64..=3_660_000,
    ) {
        let now = Instant::from_millis(now);
        let Some(next) = reschedules_at(&stored, spec.clone(), contract, now) else { return Ok(()) };
        prop_assert!(next.generation > stored.generation);
        prop_assert!(next.generation.number() >= now.as_millis());
        prop_assert!(next.latest_at_max >= stored.latest_at_max);
        prop_assert!(next.latest_at_max >= next.times().latest_at);
        prop_assert_eq!(&next.id, &stored.id);
        prop_assert_eq!(next.created_at, stored.created_at);
        prop_assert_eq!((&next.spec, next.contract), (&spec, contract));
    }

    #[test]
    fn a_rescheduled_job_waits_like_a_new_one(
        stored in stored_job(), spec in spec(), contract in contract(),
    ) {
        let Some(next) = reschedules_at(&stored, spec.clone(), contract, NOW) else { return Ok(()) };
        let new = Job::accepted(stored.id.clone(), spec, contract, NOW, shards());
        let (generation, created_at) = (next.generation, next.created_at);
        let expected = Job { generation, created_at, latest_at_max: next.latest_at_max, ..new };
        prop_assert_eq!(next, expected);
    }

    #[test]
    fn what_the_template_made_is_kept_with_the_payload_as_it_was_asked(
        stored in prop::option::of(stored_job()), spec in spec(), contract in contract(),
        is_templated in any::<bool>(),
    ) {
        let rendered = is_templated.then(|| Payload::from_canonical_json("[1]").unwrap());
        let submission = Submission {
            rendered: rendered.clone(), ..submission(spec.clone(), contract)
        };
        let (Acceptance::Create(job) | Acceptance::Reschedule { job, .. }) =
            accept(&submission, stored.as_ref()) else { return Ok(()) };
        prop_assert_eq!(job.payload_to_send(), rendered.as_ref().unwrap_or(&spec.payload));
        prop_assert_eq!(&job.spec.payload, &spec.payload);
    }

    #[test]
    fn a_key_that_stands_for_another_spec_is_refused_whatever_the_state(
        stored in stored_job(), spec in spec(), contract in contract(),
    ) {
        prop_assume!(spec != stored.spec);
        let on_difference = OnDifference::Refuse;
        let submission = Submission { on_difference, ..submission(spec, contract) };
        let refusal = Refusal::KeyReused(Box::new(stored.clone()));
        prop_assert_eq!(accept(&submission, Some(&stored)), Acceptance::Refuse(refusal));
    }

    #[test]
    fn bounds_of_time_hold_for_what_would_be_created_or_changed(
        stored in prop::option::of(stored_job()), spec in spec(), contract in contract(),
        ahead_millis in prop_oneof![-200_000_i64..200_000, 63_158_000_000_i64..63_159_000_000],
    ) {
        let now = spec.requested_at.plus_millis(-ahead_millis);
        let is_within = (-60_000..=731 * 86_400_000).contains(&ahead_millis);
        match acceptance(&submission(spec, contract), stored.as_ref(), now, shards()) {
            Acceptance::Create(_) | Acceptance::Reschedule { .. } => prop_assert!(is_within),
            Acceptance::Refuse(Refusal::Invalid(problems)) => {
                prop_assert!(!is_within);
                prop_assert_eq!(&problems[0].field, "requested_at");
            }
            _ => prop_assert!(stored.is_some()),
        }
    }

    #[test]
    fn a_new_id_is_created_scheduled_in_the_bucket_of_its_release(
        spec in spec(), contract in contract(),
    ) {
        let Acceptance::Create(job) = accept(&submission(spec.clone(), contract), None) else {
            return Err(TestCaseError::fail("not created"));
        };
        prop_assert_eq!((job.state, job.attempts, job.maybe_sent), (State::Scheduled, 0, false));
        prop_assert_eq!(job.generation.number(), NOW.as_millis());
        prop_assert_eq!(job.release_at, job.due_at);
        prop_assert_eq!(job.bucket.unwrap().minute, job.due_at.max(NOW).minute());
        prop_assert_eq!((job.created_at, job.accepted_at), (NOW, NOW));
        prop_assert_eq!(&job.spec, &spec);
    }

    #[test]
    fn a_cancel_takes_a_waiting_job_and_tells_the_truth_about_any_other(stored in stored_job()) {
        let row = Box::new(stored.clone());
        let expected = match stored.state {
            State::Scheduled => Cancellation::Cancel(row),
            State::Cancelled => Cancellation::Already(row),
            _ => Cancellation::TooLate(row),
        };
        prop_assert_eq!(cancellation(Some(stored)), expected);
    }

    #[test]
    fn a_finished_row_is_kept_until_its_retention_after_its_end_and_its_latest_time(
        stored in stored_job(), finished in 0_i64..10_000_000, retention_seconds in 0_u32..1_000_000,
    ) {
        let finished_at = Instant::from_millis(finished);
        let ttl_at = stored.ttl_at(finished_at, retention_seconds);
        let kept_millis = i64::from(retention_seconds) * 1_000;
        prop_assert!(ttl_at.millis_since(finished_at) >= kept_millis);
        prop_assert!(ttl_at.millis_since(stored.latest_at_max) >= kept_millis);
        prop_assert!([finished_at, stored.latest_at_max].contains(&ttl_at.plus_millis(-kept_millis)));
    }
}

#[test]
fn a_job_finished_is_never_rescheduled_created_or_cancelled() {
    let waiting = Job::accepted(
        JobId::new("a").unwrap(),
        crate::samples::spec(Instant::from_millis(3_600_000)),
        Contract::EXACT,
        NOW,
        shards(),
    );
    let later = crate::samples::spec(Instant::from_millis(7_200_000));
    for state in State::ALL.into_iter().filter(|state| state.is_finished()) {
        let stored = Job { state, bucket: None, ..waiting.clone() };
        let refused = Acceptance::Refuse(Refusal::TooLate(Box::new(stored.clone())));
        assert_eq!(accept(&submission(later.clone(), Contract::EXACT), Some(&stored)), refused);
        assert!(!matches!(cancellation(Some(stored)), Cancellation::Cancel(_)));
    }
}

#[test]
fn a_request_is_accepted_to_the_last_millisecond_of_its_bounds() {
    let is_created = |ahead_millis: i64| {
        let requested_at = NOW.plus_millis(ahead_millis);
        let submission = submission(crate::samples::spec(requested_at), Contract::EXACT);
        matches!(accept(&submission, None), Acceptance::Create(_))
    };
    let two_years = 731 * 86_400_000;
    assert_eq!([-60_001, -60_000].map(is_created), [false, true]);
    assert_eq!([two_years, two_years + 1].map(is_created), [true, false]);
}
