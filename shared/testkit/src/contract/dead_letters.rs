//! The dead-letter queues.

use spillway_app::ports::{
    BATCH_MESSAGES_MAX, DeadLetter, DeadLetterQueues as _, Receipt, ReceivedLetter,
};
use spillway_domain::job::Generation;
use spillway_domain::precision::Lane;

use super::Queues;
use super::steps::answered;
use crate::build::{channel, class, job_id};

/// More receives than any of these clauses needs.
const RECEIVES_MAX: usize = 100;
/// How long entries are hidden, in seconds: those of an answer that was lost come again in time.
const HIDDEN_SECONDS: u32 = 5;

/// An entry says what was sent, with a class or without.
pub async fn an_entry_is_received_as_it_was_sent(queues: &impl Queues) {
    let one = DeadLetter { class: Some(class("otp")), ..letter(queues, "ü:\"quoted\"") };
    let other = letter(queues, "b");
    for letter in [&one, &other] {
        answered(queues.send_letter(Lane::Exact, letter).await);
    }
    arrive(queues, Lane::Exact, &[one, other]).await;
}

/// What is sent to one lane's is not received from the other's.
pub async fn each_lane_has_a_dead_letter_queue_of_its_own(queues: &impl Queues) {
    let [exact, movable] = Lane::ALL.map(|lane| letter(queues, lane.as_str()));
    answered(queues.send_letter(Lane::Exact, &exact).await);
    answered(queues.send_letter(Lane::Movable, &movable).await);
    arrive(queues, Lane::Movable, &[movable]).await;
    arrive(queues, Lane::Exact, &[exact]).await;
}

/// A call receives ten entries at most; those that follow bring the rest.
pub async fn at_most_ten_entries_are_received_at_once(queues: &impl Queues) {
    let letters: Vec<_> = (0..25).map(|number| letter(queues, &format!("job-{number}"))).collect();
    for letter in &letters {
        answered(queues.send_letter(Lane::Movable, letter).await);
    }
    arrive(queues, Lane::Movable, &letters).await;
}

/// An entry is hidden once it was received, and is there again after its time.
pub async fn a_received_entry_is_hidden_and_comes_again(queues: &impl Queues) {
    let letter = letter(queues, "a");
    answered(queues.send_letter(Lane::Exact, &letter).await);
    let first = next(queues, Lane::Exact, HIDDEN_SECONDS).await;
    assert_eq!(first.letter.as_ref(), Some(&letter));
    if !queues.doubles_messages() {
        let hidden = receive(queues, Lane::Exact, HIDDEN_SECONDS).await;
        assert_eq!(hidden, [], "it is hidden");
    }
    let again = next(queues, Lane::Exact, HIDDEN_SECONDS).await;
    assert_eq!(again.letter, Some(letter));
}

/// An entry that was deleted does not come again, and the others stay.
pub async fn a_deleted_entry_does_not_come_again(queues: &impl Queues) {
    let [kept, deleted] = ["kept", "deleted"].map(|id| letter(queues, id));
    for letter in [&kept, &deleted] {
        answered(queues.send_letter(Lane::Exact, letter).await);
    }
    let (mut deleted_count, mut kept_after_count) = (0, 0);
    for _ in 0..RECEIVES_MAX {
        for received in receive(queues, Lane::Exact, 1).await {
            if received.letter.as_ref() == Some(&deleted) {
                delete(queues, Lane::Exact, &[received]).await;
                deleted_count += 1;
            } else {
                assert_eq!(received.letter.as_ref(), Some(&kept));
                kept_after_count += u32::from(deleted_count > 0);
            }
        }
        if kept_after_count >= 3 {
            assert!(deleted_count == 1 || queues.doubles_messages(), "it came again");
            return;
        }
        queues.pause().await;
    }
    panic!("deleted {deleted_count} times, and the other came {kept_after_count} times");
}

/// Deleting an entry again, or none, is no error.
pub async fn deleting_again_is_safe(queues: &impl Queues) {
    answered(queues.send_letter(Lane::Exact, &letter(queues, "a")).await);
    let received = [next(queues, Lane::Exact, HIDDEN_SECONDS).await];
    delete(queues, Lane::Exact, &received).await;
    delete(queues, Lane::Exact, &received).await;
    delete(queues, Lane::Exact, &[]).await;
}

fn letter(queues: &impl Queues, id: &str) -> DeadLetter {
    DeadLetter {
        job_id: job_id(id),
        generation: Generation::first(queues.now()),
        channel: channel("inbox"),
        class: None,
        attempts: 5,
        reason: "no such user: \"ü\"".into(),
        failed_at: queues.now().plus_millis(7),
    }
}

async fn receive(queues: &impl Queues, lane: Lane, hidden_seconds: u32) -> Vec<ReceivedLetter> {
    let received = answered(queues.dead_letter_queues().receive(lane, hidden_seconds).await);
    assert!(received.len() <= BATCH_MESSAGES_MAX, "{} at once", received.len());
    received
}

async fn delete(queues: &impl Queues, lane: Lane, received: &[ReceivedLetter]) {
    let receipts: Vec<Receipt> = received.iter().map(|it| it.receipt.clone()).collect();
    answered(queues.dead_letter_queues().delete(lane, &receipts).await);
}

/// Receives until there is an entry.
async fn next(queues: &impl Queues, lane: Lane, hidden_seconds: u32) -> ReceivedLetter {
    for _ in 0..RECEIVES_MAX {
        let mut received = receive(queues, lane, hidden_seconds).await;
        if !received.is_empty() {
            return received.remove(0);
        }
        queues.pause().await;
    }
    panic!("no entry came");
}

/// Receives and deletes entries until each of `expected` was there; once, unless the ports double.
async fn arrive(queues: &impl Queues, lane: Lane, expected: &[DeadLetter]) {
    let mut missing = expected.to_vec();
    for _ in 0..RECEIVES_MAX {
        let received = receive(queues, lane, HIDDEN_SECONDS).await;
        for letter in received.iter().filter_map(|it| it.letter.as_ref()) {
            assert!(expected.contains(letter), "another one: {letter:?}");
            match missing.iter().position(|it| it == letter) {
                Some(place) => drop(missing.remove(place)),
                None => assert!(queues.doubles_messages(), "twice: {letter:?}"),
            }
        }
        delete(queues, lane, &received).await;
        if missing.is_empty() {
            return;
        }
        queues.pause().await;
    }
    panic!("these never came: {missing:?}");
}
