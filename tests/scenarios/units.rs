//! Staging units: runs that work together, stop, die, and are taken over (R11, R12).

use spillway_app::ports::{Clock as _, StagingUnits as _};
use spillway_domain::precision::Lane;
use spillway_domain::time::Minute;
use spillway_domain::unit::Split;
use spillway_testkit::build::{at, job_spec, minute, shards};
use spillway_testkit::{Driver, Fault, Operation};

use crate::service::Service;

const TICK: &str = "2026-12-01T08:59:00Z";

/// So many exact jobs of one second, accepted long before, and a service at their tick.
fn at_the_tick(count: usize) -> (Service, Driver<'static>) {
    let service = Service::at(at("2026-12-01T08:00:00Z"));
    let mut driver = service.outside.driver();
    let due = at("2026-12-01T09:00:30Z");
    let jobs = (0..count).map(|number| (format!("job-{number}"), job_spec(due)));
    driver.run(service.accept(jobs.collect()));
    driver.run_until(at("2026-12-01T08:58:00Z"));
    driver.run(service.tick()).unwrap();
    driver.run_until(at(TICK));
    (service, driver)
}

fn due_minute() -> Minute {
    minute("2026-12-01T09:00Z")
}

fn split_into(service: &Service, driver: &mut Driver<'static>, units: u16) {
    let split = Split::new(shards(8), units).unwrap();
    driver.run(service.outside.store.write_split(due_minute(), split)).unwrap();
}

fn deliver_all(service: &Service, driver: &mut Driver<'static>) {
    service.start_ticks(driver);
    service.start_dispatch(driver);
    driver.run_for_seconds(3_600);
    service.assert_each_delivered_once();
}

#[test]
fn jobs_of_one_second_fill_packs_across_all_shards() {
    let (service, mut driver) = at_the_tick(1_000);
    driver.run(service.tick()).unwrap();
    let sizes: Vec<_> =
        service.sent_packs(Lane::Exact).iter().map(|pack| pack.entries.len()).collect();
    assert_eq!(sizes, [100; 10]);
    assert_eq!(service.outside.faults.call_count(Operation::SendBatch), 1);
    deliver_all(&service, &mut driver);
}

#[test]
fn runs_at_once_share_a_minute_and_stage_each_job_once() {
    let (service, mut driver) = at_the_tick(800);
    split_into(&service, &mut driver, 4);
    service.outside.faults.on_every(Operation::Page, Fault::Slow(200));
    for _ in 0..3 {
        let service = service.clone();
        driver.spawn(async move {
            let report = service.tick().await.unwrap();
            assert!(report.staged_count > 0, "each run has its share");
        });
    }
    driver.run_for_seconds(30);
    assert_eq!(service.sent_jobs_count(), 800);
    service.outside.faults.stop();
    assert_eq!(driver.run(service.tick()).unwrap().minutes_count, 0, "the watermark has moved");
    deliver_all(&service, &mut driver);
}

#[test]
fn a_run_stops_before_its_deadline_and_the_next_goes_on_from_its_checkpoint() {
    let (service, mut driver) = at_the_tick(1_000);
    service.outside.store.set_page_jobs_max(10);
    service.outside.faults.on_every(Operation::Page, Fault::Slow(1_000));
    let first = driver.run(service.tick()).unwrap();
    let ended_at = service.outside.clock.now();
    assert!(ended_at < at(TICK).plus_seconds(55), "ended at {ended_at:?}");
    assert_eq!((first.minutes_count, first.left_minutes_count), (0, 1));
    assert!((1..1_000).contains(&first.staged_count), "{first:?}");
    service.outside.faults.stop();
    let second = driver.run(service.tick()).unwrap();
    assert_eq!((second.minutes_count, second.left_minutes_count), (1, 0));
    assert_eq!(first.staged_count + second.staged_count, 1_000);
    assert_eq!(service.sent_jobs_count(), 1_000, "no job is staged again");
    deliver_all(&service, &mut driver);
}

#[test]
fn a_run_whose_reads_do_not_end_stops_in_time_and_without_an_error() {
    let (service, mut driver) = at_the_tick(100);
    for number in [1, 3, 8] {
        let first = service.outside.faults.call_count(Operation::Page);
        service.outside.faults.on_call(Operation::Page, first + number, Fault::Hang);
        let began_at = service.outside.clock.now();
        let report = driver.run(service.tick()).unwrap();
        assert_eq!(report.left_minutes_count, 1, "{number}");
        assert!(service.outside.clock.now() < began_at.plus_seconds(55));
    }
    deliver_all(&service, &mut driver);
}

#[test]
fn the_unit_of_a_run_that_died_is_taken_over_when_its_lease_is_over() {
    let (service, mut driver) = at_the_tick(100);
    service.outside.faults.on_next(Operation::WriteProgress, Fault::CrashBefore);
    let crashing = service.clone();
    driver.spawn(async move { drop(crashing.tick().await) });
    driver.settle();
    driver.run_until(at(TICK).plus_seconds(58));
    let early = driver.run(service.tick()).unwrap();
    assert_eq!((early.staged_count, early.left_minutes_count), (0, 1), "another run has it");
    driver.run_until(at(TICK).plus_seconds(60));
    assert_eq!(driver.run(service.tick()).unwrap().staged_count, 100);
    deliver_all(&service, &mut driver);
}

#[test]
fn a_minute_that_is_staged_is_not_staged_again_while_an_earlier_one_is_left() {
    let service = Service::at(at("2026-12-01T08:00:00Z"));
    let mut driver = service.outside.driver();
    let jobs = [("early", "2026-12-01T09:00:30Z"), ("later", "2026-12-01T09:01:30Z")];
    let jobs = jobs.map(|(id, due)| (id.to_owned(), job_spec(at(due))));
    driver.run(service.accept(jobs.to_vec()));
    driver.run_until(at("2026-12-01T08:58:00Z"));
    driver.run(service.tick()).unwrap();
    driver.run_until(at("2026-12-01T09:00:00Z"));
    service.outside.faults.on_next(Operation::WriteProgress, Fault::CrashBefore);
    let crashing = service.clone();
    driver.spawn(async move { drop(crashing.tick().await) });
    driver.settle();
    let beside = driver.run(service.tick()).unwrap();
    assert_eq!((beside.minutes_count, beside.left_minutes_count), (1, 1));
    driver.run_until(at("2026-12-01T09:01:00Z"));
    let next = driver.run(service.tick()).unwrap();
    assert_eq!(next.staged_count, 1, "only what was left");
    deliver_all(&service, &mut driver);
}

#[test]
fn a_throttled_index_and_a_throttled_queue_only_delay_staging() {
    let (service, mut driver) = at_the_tick(500);
    let throttle = |operation| {
        for number in [1, 2, 3, 5, 8] {
            let next = service.outside.faults.call_count(operation) + number;
            service.outside.faults.on_call(operation, next, Fault::FailBefore);
        }
    };
    for operation in
        [Operation::Page, Operation::SendBatch, Operation::Lease, Operation::WriteProgress]
    {
        throttle(operation);
    }
    let report = driver.run(service.tick()).unwrap();
    assert_eq!((report.minutes_count, report.staged_count), (1, 500));
    assert_eq!(service.sent_jobs_count(), 500);
    deliver_all(&service, &mut driver);
}

#[test]
fn of_a_batch_that_was_taken_in_part_the_rest_alone_is_sent_again() {
    let (service, mut driver) = at_the_tick(1_000);
    let first = service.outside.faults.call_count(Operation::SendMessage);
    for number in [2, 3, 7, 11] {
        service.outside.faults.on_call(Operation::SendMessage, first + number, Fault::FailBefore);
    }
    let report = driver.run(service.tick()).unwrap();
    assert_eq!((report.minutes_count, report.staged_count), (1, 1_000));
    assert_eq!(service.sent_jobs_count(), 1_000);
    deliver_all(&service, &mut driver);
}

#[test]
fn a_run_that_cannot_send_leaves_its_unit_to_the_next_at_once() {
    let (service, mut driver) = at_the_tick(100);
    service.outside.faults.on_every(Operation::SendMessage, Fault::FailBefore);
    driver.run(service.tick()).unwrap_err();
    service.outside.faults.stop();
    assert_eq!(driver.run(service.tick()).unwrap().staged_count, 100);
    deliver_all(&service, &mut driver);
}

#[test]
fn growing_the_shard_count_while_jobs_wait_loses_none() {
    let service = Service::at(at("2026-12-01T08:50:00Z"));
    let mut driver = service.outside.driver();
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    // A job every other second, due from the next minute on to a quarter of an hour ahead.
    for number in 0..600_i64 {
        if number == 100 {
            service.want_shards(64);
        }
        let due = at("2026-12-01T08:51:00Z").plus_seconds(number * 2 + number * 37 % 900);
        let accepting = service.clone();
        driver.spawn(async move {
            accepting.accept(vec![(format!("job-{number}"), job_spec(due))]).await;
        });
        driver.run_for_seconds(2);
    }
    driver.run_for_seconds(3_600);
    assert_eq!(service.outside.store.jobs().len(), 600);
    service.assert_each_delivered_once();
    let jobs = service.outside.store.jobs();
    assert!(jobs.iter().all(|job| job.lateness_millis().unwrap() < 2_000), "none was missed");
}

#[test]
fn a_lower_shard_count_is_refused_and_every_shard_is_read_on() {
    let service = Service::at(at("2026-12-01T08:00:00Z"));
    let mut driver = service.outside.driver();
    service.want_shards(64);
    driver.run(service.tick()).unwrap();
    driver.run_for_seconds(30);
    let due = at("2026-12-01T09:00:30Z");
    let jobs = (0..200).map(|number| (format!("job-{number}"), job_spec(due)));
    driver.run(service.accept(jobs.collect()));
    let beyond = |bucket: spillway_domain::bucket::Bucket| bucket.shard.number() >= 8;
    let jobs = service.outside.store.jobs();
    assert!(jobs.iter().any(|job| job.bucket.is_some_and(beyond)));
    service.want_shards(8);
    deliver_all(&service, &mut driver);
}
