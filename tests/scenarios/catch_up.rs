//! After an outage: the backlog is released in due order at its pace, and what is still ahead does
//! not wait for it (R10).

use std::collections::BTreeMap;

use spillway_domain::job::State;
use spillway_domain::precision::Lane;
use spillway_domain::spec::JobSpec;
use spillway_domain::time::Instant;
use spillway_testkit::Driver;
use spillway_testkit::build::{at, class, job_spec};

use crate::service::Service;

const BEGIN: &str = "2026-12-01T09:00:00Z";
const END: &str = "2026-12-01T11:00:00Z";

/// A service that had no tick for the two hours in which so many jobs were due, and dispatch that
/// works; each tenth job of class `otp`, which expires after a minute.
fn after_an_outage(count: i64, jobs_per_second: u32) -> (Service, Driver<'static>) {
    let service = Service::at(at("2026-12-01T08:00:30Z"));
    service.set_pace(jobs_per_second);
    let mut driver = service.outside.driver();
    driver.run(service.tick()).unwrap();
    let jobs = (0..count).map(|number| {
        let spec = job_spec(at(BEGIN).plus_seconds(number * 7_200 / count));
        let class = (number % 10 == 0).then(|| class("otp"));
        (format!("job-{number:05}"), JobSpec { class, ..spec })
    });
    driver.run(service.accept(jobs.collect()));
    driver.run_until(at(END));
    service.start_dispatch(&driver);
    service.start_ticks(&driver);
    (service, driver)
}

/// The jobs that arrived, by the second in which they were sent.
fn sent_by_second(service: &Service) -> BTreeMap<Instant, Vec<Instant>> {
    let mut seconds: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for arrival in service.outside.channel.arrivals() {
        let second = arrival.delivery.sent_at.plus_millis(-999).ceil_to_second();
        seconds.entry(second).or_default().push(arrival.delivery.due_at);
    }
    seconds
}

fn assert_all_ended(service: &Service) {
    let arrivals = service.arrivals();
    for job in service.outside.store.jobs() {
        let is_otp = job.spec.class.is_some();
        let (state, count) =
            if is_otp { (State::Expired, None) } else { (State::Delivered, Some(&1)) };
        assert_eq!((job.state, arrivals.get(job.id.as_str())), (state, count), "{job:?}");
    }
    service.assert_none_early();
}

#[test]
fn after_an_outage_the_backlog_is_released_in_due_order_at_its_pace() {
    let (service, mut driver) = after_an_outage(6_000, 50);
    driver.run_for_seconds(600);
    assert_all_ended(&service);
    let seconds = sent_by_second(&service);
    let most = seconds.values().map(Vec::len).max().unwrap();
    assert!(most <= 50, "{most} jobs in one second");
    assert!(seconds.len() < 180, "6,000 jobs take two minutes, not {} s", seconds.len());
    let minutes: Vec<_> = seconds.into_values().flatten().map(Instant::minute).collect();
    assert!(minutes.is_sorted(), "minute by minute");
}

#[test]
fn a_backlog_that_takes_long_is_staged_bit_by_bit_and_each_job_once() {
    let (service, mut driver) = after_an_outage(6_000, 10);
    driver.run_for_seconds(40);
    let waiting = service.outside.queue.message_count(Lane::Exact);
    assert!(waiting < 300, "{waiting} messages: the queue holds some minutes of it");
    driver.run_for_seconds(2_400);
    assert_all_ended(&service);
    assert_eq!(service.sent_jobs_count(), 6_000, "reconcile waits for the pace");
}

#[test]
fn what_is_still_ahead_does_not_wait_for_the_backlog() {
    let (service, mut driver) = after_an_outage(3_000, 1);
    let due = at(END).plus_seconds(400);
    let jobs = (0..10).map(|number| (format!("new-{number}"), job_spec(due)));
    driver.run(service.accept(jobs.collect()));
    driver.run_until(due.plus_seconds(1));
    for number in 0..10 {
        let job = service.outside.store.job(&format!("new-{number}")).unwrap();
        assert_eq!(job.sent_at, Some(due), "on its second");
    }
}

#[test]
fn runs_at_once_keep_the_pace_together() {
    let (service, mut driver) = after_an_outage(6_000, 50);
    (0..3).for_each(|_| service.start_ticks(&driver));
    driver.run_for_seconds(600);
    assert_all_ended(&service);
    let most = sent_by_second(&service).values().map(Vec::len).max().unwrap();
    assert!(most <= 50, "{most} jobs in one second by four runs a minute");
}
