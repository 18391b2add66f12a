//! The clauses of `docs/precision-contract.md`, with the instants that are worked out there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use spillway_domain::acceptance::{Acceptance, OnDifference, Submission, acceptance};
use spillway_domain::attempt::{AfterAttempt, SendOutcome, after_attempt, backoff_millis};
use spillway_domain::jitter::offset_seconds;
use spillway_domain::job::{ClaimToken, Job};
use spillway_domain::name::{ClassName, JobId};
use spillway_domain::policy::{Policy, Retry};
use spillway_domain::precision::{Contract, Lane, Times, times};
use spillway_domain::spec::JobSpec;
use spillway_domain::staging::is_claimable;
use spillway_domain::time::{Instant, Minute};
use xxhash_rust::xxh3::xxh3_64;

/// An instant of 2026-12-01, written `09:00:39` or `09:00:39.250`.
fn at(clock: &str) -> Instant {
    let (minute, seconds) = clock.rsplit_once(':').unwrap();
    let (seconds, millis) = seconds.split_once('.').unwrap_or((seconds, "0"));
    Minute::parse(&format!("2026-12-01T{minute}Z"))
        .unwrap()
        .start()
        .plus_seconds(seconds.parse().unwrap())
        .plus_millis(millis.parse().unwrap())
}

fn window(early_seconds: u32, late_seconds: u32) -> Contract {
    Contract { early_seconds, late_seconds, ..Contract::EXACT }
}

fn times_of(id: &str, requested_at: &str, contract: Contract) -> Times {
    times(&JobId::new(id).unwrap(), at(requested_at), &contract)
}

/// The job of the examples, accepted an hour before its time.
fn birthday(requested_at: &str) -> Job {
    samples::job("birthday:42:2026", at(requested_at), window(0, 60), at("08:00:00"))
}

#[test]
fn clause_1_the_request_is_kept() {
    let job = birthday("09:00:00.250");
    assert_eq!(job.spec.requested_at, at("09:00:00.250"));
    assert_eq!(job.due_at, at("09:00:40"), "only the due time is rounded");
    let later = Job { release_at: at("09:05:00"), attempts: 3, ..job };
    assert_eq!(later.times().earliest_at, at("09:00:00.250"));
}

#[test]
fn clause_2_a_job_is_exact_unless_it_says_otherwise() {
    let mut policy = Policy::default();
    let spec = samples::spec(at("09:00:00"));
    policy.channels.insert(spec.channel.clone(), samples::channel());
    policy.classes.insert(ClassName::new("reminder").unwrap(), window(0, 30));
    let contract = policy.contract(&spec).unwrap();
    assert_eq!((contract.early_seconds, contract.late_seconds), (0, 0));
    assert_eq!(contract.lane(), Lane::Exact);
    let unknown = JobSpec { class: Some(ClassName::new("reminders").unwrap()), ..spec };
    assert_eq!(policy.contract(&unknown).unwrap_err()[0].field, "class");
}

#[test]
fn clause_3_a_due_time_is_a_whole_second_rounded_up() {
    for (requested_at, due_at) in
        [("09:00:00.000", "09:00:00"), ("09:00:00.001", "09:00:01"), ("09:00:00.999", "09:00:01")]
    {
        let times = times_of("birthday:42:2026", requested_at, Contract::EXACT);
        assert_eq!(times.due_at, at(due_at), "{requested_at}");
    }
}

#[test]
fn clause_4_the_offset_belongs_to_the_id() {
    for (id, hash, early, late, place, offset) in [
        ("birthday:42:2026", 15_169_856_584_330_822_719, 0, 60, 39, 39),
        ("campaign-7:0507069464", 18_298_543_624_114_642_207, 30, 30, 7, -23),
        ("user-8312021", 11_356_545_532_181_091_346, 60, 60, 106, 46),
        ("campaign-7:0464680097", 6_079_217_944_500_475_809, 1, 0, 0, -1),
    ] {
        assert_eq!(xxh3_64(id.as_bytes()), hash, "{id}");
        assert_eq!(hash % u64::from(early + late), place, "{id}");
        assert_eq!(offset_seconds(&JobId::new(id).unwrap(), early, late), offset, "{id}");
    }
    let due_at = |requested_at| times_of("birthday:42:2026", requested_at, window(0, 60)).due_at;
    assert_eq!(due_at("09:00:00.000"), at("09:00:39"));
    assert_eq!(due_at("09:00:00.001"), at("09:00:40"));
}

#[test]
fn clause_5_late_means_never_early() {
    for (id, requested_at, late, due_at) in [
        ("birthday:42:2026", "09:00:00.000", 60, "09:00:39"),
        ("ünïcödé", "09:00:00.500", 30, "09:00:30"),
        ("a", "09:00:00.999", 1, "09:00:01"),
    ] {
        let times = times_of(id, requested_at, window(0, late));
        assert_eq!(times.due_at, at(due_at), "{id}");
        assert!(times.due_at >= at(requested_at), "{id}");
    }
}

#[test]
fn clause_6_early_is_never_earlier_than_its_window() {
    for (id, requested_at, (early, late), earliest_at, due_at) in [
        ("campaign-7:0507069464", "09:00:00.000", (30, 30), "08:59:30.000", "08:59:37"),
        ("campaign-7:0464680097", "09:00:00.250", (1, 0), "08:59:59.250", "09:00:00"),
    ] {
        let times = times_of(id, requested_at, window(early, late));
        assert_eq!(times.earliest_at, at(earliest_at), "{id}");
        assert_eq!(times.due_at, at(due_at), "{id}");
        assert!(times.due_at >= times.earliest_at, "{id}");
    }
}

#[test]
fn clause_7_the_ends_of_the_window_are_answered() {
    for (requested_at, (early, late), earliest_at, latest_at) in [
        ("09:00:00.250", (0, 0), "09:00:00.250", "09:00:01"),
        ("09:00:00.250", (0, 30), "09:00:00.250", "09:00:30"),
        ("09:00:00.000", (60, 60), "08:59:00.000", "09:00:59"),
        ("09:00:00.000", (120, 0), "08:58:00.000", "09:00:00"),
    ] {
        let times = times_of("user-8312021", requested_at, window(early, late));
        assert_eq!(times.earliest_at, at(earliest_at), "{early} + {late}");
        assert_eq!(times.latest_at, at(latest_at), "{early} + {late}");
        assert!(times.earliest_at <= times.due_at && times.due_at <= times.latest_at);
    }
}

#[test]
fn clause_8_never_early_is_said_by_the_clock_of_the_machine_that_sends() {
    let release_at = birthday("09:00:00").release_at;
    assert_eq!(release_at, at("09:00:39"));
    assert!(!is_claimable(release_at, at("09:00:37.499")));
    assert!(is_claimable(release_at, at("09:00:37.500")));
}

#[test]
fn clause_9_trying_again_leaves_the_due_time_where_it_was() {
    let job = Job { attempts: 2, ..birthday("09:00:00") };
    let retry = Retry { backoff_seconds_min: 2, ..Retry::DEFAULT };
    // The first entry whose back-off after its second attempt is the example's.
    let mut tokens = (0..).map(|position| ClaimToken::of("invocation", "message", position));
    let token = tokens.find(|token| backoff_millis(2, token, retry) == 1_700).unwrap();
    let refused = SendOutcome::Refused("busy".into());
    let after = after_attempt(&job, &token, refused, retry, at("09:00:39.200")).unwrap();
    let AfterAttempt::Retry { release_at, .. } = after else { panic!("{after:?}") };
    assert_eq!(release_at, at("09:00:41"));
    assert!(release_at >= job.due_at);
    assert_eq!(Job { release_at, ..job }.times().due_at, at("09:00:39"));
}

#[test]
fn clause_10_another_request_is_another_due_time_with_the_same_offset() {
    let stored = birthday("09:00:00");
    let submission = |requested_at, contract| Submission {
        id: stored.id.clone(),
        spec: samples::spec(at(requested_at)),
        contract: Ok(contract),
        rendered: None,
        on_difference: OnDifference::Reschedule,
    };
    let accept = |submission: &Submission| {
        acceptance(submission, Some(&stored), at("08:30:00"), samples::shards())
    };
    let Acceptance::Reschedule { job, .. } = accept(&submission("18:30:00", window(0, 60))) else {
        panic!("not rescheduled");
    };
    assert_eq!((stored.due_at, job.due_at), (at("09:00:39"), at("18:30:39")));
    let under_another_policy = submission("09:00:00", window(300, 300));
    assert_eq!(accept(&under_another_policy), Acceptance::Unchanged(Box::new(stored.clone())));
}

#[test]
fn clause_11_expired_is_not_late() {
    let expiring = |late, after| Contract { expires_after_seconds: Some(after), ..window(0, late) };
    for (late, after, latest_at, expires_at) in
        [(0, 60, "09:00:01", "09:01:00.250"), (30, 31, "09:00:30", "09:00:31.250")]
    {
        let contract = expiring(late, after);
        assert!(contract.problems().is_empty());
        let times = times_of("ünïcödé", "09:00:00.250", contract);
        assert_eq!((times.latest_at, times.expires_at), (at(latest_at), Some(at(expires_at))));
        assert!(times.due_at < at(expires_at));
    }
    assert_eq!(expiring(30, 30).problems()[0].field, "expires_after_seconds");
}

#[test]
fn clause_12_lateness_begins_at_the_due_time() {
    for (accepted_at, delivered_at, lateness_millis) in
        [("08:00:00.000", "09:00:39.012", 12), ("09:00:50.000", "09:00:50.200", 200)]
    {
        let job = Job {
            accepted_at: at(accepted_at),
            delivered_at: Some(at(delivered_at)),
            ..birthday("09:00:00")
        };
        assert_eq!(job.due_at, at("09:00:39"));
        assert_eq!(job.lateness_millis(), Some(lateness_millis), "{accepted_at}");
    }
}
