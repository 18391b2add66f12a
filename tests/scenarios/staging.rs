//! Ticks: missed, late, doubled, overlapping, cut short.

use spillway_app::stage_jobs::StagingError;
use spillway_domain::spec::JobSpec;
use spillway_testkit::build::{at, class, job_spec};
use spillway_testkit::{Driver, Fault, Operation};

use crate::service::Service;

pub(crate) const DUE: &str = "2026-12-01T09:00:00Z";

/// Jobs of five minutes from 09:00 on, accepted long before, in both lanes.
pub(crate) fn far_jobs(count: i64) -> (Service, Driver<'static>) {
    let service = Service::at(at("2026-12-01T08:00:30Z"));
    let mut driver = service.outside.driver();
    let jobs = (0..count).map(|number| {
        let spec = job_spec(at(DUE).plus_seconds(number * 300 / count));
        let class = (number % 2 == 0).then(|| class("reminder"));
        (format!("job-{number}"), JobSpec { class, ..spec })
    });
    driver.run(service.accept(jobs.collect()));
    assert_eq!(service.outside.faults.call_count(Operation::SendBatch), 0);
    (service, driver)
}

#[test]
fn each_tick_stages_what_is_due_for_it_and_moves_the_watermark() {
    let (service, mut driver) = far_jobs(300);
    service.start_dispatch(&driver);
    service.start_ticks(&driver);
    driver.run_until(at("2026-12-01T08:58:30Z"));
    assert_eq!(service.outside.faults.call_count(Operation::SendBatch), 0, "nothing is due yet");
    driver.run_for_seconds(3_600);
    service.assert_each_delivered_once();
}

#[test]
fn missed_ticks_cost_nothing_but_time() {
    let (service, mut driver) = far_jobs(300);
    service.start_dispatch(&driver);
    driver.run_until(at("2026-12-01T08:58:00Z"));
    driver.run(service.tick()).unwrap();
    // Two hours without a tick.
    driver.run_until(at("2026-12-01T11:00:00Z"));
    assert!(service.arrivals().is_empty());
    let report = driver.run(service.tick()).unwrap();
    assert_eq!((report.minutes_count, report.staged_count), (122, 300));
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
}

#[test]
fn doubled_and_overlapping_ticks_deliver_once() {
    let (service, mut driver) = far_jobs(300);
    service.start_dispatch(&driver);
    service.outside.store.set_page_jobs_max(5);
    for _ in 0..3 {
        service.start_ticks(&driver);
    }
    driver.run_for_seconds(2 * 3_600);
    service.assert_each_delivered_once();
}

#[test]
fn a_message_that_the_queue_does_not_take_keeps_the_watermark_back() {
    let (service, mut driver) = far_jobs(60);
    service.outside.faults.on_every(Operation::SendMessage, Fault::FailBefore);
    driver.run_until(at("2026-12-01T08:59:00Z"));
    let failed = driver.run(service.tick());
    assert!(matches!(failed, Err(StagingError::Queue { .. })), "{failed:?}");
    service.outside.faults.stop();
    let report = driver.run(service.tick()).unwrap();
    assert!(report.staged_count > 0, "the next tick stages the minute again");
    service.start_dispatch(&driver);
    service.start_ticks(&driver);
    driver.run_for_seconds(3_600);
    service.assert_each_delivered_once();
}

#[test]
fn a_tick_that_crashes_anywhere_is_finished_by_the_next() {
    for polls in 1..40 {
        let (service, mut driver) = far_jobs(60);
        service.outside.store.set_page_jobs_max(2);
        driver.run_until(at("2026-12-01T08:59:00Z"));
        let crashing = service.clone();
        let id = driver.spawn(async move { drop(crashing.tick().await) });
        driver.crash_after_polls(id, polls);
        driver.settle();
        service.start_dispatch(&driver);
        service.start_ticks(&driver);
        driver.run_for_seconds(3_600);
        service.assert_each_delivered_once();
    }
}
