//! Sending messages over the in-memory queue, with its limits and scripted faults.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use spillway_app::ports::{Clock as _, PortError, QueueMessage};
use spillway_app::send_messages::{PendingMessage, send_messages};
use spillway_domain::pack::{DueJob, packs};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;
use spillway_testkit::build::{at, exact_job};
use spillway_testkit::{Fault, Operation, Outside};

const NOW: &str = "2026-12-01T08:59:00Z";

/// Builds a message a second, the first for 09:00:00.
fn pending(count: usize) -> Vec<PendingMessage> {
    (0..count)
        .map(|n| {
            let release_at = at("2026-12-01T09:00:00Z").plus_seconds(n.try_into().unwrap());
            let job = exact_job(&format!("job-{n}"), release_at, at(NOW));
            let pack = packs([DueJob::of(&job)]).remove(0);
            PendingMessage { message: QueueMessage::Release(pack), release_at }
        })
        .collect()
}

fn send(
    outside: &Outside,
    messages: Vec<PendingMessage>,
    until: Instant,
) -> Vec<Result<(), PortError>> {
    let sending = send_messages(&outside.queue, &outside.clock, Lane::Exact, messages, until);
    outside.driver().run(sending)
}

/// Names the jobs of the messages that were sent, in order.
fn sent(outside: &Outside) -> Vec<String> {
    let sent = outside.queue.sent(Lane::Exact).into_iter();
    sent.map(|sent| match sent.outgoing.message {
        QueueMessage::Release(pack) => pack.entries[0].job_id.to_string(),
        QueueMessage::Record(record) => record.job_id.to_string(),
    })
    .collect()
}

fn later(seconds: i64) -> Instant {
    at(NOW).plus_seconds(seconds)
}

#[test]
fn messages_go_in_tens_and_each_once() {
    let outside = Outside::at(at(NOW));
    let answers = send(&outside, pending(25), later(5));
    assert!(answers.len() == 25 && answers.iter().all(Result::is_ok));
    assert_eq!(outside.faults.call_count(Operation::SendBatch), 3);
    assert_eq!(sent(&outside), (0..25).map(|n| format!("job-{n}")).collect::<Vec<_>>());
    assert_eq!(outside.clock.now(), at(NOW), "nothing waits");
}

#[test]
fn nothing_to_send_is_no_call() {
    let outside = Outside::at(at(NOW));
    assert!(send(&outside, Vec::new(), later(5)).is_empty());
    assert_eq!(outside.faults.call_count(Operation::SendBatch), 0);
}

#[test]
fn of_a_batch_that_failed_in_part_the_failed_ones_alone_are_sent_again() {
    let outside = Outside::at(at(NOW));
    outside.faults.on_call(Operation::SendMessage, 2, Fault::FailBefore);
    outside.faults.on_call(Operation::SendMessage, 9, Fault::FailBefore);
    let answers = send(&outside, pending(10), later(5));
    assert!(answers.iter().all(Result::is_ok));
    let mut sent = sent(&outside);
    assert_eq!(sent[8..], ["job-1", "job-8"]);
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), 10);
}

#[test]
fn a_lasting_fault_is_answered_at_once_and_in_its_place() {
    let outside = Outside::at(at(NOW));
    outside.faults.on_call(Operation::SendMessage, 4, Fault::Refuse);
    let answers = send(&outside, pending(12), later(5));
    let failed: Vec<_> = (0..12).filter(|n| answers[*n].is_err()).collect();
    assert_eq!(failed, [3]);
    assert!(matches!(answers[3], Err(PortError::Permanent(_))));
    assert_eq!(outside.faults.call_count(Operation::SendMessage), 12);
}

#[test]
fn tries_end_with_the_deadline_and_are_further_and_further_apart() {
    let outside = Outside::at(at(NOW));
    outside.faults.on_every(Operation::SendBatch, Fault::FailBefore);
    let answers = send(&outside, pending(1), later(3));
    assert!(matches!(answers[..], [Err(PortError::Transient(_))]));
    // At 0, 50, 150, 350, 750, 1550 and 2350 ms; the next would begin at 3150.
    assert_eq!(outside.faults.call_count(Operation::SendBatch), 7);
    assert_eq!(outside.clock.now(), later(0).plus_millis(2_350));
}

#[test]
fn every_message_is_tried_once_even_after_the_deadline() {
    let outside = Outside::at(at(NOW));
    let answers = send(&outside, pending(1), later(-60));
    assert!(answers[0].is_ok());
    outside.faults.on_every(Operation::SendBatch, Fault::FailBefore);
    assert!(send(&outside, pending(1), later(-60))[0].is_err());
    assert_eq!(outside.faults.call_count(Operation::SendBatch), 2);
}

#[test]
fn a_release_too_far_for_the_queue_gets_the_longest_delay() {
    let outside = Outside::at(later(-3_600));
    assert!(send(&outside, pending(1), later(0))[0].is_ok());
    assert_eq!(outside.queue.sent(Lane::Exact)[0].outgoing.delay_seconds, 900);
}

#[test]
fn the_delay_is_worked_out_when_the_batch_is_sent() {
    let outside = Outside::at(at(NOW));
    outside.faults.on_call(Operation::SendBatch, 1, Fault::FailBefore);
    assert!(send(&outside, pending(1), later(5))[0].is_ok());
    // 60 s before the release the first try asks for 59 s; the second, 50 ms later, too. Its
    // message is put at 0.05 s, so that it is there 0.95 s before the release.
    assert_eq!(outside.queue.sent(Lane::Exact)[0].outgoing.delay_seconds, 59);
    let outside = Outside::at(later(0).plus_millis(590));
    outside.faults.on_call(Operation::SendBatch, 1, Fault::FailBefore);
    assert!(send(&outside, pending(1), later(5))[0].is_ok());
    // 59.41 s less 0.4 s were 59 whole seconds; 50 ms later they are 58.
    assert_eq!(outside.queue.sent(Lane::Exact)[0].outgoing.delay_seconds, 58);
}

#[test]
fn a_thousand_messages_of_a_queue_that_fails_now_and_then_are_all_sent() {
    for seed in 0..20 {
        println!("seed {seed}");
        let outside = Outside::at(at(NOW));
        let dice = spillway_testkit::Dice::from_seed(seed);
        let operations = [Operation::SendBatch, Operation::SendMessage];
        let ways = [Fault::FailBefore, Fault::LoseAnswer, Fault::Slow(30)];
        outside.faults.at_random(dice, 200, &operations, &ways);
        let answers = send(&outside, pending(1_000), later(60));
        assert!(answers.iter().all(Result::is_ok));
        let mut sent = sent(&outside);
        sent.sort_unstable();
        sent.dedup();
        assert_eq!(sent.len(), 1_000);
    }
}

#[test]
fn the_future_can_move_between_threads() {
    fn assert_send<T: Send>(_: &T) {}
    let outside = Outside::at(at(NOW));
    let sending = send_messages(&outside.queue, &outside.clock, Lane::Exact, pending(1), later(5));
    assert_send(&sending);
    assert!(outside.driver().run(sending)[0].is_ok());
}
