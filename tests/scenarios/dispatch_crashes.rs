//! Dispatch at its crash points: nothing is lost, and twice only where the send was not answered.

use spillway_app::dispatch_jobs::Ending;
use spillway_domain::job::State;
use spillway_domain::precision::Lane;
use spillway_testkit::build::{at, exact_job, policy};
use spillway_testkit::{Driver, Ended, Fault, Operation, Reply, TaskId};

use crate::service::Service;

const DUE: &str = "2026-12-01T09:00:00Z";

/// One job, staged, a second before its release; both deployments run.
fn one_staged_job() -> (Service, Driver<'static>) {
    let service = Service::at(at("2026-12-01T08:59:59Z"));
    service.put_staged([exact_job("a", at(DUE), at("2026-12-01T08:00:00Z"))]);
    let driver = service.outside.driver();
    service.start_dispatch(&driver);
    (service, driver)
}

#[test]
fn a_job_without_faults_is_delivered_once_on_its_second() {
    let (service, mut driver) = one_staged_job();
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
    let arrival = &service.outside.channel.arrivals()[0];
    assert_eq!(arrival.delivery.sent_at, at(DUE));
    assert_eq!(service.outside.queue.message_count(Lane::Exact), 0);
}

#[test]
fn a_crash_right_after_the_claim_delays_the_job_and_delivers_it_once() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_call(Operation::Claim, 1, Fault::CrashAfter);
    driver.run_for_seconds(180);
    service.assert_each_delivered_once();
    // Nobody knows that the send never began.
    assert!(service.outside.store.job("a").unwrap().maybe_sent);
    assert_eq!(service.outside.store.job("a").unwrap().attempts, 2);
}

#[test]
fn a_crash_before_the_claim_has_no_trace() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_call(Operation::Claim, 1, Fault::CrashBefore);
    driver.run_for_seconds(180);
    service.assert_each_delivered_once();
    assert!(!service.outside.store.job("a").unwrap().maybe_sent);
}

#[test]
fn a_crash_right_after_the_send_delivers_twice_with_one_identity() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_call(Operation::SendDeliveries, 1, Fault::CrashAfter);
    driver.run_for_seconds(180);
    assert_eq!(service.state("a"), State::Delivered);
    let arrivals = service.outside.channel.arrivals_of("a");
    assert_eq!(arrivals.len(), 2);
    // The delivery_id is made of these two.
    let identities: Vec<_> = arrivals
        .iter()
        .map(|arrival| (arrival.delivery.job_id.clone(), arrival.delivery.created_at))
        .collect();
    assert_eq!(identities[0], identities[1]);
    assert!(service.outside.store.job("a").unwrap().maybe_sent, "the second one is told");
}

#[test]
fn a_crash_before_the_send_delivers_once() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_call(Operation::SendDeliveries, 1, Fault::CrashBefore);
    driver.run_for_seconds(180);
    service.assert_each_delivered_once();
}

#[test]
fn a_crash_right_after_the_record_delivers_once_and_the_old_message_is_dropped() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_call(Operation::RecordDelivered, 1, Fault::CrashAfter);
    driver.run_for_seconds(180);
    service.assert_each_delivered_once();
    assert_eq!(service.outside.queue.message_count(Lane::Exact), 0);
}

#[test]
fn a_claim_whose_answer_is_lost_is_found_to_be_ones_own() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_call(Operation::Claim, 1, Fault::LoseAnswer);
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
    let job = service.outside.store.job("a").unwrap();
    assert_eq!((job.attempts, job.maybe_sent), (1, false));
    assert_eq!(job.sent_at, Some(at(DUE)), "the second try is in time");
}

#[test]
fn a_record_whose_answer_is_lost_is_found_to_be_ones_own() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_call(Operation::RecordDelivered, 1, Fault::LoseAnswer);
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
    assert_eq!(service.ended(Ending::DeliveredTwice), 0);
}

#[test]
fn a_record_that_fails_to_the_deadline_is_made_by_a_message_of_its_own() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_every(Operation::RecordDelivered, Fault::FailBefore);
    driver.run_for_seconds(17);
    assert_eq!(service.state("a"), State::Claimed);
    assert_eq!(service.ended(Ending::RecordPassedOn), 1);
    service.outside.faults.stop();
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
}

#[test]
fn a_record_that_cannot_be_written_before_its_claim_runs_out_is_still_found_by_its_message() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_every(Operation::RecordDelivered, Fault::FailBefore);
    driver.run_for_seconds(600);
    service.outside.faults.stop();
    driver.run_for_seconds(600);
    assert_eq!(service.state("a"), State::Delivered);
    // Nothing but the message that records is left of the pack, so that nobody sends again.
    assert_eq!(service.arrivals()["a"], 1);
}

#[test]
fn two_copies_of_a_message_that_run_at_once_deliver_once() {
    let (service, mut driver) = one_staged_job();
    service.outside.queue.duplicate_all(Lane::Exact);
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
}

#[test]
fn two_copies_in_one_batch_have_tokens_of_their_own() {
    let service = Service::at(at("2026-12-01T08:59:59Z"));
    let job = exact_job("a", at(DUE), at("2026-12-01T08:00:00Z"));
    service.put_staged([job.clone()]);
    service.put_staged([job]);
    let mut driver = service.outside.driver();
    let batch = service.outside.queue.receive(Lane::Exact);
    assert_eq!(batch.len(), 2);
    driver.run(service.dispatch(Lane::Exact, 0, batch));
    assert_eq!(service.arrivals()["a"], 1);
    assert_eq!(service.ended(Ending::Delivered), 1);
    assert_eq!(service.ended(Ending::PassedOn), 1, "the other copy waits for the claim's end");
}

#[test]
fn a_pack_is_split_when_part_of_it_cannot_be_claimed_yet() {
    let service = Service::at(at("2026-12-01T08:59:59Z"));
    let jobs = (0..100)
        .map(|number| exact_job(&format!("job-{number}"), at(DUE), at("2026-12-01T08:00:00Z")));
    service.put_staged(jobs);
    let mut driver = service.outside.driver();
    service.start_dispatch(&driver);
    // One claim is refused by the store: that entry goes on alone.
    let victim = spillway_testkit::build::job_id("job-7");
    service.outside.faults.on_job(Operation::Claim, &victim, Fault::Refuse);
    driver.run_for_seconds(1);
    assert_eq!(service.ended(Ending::Delivered), 99);
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
    let sent = service.outside.queue.sent(Lane::Exact);
    let split_off = &sent.last().unwrap().outgoing.message;
    let spillway_app::ports::QueueMessage::Release(pack) = split_off else { panic!("{sent:?}") };
    assert_eq!((pack.entries.len(), pack.hops), (1, 1));
}

#[test]
fn a_channel_that_answers_too_late_is_asked_again_and_the_second_time_is_told() {
    let (service, mut driver) = one_staged_job();
    service.outside.channel.reply_next("a", Reply::ArriveAndHang);
    driver.run_for_seconds(180);
    assert_eq!(service.state("a"), State::Delivered);
    assert_eq!(service.arrivals()["a"], 2);
    assert!(service.outside.store.job("a").unwrap().maybe_sent);
}

#[test]
fn a_hanging_channel_does_not_hold_up_the_others_of_the_batch() {
    let service = Service::at(at("2026-12-01T08:59:59Z"));
    let created = at("2026-12-01T08:00:00Z");
    let bus = spillway_testkit::build::channel("bus");
    let mut on_bus = exact_job("on-bus", at(DUE), created);
    on_bus.spec.channel = bus;
    service.put_staged([exact_job("hangs", at(DUE), created), on_bus]);
    service.outside.channel.reply_next("hangs", Reply::LoseAndHang);
    let mut driver = service.outside.driver();
    service.start_dispatch(&driver);
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
    let prompt = service.outside.channel.arrivals_of("on-bus");
    assert_eq!(prompt[0].delivery.sent_at, at(DUE));
    assert_eq!(prompt[0].target, policy().channels[&prompt_channel()].target);
}

fn prompt_channel() -> spillway_domain::name::ChannelName {
    spillway_testkit::build::channel("bus")
}

/// The invocation is dropped at each of its awaits in turn: the job is never lost, and it arrives
/// twice only when the crash came after the send began.
#[test]
fn a_crash_at_any_await_of_an_invocation_loses_nothing() {
    let mut crashes = 0;
    for polls in 1.. {
        let service = Service::at(at("2026-12-01T08:59:59Z"));
        let jobs = ["a", "b", "c"].map(|id| exact_job(id, at(DUE), at("2026-12-01T08:00:00Z")));
        service.put_staged(jobs);
        service.outside.channel.reply_next("b", Reply::Refuse);
        // Each call takes a while, so that each is an await of its own.
        for operation in Operation::ALL {
            service.outside.faults.on_every(*operation, Fault::Slow(1));
        }
        let mut driver = service.outside.driver();
        let batch = service.outside.queue.receive(Lane::Exact);
        let first = service.clone();
        let kept = batch.clone();
        let id: TaskId = driver.spawn(async move {
            let failed = first.dispatch(Lane::Exact, 0, batch).await;
            assert!(failed.is_empty());
            for message in &kept {
                first.outside.queue.delete(message);
            }
        });
        driver.crash_after_polls(id, polls);
        driver.run_for_seconds(5);
        let was_over = service.ended(Ending::Delivered) >= 2;
        let sends = service.outside.channel.arrivals().len();
        service.start_dispatch(&driver);
        driver.run_for_seconds(300);
        for (id, count) in service.arrivals() {
            assert_eq!(service.state(&id), State::Delivered, "{id} after {polls} polls");
            assert!(count == 1 || (count == 2 && sends > 0), "{id}: {count} after {polls} polls");
        }
        assert_eq!(service.arrivals().len(), 3, "after {polls} polls");
        service.assert_none_early();
        if was_over {
            break;
        }
        crashes += 1;
    }
    assert!(crashes >= 6, "the invocation was crashed at {crashes} awaits");
}

#[test]
fn a_batch_is_taken_again_when_its_invocation_never_answers() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_call(Operation::Claim, 1, Fault::Hang);
    driver.run_for_seconds(300);
    service.assert_each_delivered_once();
    assert_eq!(driver.try_run(async {}), Ended::Finished(()));
}

#[test]
fn a_job_that_two_dispatchers_delivered_is_counted_as_delivered_twice() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_every(Operation::RecordDelivered, Fault::FailBefore);
    driver.run_for_seconds(25);
    // The claim has run out, the record is still in its message, and an old copy comes along.
    let job = service.outside.store.job("a").unwrap();
    let pack = spillway_domain::pack::packs([spillway_domain::pack::DueJob::of(&job)]).remove(0);
    let message = spillway_app::ports::QueueMessage::Release(pack);
    service.outside.queue.put(Lane::Exact, message, 0);
    driver.run_for_seconds(5);
    service.outside.faults.stop();
    driver.run_for_seconds(300);
    assert_eq!(service.state("a"), State::Delivered);
    assert_eq!(service.arrivals()["a"], 2);
    assert_eq!(service.ended(Ending::DeliveredTwice), 1);
}

#[test]
fn a_claim_lasts_from_before_it_was_asked_for() {
    let (service, mut driver) = one_staged_job();
    service.outside.faults.on_call(Operation::Claim, 1, Fault::Slow(400));
    let asked_at = at("2026-12-01T08:59:59Z");
    driver.run_until(asked_at.plus_millis(500));
    let claim = service.outside.store.job("a").unwrap().claim.unwrap();
    assert_eq!(claim.until, asked_at.plus_seconds(20));
}

#[test]
fn a_claim_is_given_back_when_too_little_time_is_left_to_send() {
    let (service, mut driver) = one_staged_job();
    // The claim's answer takes so long that neither the claim nor the invocation has time left.
    service.outside.faults.on_call(Operation::Claim, 1, Fault::Slow(11_500));
    driver.run_for_seconds(12);
    assert_eq!(service.outside.faults.call_count(Operation::GiveBack), 1);
    driver.run_for_seconds(60);
    service.assert_each_delivered_once();
    let job = service.outside.store.job("a").unwrap();
    assert_eq!((job.attempts, job.maybe_sent), (1, false), "the first attempt never began");
}
