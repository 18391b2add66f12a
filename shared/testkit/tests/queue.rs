//! The queues keep the limits and the habits of the real ones.

use std::cell::RefCell;

use spillway_app::ports::{Clock as _, JobQueue as _, OutgoingMessage, PortError, QueueMessage};
use spillway_domain::pack::{DueJob, packs};
use spillway_domain::precision::Lane;
use spillway_testkit::build::{at, exact_job};
use spillway_testkit::{
    Dice, Fault, Operation, Outside, Quirks, ReceivedMessage, body_bytes, serve,
};

const NOW: &str = "2026-12-01T09:00:00.250Z";

fn outside() -> Outside {
    Outside::at(at(NOW))
}

fn message(id: &str) -> QueueMessage {
    let job = exact_job(id, at("2026-12-01T09:30:00Z"), at(NOW));
    QueueMessage::Release(packs([DueJob::of(&job)]).remove(0))
}

fn outgoing(id: &str, delay_seconds: u16) -> OutgoingMessage {
    OutgoingMessage { message: message(id), delay_seconds }
}

fn send(outside: &Outside, batch: &[OutgoingMessage]) -> Vec<Result<(), PortError>> {
    outside.driver().run(outside.queue.send_batch(Lane::Exact, batch))
}

fn received(outside: &Outside) -> Vec<ReceivedMessage> {
    outside.queue.receive(Lane::Exact)
}

fn are_all_refused_for_good(answers: &[Result<(), PortError>]) -> bool {
    answers.iter().all(|answer| matches!(answer, Err(PortError::Permanent(_))))
}

#[test]
fn a_delay_is_kept_to_the_second() {
    for delay in [0, 1, 59, 900] {
        let outside = outside();
        send(&outside, &[outgoing("a", delay)])[0].as_ref().unwrap();
        if delay > 0 {
            outside.clock.move_to(at(NOW).plus_seconds(i64::from(delay)).plus_millis(-1));
            assert_eq!(received(&outside), []);
            outside.clock.advance_millis(1);
        }
        assert_eq!(received(&outside)[0].message, message("a"));
    }
}

#[test]
fn a_delay_of_901_seconds_is_refused_for_good_and_the_rest_of_its_batch_is_sent() {
    let outside = outside();
    let answers = send(&outside, &[outgoing("a", 900), outgoing("b", 901), outgoing("c", 0)]);
    assert!(answers[0].is_ok() && are_all_refused_for_good(&answers[1..2]) && answers[2].is_ok());
    assert_eq!(outside.queue.message_count(Lane::Exact), 2);
}

#[test]
fn a_batch_of_eleven_messages_is_refused_for_good() {
    let outside = outside();
    let answers = send(&outside, &vec![outgoing("a", 0); 11]);
    assert_eq!(answers.len(), 11);
    assert!(are_all_refused_for_good(&answers));
    assert_eq!(outside.queue.message_count(Lane::Exact), 0);
}

#[test]
fn a_batch_of_more_than_a_mebibyte_is_refused_for_good() {
    let outside = outside();
    let large = OutgoingMessage { message: message_of_bytes(120_000), delay_seconds: 0 };
    assert!(send(&outside, &vec![large.clone(); 8]).iter().all(Result::is_ok));
    assert!(are_all_refused_for_good(&send(&outside, &vec![large; 9])));
    assert_eq!(outside.queue.message_count(Lane::Exact), 8);
}

/// A message of about so many bytes; no pack that the domain builds is as large.
fn message_of_bytes(bytes: usize) -> QueueMessage {
    let QueueMessage::Release(mut pack) = message("a") else { panic!("a pack") };
    let entry = pack.entries[0].clone();
    let one = body_bytes(&QueueMessage::Release(pack.clone()));
    pack.entries.push(entry.clone());
    let entry_bytes = body_bytes(&QueueMessage::Release(pack.clone())) - one;
    pack.entries.resize(bytes / entry_bytes, entry);
    QueueMessage::Release(pack)
}

#[test]
fn ten_messages_are_received_at_most() {
    let outside = outside();
    for _ in 0..3 {
        send(&outside, &vec![outgoing("a", 0); 8]);
    }
    let counts = [(); 4].map(|()| received(&outside).len());
    assert_eq!(counts, [10, 10, 4, 0]);
}

#[test]
fn a_message_that_is_not_deleted_comes_back_after_the_visibility_time_out() {
    let outside = outside();
    outside.queue.put(Lane::Exact, message("a"), 0);
    outside.queue.put(Lane::Movable, message("b"), 0);
    let first = received(&outside).remove(0);
    outside.queue.receive(Lane::Movable);
    outside.clock.advance_millis(29_999);
    assert_eq!(received(&outside), []);
    outside.clock.advance_millis(1);
    let again = received(&outside).remove(0);
    assert_eq!((again.id, again.receive_count), (first.id, 2));
    outside.clock.advance_millis(59_999);
    assert_eq!(outside.queue.receive(Lane::Movable), []);
    outside.clock.advance_millis(1);
    assert_eq!(outside.queue.receive(Lane::Movable)[0].receive_count, 2);
}

#[test]
fn a_deleted_message_does_not_come_back() {
    let outside = outside();
    outside.queue.put(Lane::Exact, message("a"), 0);
    outside.queue.delete(&received(&outside)[0]);
    outside.clock.advance_seconds(3_600);
    assert_eq!(received(&outside), []);
    assert_eq!(outside.queue.message_count(Lane::Exact), 0);
}

#[test]
fn an_old_receipt_deletes_nothing() {
    let outside = outside();
    outside.queue.put(Lane::Exact, message("a"), 0);
    let first = received(&outside).remove(0);
    outside.clock.advance_seconds(30);
    received(&outside);
    outside.queue.delete(&first);
    assert_eq!(outside.queue.message_count(Lane::Exact), 1);
}

#[test]
fn a_message_that_was_received_a_hundred_times_is_put_aside() {
    let outside = outside();
    outside.queue.put(Lane::Exact, message("a"), 0);
    for _ in 0..100 {
        assert_eq!(received(&outside).len(), 1);
        outside.clock.advance_seconds(30);
    }
    assert_eq!(received(&outside), []);
    assert_eq!(outside.queue.put_aside(Lane::Exact), [message("a")]);
}

#[test]
fn a_doubled_message_comes_twice_under_one_id() {
    let outside = outside();
    outside.queue.set_quirks(Lane::Exact, Quirks { doubled_per_mille: 1_000, ..Quirks::NONE });
    send(&outside, &[outgoing("a", 5)]);
    outside.clock.advance_seconds(5);
    let both = received(&outside);
    assert_eq!(both.iter().map(|copy| &copy.id).collect::<Vec<_>>(), [&both[0].id; 2]);
    outside.queue.delete(&both[0]);
    assert_eq!(outside.queue.message_count(Lane::Exact), 1);
}

#[test]
fn what_a_lane_holds_can_be_doubled_at_any_time() {
    let outside = outside();
    send(&outside, &[outgoing("a", 0), outgoing("b", 700)]);
    received(&outside);
    outside.queue.duplicate_all(Lane::Exact);
    let copies: Vec<_> = received(&outside).into_iter().map(|copy| copy.message).collect();
    assert_eq!(copies, [message("b"), message("a")]);
    assert_eq!(outside.queue.message_count(Lane::Exact), 4);
}

#[test]
fn a_shuffled_lane_gives_its_messages_in_an_order_that_its_seed_repeats() {
    let order = |seed| {
        let outside = outside();
        let dice = Dice::from_seed(seed);
        outside.queue.set_quirks(Lane::Exact, Quirks { dice, is_shuffled: true, ..Quirks::NONE });
        let batch: Vec<_> = (0..10).map(|n| outgoing(&n.to_string(), 0)).collect();
        send(&outside, &batch);
        received(&outside).into_iter().map(|message| message.id).collect::<Vec<_>>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn a_receiver_waits_for_a_delay_and_for_a_send() {
    let outside = outside();
    let mut driver = outside.driver();
    send(&outside, &[outgoing("late", 60)]);
    let (queue, clock) = (outside.queue.clone(), outside.clock.clone());
    driver.spawn(async move {
        clock.sleep_until(at(NOW).plus_seconds(20)).await;
        queue.put(Lane::Exact, message("soon"), 0);
    });
    for (id, seconds) in [("soon", 20), ("late", 60)] {
        let batch = driver.run(outside.queue.receive_next(Lane::Exact));
        assert_eq!(batch[0].message, message(id));
        assert_eq!(outside.clock.now(), at(NOW).plus_seconds(seconds));
        outside.queue.delete(&batch[0]);
    }
}

#[test]
fn a_lost_answer_of_a_batch_has_sent_it() {
    let outside = outside();
    outside.faults.on_next(Operation::SendBatch, Fault::LoseAnswer);
    let answers = send(&outside, &[outgoing("a", 0), outgoing("b", 0)]);
    assert!(answers.iter().all(|answer| matches!(answer, Err(PortError::Transient(_)))));
    assert_eq!(received(&outside).len(), 2);
}

#[test]
fn one_message_of_a_batch_fails_alone() {
    let outside = outside();
    outside.faults.on_call(Operation::SendMessage, 2, Fault::FailBefore);
    let answers = send(&outside, &[outgoing("a", 0), outgoing("b", 0), outgoing("c", 0)]);
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    let sent: Vec<_> = received(&outside).into_iter().map(|sent| sent.message).collect();
    assert_eq!(sent, [message("a"), message("c")]);
}

#[test]
fn a_served_lane_deletes_what_did_not_fail_and_the_rest_comes_back() {
    let (outside, seen) = (outside(), RefCell::new(Vec::new()));
    let mut driver = outside.driver();
    let handler = |batch: Vec<ReceivedMessage>| {
        seen.borrow_mut().push((outside.clock.now(), batch.len()));
        let bad = batch.iter().find(|received| received.message == message("bad"));
        let failed = bad.filter(|received| received.receive_count == 1);
        let failed: Vec<_> = failed.map(|received| received.id.clone()).into_iter().collect();
        async { failed }
    };
    driver.spawn(serve(outside.queue.clone(), Lane::Exact, driver.spawner(), handler));
    send(&outside, &[outgoing("good", 10), outgoing("bad", 10)]);
    driver.run_for_seconds(3_600);
    let expected = [(at(NOW).plus_seconds(10), 2), (at(NOW).plus_seconds(40), 1)];
    assert_eq!(*seen.borrow(), expected);
    assert_eq!(outside.queue.message_count(Lane::Exact), 0);
}

#[test]
fn what_is_not_taken_stays_the_next_to_be_received() {
    let outside = outside();
    send(&outside, &["a", "b", "c"].map(|id| outgoing(id, 0)));
    let mut left = 2;
    let batch = outside.queue.receive_while(Lane::Exact, |_| {
        left -= 1;
        left >= 0
    });
    assert_eq!(
        batch.iter().map(|it| it.message.clone()).collect::<Vec<_>>(),
        ["a", "b"].map(message)
    );
    assert_eq!(outside.queue.receive_while(Lane::Exact, |_| false), []);
    assert_eq!(received(&outside)[0].message, message("c"));
}
