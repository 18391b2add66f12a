//! What reconcile finds in minutes that should have drained, and what it leaves there.

use spillway_domain::job::State;
use spillway_domain::precision::Lane;
use spillway_testkit::build::{at, job_spec};
use spillway_testkit::{Fault, Operation};

use crate::service::Service;
use crate::staging::{DUE, far_jobs};

fn lose_all_messages(service: &Service) {
    for lane in Lane::ALL {
        service.outside.queue.purge(lane);
    }
}

#[test]
fn reconcile_stages_what_the_queue_lost() {
    let (service, mut driver) = far_jobs(100);
    service.start_ticks(&driver);
    driver.run_until(at("2026-12-01T08:59:30Z"));
    let lost = service.outside.queue.message_count(Lane::Exact)
        + service.outside.queue.message_count(Lane::Movable);
    assert!(lost > 0);
    lose_all_messages(&service);
    service.start_dispatch(&driver);
    driver.run_until(at("2026-12-01T09:03:00Z"));
    assert_ne!(service.state("job-1"), State::Delivered);
    driver.run_until(at("2026-12-01T09:30:00Z"));
    service.assert_each_delivered_once();
}

#[test]
fn reconcile_takes_over_what_a_dead_holder_left() {
    let (service, mut driver) = far_jobs(20);
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    service.outside.faults.on_every(Operation::Claim, Fault::CrashAfter);
    driver.run_until(at("2026-12-01T09:00:02Z"));
    service.outside.faults.stop();
    lose_all_messages(&service);
    driver.run_until(at("2026-12-01T09:30:00Z"));
    service.assert_each_delivered_once();
}

#[test]
fn reconcile_leaves_the_jobs_of_a_paused_channel_where_they_are() {
    let (service, mut driver) = far_jobs(20);
    service.change_policy(|policy| {
        policy.channels.values_mut().for_each(|channel| channel.paused = true);
    });
    service.start_ticks(&driver);
    driver.run_until(at("2026-12-01T09:20:00Z"));
    lose_all_messages(&service);
    let before = service.outside.faults.call_count(Operation::SendBatch);
    driver.run_until(at("2026-12-01T12:00:00Z"));
    assert_eq!(service.outside.faults.call_count(Operation::SendBatch), before);
    service.change_policy(|policy| {
        policy.channels.values_mut().for_each(|channel| channel.paused = false);
    });
    service.start_dispatch(&driver);
    driver.run_until(at("2026-12-01T14:00:00Z"));
    service.assert_each_delivered_once();
}

#[test]
fn a_visit_makes_no_storm_of_jobs_that_wait_in_a_lane_that_is_behind() {
    let service = Service::at(at("2026-12-01T08:00:30Z"));
    let mut driver = service.outside.driver();
    let jobs = (0..10_100).map(|number| (format!("job-{number}"), job_spec(at(DUE))));
    driver.run(service.accept(jobs.collect()));
    service.start_ticks(&driver);
    // Nobody takes the 101 messages for an hour, in which the minute is visited again and again.
    driver.run_until(at("2026-12-01T10:00:00Z"));
    assert_eq!(service.outside.queue.message_count(Lane::Exact), 101);
    assert_eq!(service.sent_jobs_count(), 10_100, "no job was staged again");
    service.start_dispatch(&driver);
    driver.run_until(at("2026-12-01T12:00:00Z"));
    service.assert_each_delivered_once();
}

#[test]
fn runs_at_once_do_not_visit_a_minute_twice() {
    let (service, mut driver) = far_jobs(100);
    service.start_ticks(&driver);
    driver.run_until(at("2026-12-01T09:02:30Z"));
    lose_all_messages(&service);
    let before = service.sent_jobs_count();
    (0..3).for_each(|_| service.start_ticks(&driver));
    driver.run_until(at("2026-12-01T09:09:30Z"));
    let left = service.outside.store.jobs().iter().filter(|job| !job.state.is_finished()).count();
    assert_eq!(left, 100, "nobody dispatches");
    // The minutes 09:00 to 09:04, each visited first at its end and 185 s, then after two minutes.
    let staged_again = service.sent_jobs_count() - before;
    assert!((100..=200).contains(&staged_again), "{staged_again} jobs by four runs a minute");
}

#[test]
fn a_run_that_dies_over_its_visits_costs_a_gap() {
    let (service, mut driver) = far_jobs(20);
    service.start_ticks(&driver);
    driver.run_until(at("2026-12-01T08:59:30Z"));
    lose_all_messages(&service);
    driver.run_until(at("2026-12-01T09:04:06Z"));
    service.outside.faults.on_next(Operation::WaitingCount, Fault::CrashBefore);
    let crashing = service.clone();
    driver.spawn(async move { drop(crashing.tick().await) });
    service.start_dispatch(&driver);
    driver.run_until(at("2026-12-01T09:30:00Z"));
    service.assert_each_delivered_once();
}
