//! Retries, failures and expiry.

use spillway_app::dispatch_jobs::Ending;
use spillway_domain::job::State;
use spillway_domain::spec::{JobSpec, Overrides};
use spillway_testkit::build::{at, job_spec};
use spillway_testkit::{Driver, Fault, Operation, Reply};

use crate::service::Service;

const DUE: &str = "2026-12-01T09:00:00Z";

fn one_accepted_job(spec: JobSpec) -> (Service, Driver<'static>) {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    driver.run(service.accept(vec![("a".into(), spec)]));
    (service, driver)
}

#[test]
fn a_refused_job_is_tried_again_and_its_due_time_stays() {
    let (service, mut driver) = one_accepted_job(job_spec(at(DUE)));
    service.outside.channel.reply_next("a", Reply::Refuse);
    service.outside.channel.reply_next("a", Reply::Refuse);
    driver.run_for_seconds(300);
    service.assert_each_delivered_once();
    let job = service.outside.store.job("a").unwrap();
    assert_eq!((job.attempts, job.due_at), (3, at(DUE)));
    assert!(!job.maybe_sent, "each refusal was answered");
}

/// Twenty-five jobs of one second are three calls of ten; what one call's other entries became
/// changes nothing for the one that was refused, and the other way round.
#[test]
fn an_entry_that_failed_alone_is_tried_again_alone() {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    let jobs = (0..25).map(|number| (format!("job-{number}"), job_spec(at(DUE))));
    driver.run(service.accept(jobs.collect()));
    service.outside.channel.reply_next("job-7", Reply::Refuse);
    service.outside.channel.reply_next("job-12", Reply::Refuse);
    service.outside.channel.reply_next("job-12", Reply::Refuse);
    driver.run_for_seconds(600);
    service.assert_each_delivered_once();
    for job in service.outside.store.jobs() {
        let expected = match job.id.as_str() {
            "job-7" => 2,
            "job-12" => 3,
            _ => 1,
        };
        assert_eq!(job.attempts, expected, "{job:?}");
    }
}

#[test]
fn a_job_that_is_refused_too_often_has_failed_and_has_a_dead_letter() {
    let (service, mut driver) = one_accepted_job(job_spec(at(DUE)));
    (0..5).for_each(|_| service.outside.channel.reply_next("a", Reply::Refuse));
    driver.run_for_seconds(3_600);
    assert_eq!(service.state("a"), State::Failed);
    let letters = service.outside.dead_letters.letters();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].job_id.as_str(), letters[0].attempts), ("a", 5));
    assert!(service.outside.store.job("a").unwrap().reason.is_some());
}

#[test]
fn a_crash_between_the_dead_letter_and_the_row_loses_neither() {
    let (service, mut driver) = one_accepted_job(job_spec(at(DUE)));
    service.outside.channel.reply_next("a", Reply::RefuseForGood);
    service.outside.faults.on_call(Operation::SendDeadLetter, 1, Fault::CrashAfter);
    service.outside.channel.reply_otherwise(Reply::RefuseForGood);
    driver.run_for_seconds(3_600);
    assert_eq!(service.state("a"), State::Failed);
    assert_eq!(service.outside.dead_letters.letters().len(), 2, "at least once");
}

#[test]
fn a_job_whose_last_attempt_never_came_to_an_end_has_failed() {
    let (service, mut driver) = one_accepted_job(job_spec(at(DUE)));
    service.outside.faults.on_every(Operation::SendDeliveries, Fault::CrashBefore);
    driver.run_for_seconds(3_600);
    assert_eq!(service.state("a"), State::Failed);
    let job = service.outside.store.job("a").unwrap();
    assert_eq!((job.attempts, job.maybe_sent), (5, true), "nobody knows how far the last one came");
    assert_eq!(service.outside.dead_letters.letters().len(), 1);
}

#[test]
fn a_job_that_failed_without_an_answer_may_have_been_sent() {
    let (service, mut driver) = one_accepted_job(job_spec(at(DUE)));
    (0..4).for_each(|_| service.outside.channel.reply_next("a", Reply::Refuse));
    service.outside.channel.reply_next("a", Reply::ArriveUnanswered);
    driver.run_for_seconds(3_600);
    assert_eq!(service.state("a"), State::Failed);
    assert_eq!(service.outside.channel.arrivals_of("a").len(), 1);
    assert!(service.outside.store.job("a").unwrap().maybe_sent, "whoever reads it is told");
}

#[test]
fn a_waiting_job_gets_one_more_attempt_when_its_channel_now_allows_fewer() {
    let (service, mut driver) = one_accepted_job(job_spec(at(DUE)));
    (0..2).for_each(|_| service.outside.channel.reply_next("a", Reply::Refuse));
    service.change_policy(|policy| {
        policy.channels.values_mut().for_each(|channel| channel.retry.backoff_seconds_min = 300);
    });
    driver.run_until(at(DUE).plus_millis(1));
    service.change_policy(|policy| {
        policy.channels.values_mut().for_each(|channel| channel.retry.attempts_max = 1);
    });
    driver.run_for_seconds(3_600);
    assert_eq!(service.state("a"), State::Failed, "promised once more, and refused again");
    assert_eq!(service.outside.store.job("a").unwrap().attempts, 2);
}

#[test]
fn a_job_past_its_expiry_is_not_sent() {
    let overrides = Overrides { expires_after_seconds: Some(30), ..Overrides::default() };
    let (service, mut driver) = one_accepted_job(JobSpec { overrides, ..job_spec(at(DUE)) });
    service.change_policy(|policy| {
        policy.channels.values_mut().for_each(|channel| channel.paused = true);
    });
    driver.run_until(at(DUE).plus_seconds(60));
    service.change_policy(|policy| {
        policy.channels.values_mut().for_each(|channel| channel.paused = false);
    });
    driver.run_for_seconds(600);
    assert_eq!(service.state("a"), State::Expired);
    assert!(service.arrivals().is_empty());
    assert_eq!(service.ended(Ending::Expired), 1);
    assert_eq!(service.outside.store.job("a").unwrap().attempts, 0, "no send was begun");
}

#[test]
fn throttled_invocations_spend_no_attempt_and_no_dead_letter() {
    let (service, mut driver) = one_accepted_job(job_spec(at(DUE)));
    // Whole batches come back, again and again, with a raised receive count.
    (1..=40).for_each(|call| service.outside.faults.on_call(Operation::Claim, call, Fault::Hang));
    driver.run_for_seconds(7_200);
    service.assert_each_delivered_once();
    assert_eq!(service.outside.store.job("a").unwrap().attempts, 1);
    assert!(service.outside.dead_letters.letters().is_empty());
}

/// A store that takes two seconds for each call: an invocation that claimed all of its batch would
/// be stopped before it had recorded what it sent, and others would send that again.
#[test]
fn a_slow_store_makes_jobs_late_and_none_twice() {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    let jobs = (0..500).map(|number| (format!("job-{number}"), job_spec(at(DUE))));
    driver.run(service.accept(jobs.collect()));
    for operation in
        [Operation::Claim, Operation::GiveBack, Operation::Retry, Operation::RecordDelivered]
    {
        service.outside.faults.on_every(operation, Fault::Slow(2_000));
    }
    service.start_dispatch(&driver);
    driver.run_for_seconds(3_600);
    service.assert_each_delivered_once();
    assert_eq!(service.stopped_count(), 0);
    // Nor did anybody claim what it had no time left to send.
    assert!(service.outside.store.jobs().iter().all(|job| job.attempts == 1));
}
