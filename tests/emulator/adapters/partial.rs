//! A batch that the queue takes in part.

use aws_sdk_sqs::types::QueueAttributeName;
use spillway_app::ports::{JobQueue as _, OutgoingMessage, PortError, QueueMessage};
use spillway_aws::message;
use spillway_aws::sqs_job_queue::SqsJobQueue;
use spillway_domain::job::Generation;
use spillway_domain::pack::{Pack, PackEntry, PackKey};
use spillway_domain::precision::Lane;
use spillway_testkit::build::{at, channel, job_id};

use super::with_resources;

fn pack(number: u32, jobs: usize) -> QueueMessage {
    let release_at = at("2026-12-01T09:00:00Z");
    let generation = Generation::first(release_at);
    let ids = (0..jobs).map(|job| job_id(format!("{number}-{job}")));
    let entries = ids.map(|job_id| PackEntry { job_id, generation }).collect();
    let key = PackKey { release_at, channel: channel("inbox"), lane: Lane::Exact };
    QueueMessage::Release(Pack { key, hops: number, entries })
}

/// The emulator can be brought to refuse single messages by their size alone.
#[test]
fn a_batch_that_is_taken_in_part_is_answered_message_by_message() {
    with_resources(async |resources| {
        let url = &resources.queues.exact;
        let call = resources.sdk.queues().set_queue_attributes().queue_url(url);
        let call = call.attributes(QueueAttributeName::MaximumMessageSize, "1024");
        call.send().await.unwrap();

        let queue = SqsJobQueue::new(resources.sdk.queues(), resources.queues.clone());
        let messages = [pack(0, 1), pack(1, 100), pack(2, 2), pack(3, 100)];
        let batch = messages.clone().map(|message| OutgoingMessage { message, delay_seconds: 0 });
        let answers = queue.send_batch(Lane::Exact, &batch).await;
        assert_eq!(
            answers.iter().map(Result::is_ok).collect::<Vec<_>>(),
            [true, false, true, false]
        );
        let refused = |answer: &Result<(), _>| matches!(answer, Err(PortError::Permanent(_)));
        assert!(refused(&answers[1]) && refused(&answers[3]), "{answers:?}");

        let mut arrived = Vec::new();
        while arrived.len() < 2 {
            let bodies = resources.receive(url).await;
            arrived.extend(bodies.iter().map(|body| message::from_json(body).unwrap()));
        }
        assert!([0, 2].iter().all(|&place| arrived.contains(&messages[place])), "{arrived:?}");
        assert!(resources.receive(url).await.is_empty(), "the others were not taken");
    });
}
