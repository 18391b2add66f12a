//! The staging boundary: whenever a job is created, it is delivered once.

use spillway_app::accept_jobs::Answer;
use spillway_domain::job::State;
use spillway_testkit::build::{at, job_spec};
use spillway_testkit::{Fault, Operation};

use crate::service::Service;

/// The bucket of 09:00 is staged by the tick of 08:59:00, with a lookahead of 60 s.
const TICK: &str = "2026-12-01T08:59:00Z";
const DUE: &str = "2026-12-01T09:00:59Z";

fn created_around_the_tick(step_millis: i64, configure: impl Fn(&Service)) -> Service {
    let tick = at(TICK);
    let service = Service::at(tick.plus_seconds(-180));
    configure(&service);
    let mut driver = service.outside.driver();
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    let mut offset = -120_000;
    while offset <= 120_000 {
        driver.run_until(tick.plus_millis(offset));
        let id = format!("created-{offset}");
        let creator = service.clone();
        driver.spawn(async move {
            let answers = creator.accept(vec![(id, job_spec(at(DUE)))]).await;
            assert!(matches!(answers[0], Answer::Accepted(..)), "{answers:?}");
        });
        offset += step_millis;
    }
    driver.run_for_seconds(900);
    service
}

#[test]
fn a_job_created_at_any_second_around_its_staging_is_delivered_once() {
    let service = created_around_the_tick(1_000, |_| {});
    assert_eq!(service.outside.store.jobs().len(), 241);
    service.assert_each_delivered_once();
}

#[test]
fn a_lagging_index_loses_nothing_at_the_boundary() {
    let service = created_around_the_tick(1_000, |service| {
        service.outside.store.set_index_lag_millis(90_000);
    });
    service.assert_each_delivered_once();
}

#[test]
fn small_and_empty_pages_lose_nothing_at_the_boundary() {
    let service = created_around_the_tick(500, |service| {
        service.outside.store.set_page_jobs_max(3);
        service.outside.store.set_every_nth_page_empty(2);
    });
    assert_eq!(service.outside.store.jobs().len(), 481);
    service.assert_each_delivered_once();
}

#[test]
fn success_is_not_answered_before_the_message_of_a_near_job_is_sent() {
    let service = Service::at(at(TICK));
    let mut driver = service.outside.driver();
    service.outside.faults.on_every(Operation::SendMessage, Fault::FailBefore);
    let near = service.accept(vec![("near".into(), job_spec(at(DUE)))]);
    assert_eq!(driver.run(near), [Answer::Unavailable]);
    // A repeated call finds the row unchanged, and sends its message.
    service.outside.faults.stop();
    let again = driver.run(service.accept(vec![("near".into(), job_spec(at(DUE)))]));
    assert!(matches!(again[0], Answer::Accepted(..)));
    service.start_dispatch(&driver);
    driver.run_for_seconds(180);
    service.assert_each_delivered_once();
}

#[test]
fn a_far_job_needs_no_message_and_is_staged_by_its_tick() {
    let service = Service::at(at("2026-12-01T08:50:00Z"));
    let mut driver = service.outside.driver();
    driver.run(service.accept(vec![("far".into(), job_spec(at(DUE)))]));
    assert_eq!(service.outside.faults.call_count(Operation::SendBatch), 0);
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    driver.run_for_seconds(900);
    service.assert_each_delivered_once();
}

#[test]
fn a_job_of_the_last_minute_is_delivered_at_once() {
    let now = at("2026-12-01T09:00:30Z");
    let service = Service::at(now);
    let mut driver = service.outside.driver();
    service.start_dispatch(&driver);
    let spec = job_spec(at("2026-12-01T08:59:45Z"));
    driver.run(service.accept(vec![("late".into(), spec)]));
    driver.run_for_seconds(5);
    assert_eq!(service.state("late"), State::Delivered);
    assert_eq!(service.outside.store.job("late").unwrap().sent_at, Some(now));
}
