//! What is held back is passed on unclaimed, and goes back to the table in the end.

use spillway_app::dispatch_jobs::Ending;
use spillway_domain::job::State;
use spillway_domain::precision::Lane;
use spillway_testkit::build::{at, exact_job, job_spec};
use spillway_testkit::{Fault, Operation};

use crate::service::Service;

const DUE: &str = "2026-12-01T09:00:00Z";

fn pause(service: &Service, paused: bool) {
    service.change_policy(|policy| {
        policy.channels.values_mut().for_each(|channel| channel.paused = paused);
    });
}

#[test]
fn a_paused_channel_holds_its_jobs_for_hours_and_spends_no_attempt() {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    let jobs = (0..50).map(|number| (format!("job-{number}"), job_spec(at(DUE))));
    driver.run(service.accept(jobs.collect()));
    pause(&service, true);
    driver.run_for_seconds(6 * 3_600);
    assert!(service.arrivals().is_empty());
    assert!(service.ended(Ending::Returned) > 0, "more than 100 hops go back to the table");
    assert!(service.outside.store.jobs().iter().all(|job| job.attempts == 0));
    pause(&service, false);
    driver.run_for_seconds(3_600);
    service.assert_each_delivered_once();
}

#[test]
fn a_held_back_job_can_still_be_cancelled() {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    service.start_dispatch(&driver);
    driver.run(service.accept(vec![("a".into(), job_spec(at(DUE)))]));
    pause(&service, true);
    driver.run_for_seconds(600);
    driver.run(service.cancel("a"));
    pause(&service, false);
    driver.run_for_seconds(600);
    assert_eq!(service.state("a"), State::Cancelled);
    assert!(service.arrivals().is_empty());
}

#[test]
fn jobs_of_a_channel_that_the_policy_lost_wait_for_its_return() {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    service.start_dispatch(&driver);
    driver.run(service.accept(vec![("a".into(), job_spec(at(DUE)))]));
    let lost = std::cell::RefCell::new(std::collections::BTreeMap::new());
    service.change_policy(|policy| lost.replace(std::mem::take(&mut policy.channels)).clear());
    driver.run_for_seconds(600);
    assert_eq!(service.state("a"), State::Scheduled);
    service.change_policy(|policy| policy.channels = lost.take());
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
}

#[test]
fn a_message_that_comes_far_too_early_is_passed_on_and_the_job_leaves_on_its_second() {
    let service = Service::at(at("2026-12-01T08:30:00Z"));
    let mut driver = service.outside.driver();
    service.put_staged([exact_job("a", at("2026-12-01T08:40:00Z"), at("2026-12-01T08:00:00Z"))]);
    service.start_dispatch(&driver);
    driver.run_for_seconds(1_200);
    service.assert_each_delivered_once();
    let sent_at = service.outside.store.job("a").unwrap().sent_at;
    assert_eq!(sent_at, Some(at("2026-12-01T08:40:00Z")));
}

#[test]
fn a_job_whose_release_is_more_than_900_seconds_away_goes_back_to_the_table() {
    let service = Service::at(at("2026-12-01T08:30:00Z"));
    let mut driver = service.outside.driver();
    service.put_staged([exact_job("a", at(DUE), at("2026-12-01T08:00:00Z"))]);
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    driver.run_for_seconds(2);
    assert_eq!(service.ended(Ending::Returned), 1);
    assert_eq!(service.outside.queue.message_count(Lane::Exact), 0);
    driver.run_for_seconds(3_600);
    service.assert_each_delivered_once();
    assert_eq!(service.outside.store.job("a").unwrap().sent_at, Some(at(DUE)));
}

#[test]
fn entries_that_cannot_be_passed_on_bring_their_message_back() {
    let service = Service::at(at("2026-12-01T08:59:59Z"));
    let mut driver = service.outside.driver();
    service.put_staged([exact_job("a", at(DUE), at("2026-12-01T08:00:00Z"))]);
    pause(&service, true);
    service.outside.faults.on_every(Operation::SendMessage, Fault::FailBefore);
    let batch = service.outside.queue.receive(Lane::Exact);
    let ids: Vec<_> = batch.iter().map(|message| message.id.clone()).collect();
    assert_eq!(driver.run(service.dispatch(Lane::Exact, 0, batch)), ids);
}

#[test]
fn an_entry_whose_claim_is_not_answered_waits_twice_as_long_with_every_hop() {
    let service = Service::at(at("2026-12-01T08:59:59Z"));
    let mut driver = service.outside.driver();
    service.put_staged([exact_job("a", at(DUE), at("2026-12-01T08:00:00Z"))]);
    service.outside.faults.on_every(Operation::Claim, Fault::FailBefore);
    service.start_dispatch(&driver);
    driver.run_for_seconds(300);
    let delays: Vec<_> = service
        .outside
        .queue
        .sent(Lane::Exact)
        .iter()
        .map(|sent| sent.outgoing.delay_seconds)
        .collect();
    // The first is the message that was staged.
    assert_eq!(delays[1..7], [2, 3, 5, 9, 17, 33]);
    service.outside.faults.stop();
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
}

#[test]
fn what_is_passed_on_of_a_pack_goes_on_together() {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    let due = at(DUE);
    service.put_staged((0..100).map(|number| exact_job(&format!("job-{number}"), due, due)));
    driver.run_until(due);
    // Claims take about a second, each its own time: some begin too late, and are left to another.
    for call in 1..=100_u64 {
        let millis = 900 + i64::try_from(call).unwrap() * 7;
        service.outside.faults.on_call(Operation::Claim, call, Fault::Slow(millis));
    }
    service.start_dispatch(&driver);
    driver.run_for_seconds(600);
    service.assert_each_delivered_once();
    let passed_on = service.ended(Ending::PassedOn);
    assert!(passed_on >= 20, "{passed_on} were passed on");
    let packs = service.sent_packs(Lane::Exact).len();
    assert!(packs <= 6, "{passed_on} jobs went on in {packs} messages");
}
