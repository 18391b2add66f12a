//! Cancel is final, a reschedule leaves no old life behind, and a replay changes nothing.

use spillway_app::accept_jobs::{Answer, Change};
use spillway_app::cancel_job::CancelAnswer;
use spillway_app::ports::Clock;
use spillway_domain::acceptance::Refusal;
use spillway_domain::job::State;
use spillway_domain::spec::JobSpec;
use spillway_testkit::build::{at, class, job_spec, payload};
use spillway_testkit::{Dice, Fault, Operation, Reply};

use crate::service::Service;

const DUE: &str = "2026-12-01T09:00:00Z";

#[test]
fn a_cancel_that_races_with_dispatch_is_true_in_each_of_200_tries() {
    let (mut cancelled, mut delivered) = (0, 0);
    for seed in 0..200 {
        let service = Service::at(at("2026-12-01T08:58:00Z"));
        let mut driver = service.outside.driver().shuffled(Dice::from_seed(seed));
        service.start_dispatch(&driver);
        driver.run(service.accept(vec![("a".into(), job_spec(at(DUE)))]));
        // From two seconds before the second to half a second after it, 12.5 ms apart.
        let offset_millis = -2_000 + i64::try_from(seed).unwrap() * 25 / 2;
        driver.run_until(at(DUE).plus_millis(offset_millis));
        let answer = driver.run(service.cancel("a"));
        driver.run_for_seconds(180);
        let arrived = service.arrivals().contains_key("a");
        match answer {
            CancelAnswer::Cancelled(_) => {
                assert!(!arrived, "cancelled and delivered, seed {seed}");
                assert_eq!(service.state("a"), State::Cancelled, "seed {seed}");
                cancelled += 1;
            }
            CancelAnswer::TooLate(_) => {
                assert!(arrived, "neither cancelled nor delivered, seed {seed}");
                delivered += 1;
            }
            other => panic!("{other:?}, seed {seed}"),
        }
    }
    assert!(cancelled > 0 && delivered > 0, "{cancelled} cancelled, {delivered} delivered");
}

#[test]
fn a_rescheduled_job_is_delivered_at_its_new_time_alone() {
    let service = Service::at(at("2026-12-01T08:58:00Z"));
    let mut driver = service.outside.driver();
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    driver.run(service.accept(vec![("a".into(), job_spec(at(DUE)))]));
    let later = JobSpec { payload: payload("2"), ..job_spec(at("2026-12-01T09:02:00Z")) };
    let answers = driver.run(service.accept(vec![("a".into(), later)]));
    assert!(matches!(answers[0], Answer::Accepted(Change::Rescheduled, _)));
    driver.run_for_seconds(600);
    let arrivals = service.outside.channel.arrivals_of("a");
    assert_eq!(arrivals.len(), 1);
    assert_eq!(arrivals[0].delivery.payload.as_json(), "2");
    assert_eq!(arrivals[0].delivery.sent_at, at("2026-12-01T09:02:00Z"));
}

#[test]
fn a_repeated_retry_whose_first_answer_was_lost_does_not_revive_a_cancelled_job() {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    driver.run(service.accept(vec![("a".into(), job_spec(at(DUE)))]));
    service.start_dispatch(&driver);
    service.outside.channel.reply_next("a", Reply::Refuse);
    service.outside.faults.on_call(Operation::Retry, 1, Fault::LoseAnswer);
    driver.run_until(at(DUE));
    // The row waits between its attempts; the holder tries its write again in 50 ms.
    let answer = driver.run(service.cancel("a"));
    assert!(matches!(answer, CancelAnswer::Cancelled(_)), "{answer:?}");
    driver.run_for_seconds(300);
    assert_eq!(service.state("a"), State::Cancelled);
    assert!(service.arrivals().is_empty());
}

#[test]
fn whoever_cancels_is_told_of_a_send_that_was_never_answered() {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    driver.run(service.accept(vec![("a".into(), job_spec(at(DUE)))]));
    service.start_dispatch(&driver);
    service.outside.channel.reply_next("a", Reply::ArriveUnanswered);
    service.change_policy(|policy| {
        policy.channels.values_mut().for_each(|channel| channel.retry.backoff_seconds_min = 300);
    });
    driver.run_until(at(DUE));
    let different = job_spec(at("2026-12-01T09:05:00Z"));
    let answers = driver.run(service.accept(vec![("a".into(), different)]));
    assert!(matches!(&answers[0], Answer::Refused(Refusal::MaybeSent(_))), "{answers:?}");
    let CancelAnswer::Cancelled(job) = driver.run(service.cancel("a")) else { panic!() };
    assert!(job.maybe_sent);
}

/// Every way in which a job can have ended, then the import again, also under a changed class.
#[test]
fn replaying_an_import_changes_nothing_and_delivers_nothing() {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    let of_class = |name| JobSpec { class: Some(class(name)), ..job_spec(at(DUE)) };
    let import = || {
        vec![
            ("delivered".to_owned(), of_class("alert")),
            ("cancelled".to_owned(), of_class("reminder")),
            ("expired".to_owned(), of_class("otp")),
            ("failed".to_owned(), of_class("deadline")),
        ]
    };
    // Refused often enough to outlive the 60 s that a one-time code is worth.
    (0..4).for_each(|_| service.outside.channel.reply_next("expired", Reply::Refuse));
    service.change_policy(|policy| {
        policy.channels.values_mut().for_each(|channel| {
            channel.retry.backoff_seconds_min = 60;
            channel.retry.attempts_max = 50;
        });
    });
    (0..50).for_each(|_| service.outside.channel.reply_next("expired", Reply::Refuse));
    service.outside.channel.reply_next("failed", Reply::RefuseForGood);
    driver.run(service.accept(import()));
    driver.run(service.cancel("cancelled"));
    driver.run_for_seconds(3_600);
    let ended = [State::Delivered, State::Cancelled, State::Expired, State::Failed];
    let names = ["delivered", "cancelled", "expired", "failed"];
    assert_eq!(names.map(|id| service.state(id)), ended);

    let before = service.outside.store.jobs();
    let arrived = service.outside.channel.arrivals().len();
    service.change_policy(|policy| {
        policy.classes.remove(&class("alert"));
        policy.classes.values_mut().for_each(|contract| contract.late_seconds += 600);
    });
    for _ in 0..2 {
        for answer in driver.run(service.accept(import())) {
            assert!(matches!(answer, Answer::Accepted(Change::Unchanged, _)), "{answer:?}");
        }
        driver.run_for_seconds(86_400);
    }
    assert_eq!(service.outside.store.jobs(), before);
    assert_eq!(service.outside.channel.arrivals().len(), arrived);
}

#[test]
fn a_finished_row_outlives_the_latest_time_that_its_id_ever_had() {
    let service = Service::at(at("2026-12-01T08:00:00Z"));
    let mut driver = service.outside.driver();
    let far = job_spec(at("2026-12-20T09:00:00Z"));
    driver.run(service.accept(vec![("a".into(), far)]));
    driver.run(service.accept(vec![("a".into(), job_spec(at("2026-12-02T09:00:00Z")))]));
    driver.run(service.cancel("a"));
    assert!(service.outside.clock.now() < at("2026-12-01T08:00:01Z"));
    assert_eq!(service.outside.store.ttl_at("a"), Some(at("2026-12-27T09:00:00Z")));
}

#[test]
fn a_message_of_a_former_life_does_nothing_to_an_id_that_was_created_again() {
    let service = Service::at(at("2026-12-01T08:59:30Z"));
    let mut driver = service.outside.driver();
    driver.run(service.accept(vec![("a".into(), job_spec(at(DUE)))]));
    let old = service.outside.queue.receive(spillway_domain::precision::Lane::Exact);
    assert!(old.is_empty(), "its message is still delayed");
    driver.run(service.cancel("a"));
    service.outside.clock.advance_seconds(20);
    // The row is deleted once it is outlived; here at once.
    let mut other_life = service.outside.store.job("a").unwrap();
    let later = JobSpec { payload: payload("2"), ..job_spec(at("2026-12-01T09:01:30Z")) };
    other_life = spillway_domain::job::Job::accepted(
        other_life.id,
        later,
        other_life.contract,
        service.outside.clock.now(),
        spillway_testkit::build::shards(8),
    );
    service.outside.store.put(other_life);
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    driver.run_for_seconds(900);
    let arrivals = service.outside.channel.arrivals_of("a");
    assert_eq!(arrivals.len(), 1);
    assert_eq!(arrivals[0].delivery.sent_at, at("2026-12-01T09:01:30Z"));
}
