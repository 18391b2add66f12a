//! Drain plans in staging: minutes that hold more jobs than their channel's rate.

use std::collections::BTreeMap;

use spillway_app::ports::StagingUnits as _;
use spillway_domain::precision::Lane;
use spillway_domain::rate::Rate;
use spillway_domain::spec::{JobSpec, Overrides};
use spillway_domain::time::Instant;
use spillway_testkit::build::{at, class, job_spec, minute};
use spillway_testkit::{Driver, Fault, Operation};

use crate::service::Service;

const NINE: &str = "2026-12-01T09:00:00Z";

/// A service whose channels take so many jobs a second, and so many exact jobs for 09:00:00.
fn spike(count: usize, per_second: u32) -> (Service, Driver<'static>) {
    let service = Service::at(at("2026-12-01T08:00:30Z"));
    set_rate(&service, Some(per_second));
    let mut driver = service.outside.driver();
    let jobs = (0..count).map(|number| (format!("job-{number}"), job_spec(at(NINE))));
    driver.run(service.accept(jobs.collect()));
    (service, driver)
}

fn set_rate(service: &Service, per_second: Option<u32>) {
    service.change_policy(|policy| {
        for channel in policy.channels.values_mut() {
            channel.rate = per_second.and_then(|per_second| Rate::new(per_second, None, 0).ok());
        }
    });
}

fn start(service: &Service, driver: &Driver<'static>) {
    service.start_ticks(driver);
    service.start_dispatch(driver);
}

/// Counts what was sent in each second after nine.
fn sent_by_second(service: &Service) -> BTreeMap<i64, u64> {
    let mut counts = BTreeMap::new();
    for arrival in service.outside.channel.arrivals() {
        let second = arrival.delivery.sent_at.millis_since(at(NINE)).div_euclid(1_000);
        *counts.entry(second).or_default() += 1;
    }
    counts
}

fn sent_at(service: &Service, id: &str) -> Instant {
    service.outside.store.job(id).and_then(|job| job.sent_at).expect("the job was sent")
}

/// The jobs that runs have staged again.
fn reconciled(service: &Service) -> u64 {
    let jobs = service.outside.store.jobs().len();
    (service.sent_jobs_count() - jobs) as u64
}

#[test]
fn exact_jobs_of_one_second_drain_at_their_channels_rate_over_minutes() {
    let (service, mut driver) = spike(3_000, 20);
    start(&service, &driver);
    driver.run_until(at("2026-12-01T09:15:00Z"));
    service.assert_each_delivered_once();
    let sent = sent_by_second(&service);
    assert_eq!(*sent.keys().next_back().unwrap(), 149, "{sent:?}");
    // Which second a job gets is drawn by its hash: 20 of them, give or take five deviations.
    assert!(sent.values().all(|count| *count <= 43), "{sent:?}");
    assert_eq!(sent.values().sum::<u64>(), 3_000);
    assert_eq!(reconciled(&service), 0, "each was staged once");
}

#[test]
fn a_code_of_the_next_minute_is_not_behind_a_spike_of_three_million() {
    // A thousandth of three million jobs at 20,000 a second.
    let (service, mut driver) = spike(3_000, 20);
    let nine_one = at(NINE).plus_seconds(60);
    let otp = JobSpec { class: Some(class("otp")), ..job_spec(nine_one) };
    driver.run(service.accept(vec![("code".to_owned(), otp)]));
    start(&service, &driver);
    driver.run_until(at("2026-12-01T09:15:00Z"));
    service.assert_each_delivered_once();
    let late_millis = sent_at(&service, "code").millis_since(nine_one);
    assert!((0..=2_000).contains(&late_millis), "{late_millis} ms");
}

#[test]
fn movable_jobs_wait_until_the_exact_ones_of_their_second_are_out() {
    let (service, mut driver) = spike(200, 20);
    let overrides = Overrides { late_seconds: Some(1), ..Overrides::default() };
    let movable = JobSpec { overrides, ..job_spec(at(NINE)) };
    let jobs = (0..400).map(|number| (format!("movable-{number}"), movable.clone()));
    driver.run(service.accept(jobs.collect()));
    start(&service, &driver);
    driver.run_until(at("2026-12-01T09:05:00Z"));
    service.assert_each_delivered_once();
    let of_lane = |prefix: &str| {
        let jobs = service.outside.store.jobs().into_iter();
        let of_lane = jobs.filter(|job| job.id.as_str().starts_with(prefix));
        of_lane.filter_map(|job| job.sent_at).collect::<Vec<_>>()
    };
    assert!(of_lane("job").into_iter().max() < of_lane("movable").into_iter().min());
}

#[test]
fn reconcile_makes_no_storm_of_jobs_that_are_carried_for_long() {
    let (service, mut driver) = spike(3_000, 3);
    start(&service, &driver);
    driver.run_until(at("2026-12-01T10:00:00Z"));
    service.assert_each_delivered_once();
    let last = *sent_by_second(&service).keys().next_back().unwrap();
    assert_eq!(last, 999);
    assert_eq!(reconciled(&service), 0, "none was taken for lost");
}

#[test]
fn a_carried_job_whose_message_was_lost_is_found_after_its_planned_release() {
    let (service, mut driver) = spike(3_000, 20);
    service.start_ticks(&driver);
    // The carried jobs of 09:01 are staged, and lost.
    driver.run_until(at("2026-12-01T09:00:30Z"));
    let lost_count = service.outside.queue.message_count(Lane::Exact);
    assert!(lost_count > 60, "{lost_count}");
    service.outside.queue.purge(Lane::Exact);
    service.start_dispatch(&driver);
    driver.run_until(at("2026-12-01T09:03:30Z"));
    let came = service.arrivals().len();
    assert!((500..700).contains(&came), "{came}: those of 09:02; those before are lost");
    driver.run_until(at("2026-12-01T09:30:00Z"));
    service.assert_each_delivered_once();
}

#[test]
fn a_minute_is_planned_once_whatever_the_policy_says_later() {
    let (service, mut driver) = spike(1_200, 20);
    driver.run_until(at("2026-12-01T08:59:00Z"));
    // A run that plans the minute and dies as it takes the unit.
    service.outside.faults.on_every(Operation::Lease, Fault::CrashBefore);
    let dying = service.clone();
    driver.spawn(async move {
        dying.tick().await.ok();
    });
    driver.run_for_seconds(1);
    service.outside.faults.stop();
    let store = service.outside.store.clone();
    let planned = driver.run(store.plan(minute("2026-12-01T09:00Z"))).unwrap().unwrap();
    for per_second in [Some(500), None] {
        set_rate(&service, per_second);
        driver.run(service.tick()).unwrap();
        let in_force = driver.run(store.plan(minute("2026-12-01T09:00Z"))).unwrap().unwrap();
        assert_eq!(in_force, planned);
    }
    start(&service, &driver);
    driver.run_until(at("2026-12-01T09:15:00Z"));
    service.assert_each_delivered_once();
    assert_eq!(*sent_by_second(&service).keys().next_back().unwrap(), 59);
}

#[test]
fn what_is_carried_when_its_channel_loses_its_rate_is_released_in_the_next_minute() {
    let (service, mut driver) = spike(3_000, 20);
    start(&service, &driver);
    driver.run_until(at("2026-12-01T08:59:30Z"));
    set_rate(&service, None);
    driver.run_until(at("2026-12-01T09:15:00Z"));
    service.assert_each_delivered_once();
    let sent = sent_by_second(&service);
    assert_eq!(*sent.keys().next_back().unwrap(), 60);
}

#[test]
fn an_outage_over_carried_jobs_loses_none_and_takes_them_in_due_order() {
    let (service, mut driver) = spike(3_000, 5);
    driver.run_until(at("2026-12-01T08:59:00Z"));
    driver.run(service.tick()).unwrap();
    service.start_dispatch(&driver);
    driver.run_until(at("2026-12-01T10:30:20Z"));
    assert!(service.arrivals().len() < 400, "a minute's worth");
    start(&service, &driver);
    driver.run_until(at("2026-12-01T11:30:00Z"));
    service.assert_each_delivered_once();
}

#[test]
fn a_minute_is_counted_for_channels_with_a_rate_alone() {
    let pages = |per_second| {
        let (service, mut driver) = spike(10, 20);
        set_rate(&service, per_second);
        driver.run_until(at("2026-12-01T08:58:00Z"));
        driver.run(service.tick()).unwrap();
        let before = service.outside.faults.call_count(Operation::Page);
        driver.run_until(at("2026-12-01T08:59:00Z"));
        driver.run(service.tick()).unwrap();
        service.outside.faults.call_count(Operation::Page) - before
    };
    // Eight shards are counted; one is read to split the minute, and eight to stage it.
    assert_eq!((pages(Some(20)), pages(None)), (17, 9));
}

#[test]
fn runs_at_once_stage_a_spike_by_one_plan() {
    let (service, mut driver) = spike(2_000, 20);
    service.outside.faults.on_every(Operation::Page, Fault::Slow(300));
    service.outside.store.set_page_jobs_max(50);
    for _ in 0..3 {
        service.start_ticks(&driver);
    }
    service.start_dispatch(&driver);
    driver.run_until(at("2026-12-01T09:15:00Z"));
    service.assert_each_delivered_once();
    assert_eq!(reconciled(&service), 0, "each was staged once");
    assert_eq!(*sent_by_second(&service).keys().next_back().unwrap(), 99);
}
