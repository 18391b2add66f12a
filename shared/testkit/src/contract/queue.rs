//! The delay queues.

use spillway_app::ports::{
    BATCH_MESSAGES_MAX, JobQueue as _, OutgoingMessage, QueueDepth as _, QueueMessage,
};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::job::Generation;
use spillway_domain::name::JOB_ID_BYTES_MAX;
use spillway_domain::pack::{PACK_JOBS_MAX, Pack, PackEntry, PackKey};
use spillway_domain::precision::Lane;

use super::Queues;
use super::steps::{answered, eventually};
use crate::build::{channel, job_id};

/// More receives than any of these clauses needs.
const RECEIVES_MAX: usize = 100;

/// A batch is answered for each message, and each arrives as it was sent.
pub async fn a_batch_arrives_as_it_was_sent(queues: &impl Queues) {
    let messages: Vec<_> = (0..BATCH_MESSAGES_MAX)
        .map(|number| QueueMessage::Release(pack(queues, Lane::Exact, number, number + 1)))
        .collect();
    sends(queues, Lane::Exact, &messages, 0).await;
    arrive(queues, Lane::Exact, messages).await;
}

/// The largest packs, of the longest ids, travel ten in a batch.
pub async fn ten_of_the_largest_packs_fit_into_a_batch(queues: &impl Queues) {
    let messages: Vec<_> = (0..BATCH_MESSAGES_MAX)
        .map(|number| QueueMessage::Release(largest_pack(queues, number)))
        .collect();
    sends(queues, Lane::Movable, &messages, 0).await;
    arrive(queues, Lane::Movable, messages).await;
}

/// A record of a delivery arrives as it was sent.
pub async fn a_record_arrives_as_it_was_sent(queues: &impl Queues) {
    let record = QueueMessage::Record(DeliveryRecord {
        job_id: job_id("ü:\"quoted\""),
        generation: Generation::first(queues.now()),
        attempts: 3,
        sent_at: queues.now().plus_millis(1),
        delivered_at: queues.now().plus_millis(23),
        ttl_at: queues.now().plus_seconds(604_800),
    });
    sends(queues, Lane::Exact, std::slice::from_ref(&record), 0).await;
    arrive(queues, Lane::Exact, vec![record]).await;
}

/// Each lane has a queue of its own.
pub async fn each_lane_has_a_queue_of_its_own(queues: &impl Queues) {
    let [exact, movable] = Lane::ALL.map(|lane| QueueMessage::Release(pack(queues, lane, 0, 1)));
    sends(queues, Lane::Exact, std::slice::from_ref(&exact), 0).await;
    sends(queues, Lane::Movable, std::slice::from_ref(&movable), 0).await;
    arrive(queues, Lane::Movable, vec![movable]).await;
    arrive(queues, Lane::Exact, vec![exact]).await;
}

/// A delayed message arrives too; the longest delay, 900 s, is taken.
pub async fn a_delayed_message_arrives(queues: &impl Queues) {
    let [soon, later] =
        [1, 2].map(|number| QueueMessage::Release(pack(queues, Lane::Exact, number, 1)));
    sends(queues, Lane::Exact, std::slice::from_ref(&later), 900).await;
    sends(queues, Lane::Exact, std::slice::from_ref(&soon), 1).await;
    arrive(queues, Lane::Exact, vec![soon]).await;
}

/// An empty batch has no answers.
pub async fn an_empty_batch_has_no_answers(queues: &impl Queues) {
    assert_eq!(queues.queue().send_batch(Lane::Exact, &[]).await.len(), 0);
}

/// The depth of a lane counts what waits in it: nothing of the other lane, nothing that is delayed,
/// nothing that is in flight.
pub async fn the_depth_counts_waiting_messages_alone(queues: &impl Queues) {
    counts(queues, Lane::Exact, 0).await;
    let messages: Vec<_> =
        (0..4).map(|number| QueueMessage::Release(pack(queues, Lane::Exact, number, 1))).collect();
    sends(queues, Lane::Exact, &messages[..1], 900).await;
    counts(queues, Lane::Exact, 0).await;
    sends(queues, Lane::Exact, &messages[1..], 0).await;
    counts(queues, Lane::Exact, 3).await;
    counts(queues, Lane::Movable, 0).await;
    let are_in_flight = async || {
        queues.hold(Lane::Exact).await;
        answered(queues.depth().waiting_count(Lane::Exact).await) == 0
    };
    eventually(|| queues.pause(), "all are in flight and not counted", are_in_flight).await;
}

/// Holds the depth of a lane to come to be `expected`; or more, where messages are doubled.
async fn counts(queues: &impl Queues, lane: Lane, expected: u64) {
    let is_counted = async || {
        let count = answered(queues.depth().waiting_count(lane).await);
        count == expected || (expected > 0 && queues.doubles_messages() && count > expected)
    };
    eventually(|| queues.pause(), &format!("{expected} messages wait"), is_counted).await;
}

async fn sends(queues: &impl Queues, lane: Lane, messages: &[QueueMessage], delay_seconds: u16) {
    let outgoing =
        |message: &QueueMessage| OutgoingMessage { message: message.clone(), delay_seconds };
    let batch: Vec<_> = messages.iter().map(outgoing).collect();
    let answers = queues.queue().send_batch(lane, &batch).await;
    assert_eq!(answers.len(), batch.len(), "a batch is answered for each message");
    answers.into_iter().for_each(answered);
}

/// Receives until each message was there, in whatever order, and no other.
async fn arrive(queues: &impl Queues, lane: Lane, mut expected: Vec<QueueMessage>) {
    let sent = expected.clone();
    for _ in 0..RECEIVES_MAX {
        for message in queues.receive(lane).await {
            assert!(sent.contains(&message), "nothing was sent like {message:?}");
            expected.retain(|missing| *missing != message);
        }
        if expected.is_empty() {
            return;
        }
    }
    panic!("these never arrived: {expected:?}");
}

fn pack(queues: &impl Queues, lane: Lane, number: usize, jobs: usize) -> Pack {
    let ids = (0..jobs).map(|job| format!("ü:\"{number}\"-{job}"));
    pack_of(queues, lane, number, ids)
}

fn largest_pack(queues: &impl Queues, number: usize) -> Pack {
    let longest = |job| format!("{number}-{job:02}{}", "\"".repeat(JOB_ID_BYTES_MAX - 4));
    pack_of(queues, Lane::Movable, number, (0..PACK_JOBS_MAX).map(longest))
}

fn pack_of(
    queues: &impl Queues,
    lane: Lane,
    number: usize,
    ids: impl Iterator<Item = String>,
) -> Pack {
    let hops = u32::try_from(number).unwrap_or(0);
    let release_at = queues.now().plus_seconds(i64::from(hops));
    let generation = Generation::first(queues.now());
    let entries = ids.map(|id| PackEntry { job_id: job_id(id), generation }).collect();
    Pack { key: PackKey { release_at, channel: channel("inbox"), lane }, hops, entries }
}
