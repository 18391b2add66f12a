//! The channels on SQS and `EventBridge`.

use aws_sdk_eventbridge::operation::put_events::PutEventsOutput;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchOutput;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::future::join_all;
use spillway_app::ports::{BATCH_BYTES_MAX, ChannelSender, DELIVERIES_MAX, Delivery};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::policy::Target;

use crate::clients::ChannelClients;
use crate::send_outcome;

/// The source of every event that Spillway puts on a bus.
pub const EVENT_SOURCE: &str = "spillway";
/// The detail type of every event that Spillway puts on a bus.
pub const EVENT_DETAIL_TYPE: &str = "job";

/// The most bytes of one `PutEvents` call: 256 KiB with source and detail type counted, less some
/// room for what else the service may count.
const EVENTS_BYTES_MAX: usize = 260_000;
const EVENT_BYTES: usize = EVENT_SOURCE.len() + EVENT_DETAIL_TYPE.len();

/// Hands jobs to the channels' queues and buses.
#[derive(Clone, Debug)]
pub struct AwsChannelSender {
    clients: ChannelClients,
}

/// Some of the bodies of a send, and where each belongs in the answer.
#[derive(Debug, Default)]
struct Batch {
    positions: Vec<usize>,
    bodies: Vec<String>,
    bytes: usize,
}

impl AwsChannelSender {
    /// Sends with clients that try once.
    pub fn new(clients: ChannelClients) -> Self {
        Self { clients }
    }

    async fn send_batch(&self, target: &Target, batch: Batch) -> Vec<(usize, SendOutcome)> {
        let outcomes = match target {
            Target::Sqs { queue_url } => self.send_messages(queue_url, batch.bodies).await,
            Target::EventBridge { bus_name } => self.put_events(bus_name, batch.bodies).await,
            Target::Webhook(_) => vec![send_outcome::of_foreign_target(); batch.bodies.len()],
        };
        batch.positions.into_iter().zip(outcomes).collect()
    }

    async fn send_messages(&self, queue_url: &str, bodies: Vec<String>) -> Vec<SendOutcome> {
        let count = bodies.len();
        let entries = bodies.into_iter().enumerate().map(|(position, body)| {
            let entry = SendMessageBatchRequestEntry::builder();
            entry.id(position.to_string()).message_body(body).build()
        });
        let call = self.clients.queues.send_message_batch().queue_url(queue_url);
        let answer = match entries.collect::<Result<_, _>>() {
            Ok(entries) => call.set_entries(Some(entries)).send().await,
            Err(error) => Err(error.into()),
        };
        match answer {
            Ok(output) => outcomes_of_messages(&output, count),
            Err(error) => send_outcome::of_failed_call(&error, count),
        }
    }

    async fn put_events(&self, bus_name: &str, bodies: Vec<String>) -> Vec<SendOutcome> {
        let count = bodies.len();
        let entries = bodies.into_iter().map(|body| {
            PutEventsRequestEntry::builder()
                .event_bus_name(bus_name)
                .source(EVENT_SOURCE)
                .detail_type(EVENT_DETAIL_TYPE)
                .detail(body)
                .build()
        });
        let call = self.clients.buses.put_events().set_entries(Some(entries.collect()));
        match call.send().await {
            Ok(output) => outcomes_of_events(&output, count),
            Err(error) => send_outcome::of_failed_call(&error, count),
        }
    }
}

impl ChannelSender for AwsChannelSender {
    async fn send(&self, target: &Target, deliveries: &[Delivery]) -> Vec<SendOutcome> {
        let mut outcomes = vec![send_outcome::of_missing_entry(); deliveries.len()];
        let mut bodies = Vec::with_capacity(deliveries.len());
        for (position, delivery) in deliveries.iter().enumerate() {
            match spillway_delivery::body(delivery) {
                Ok(body) => bodies.push((position, body)),
                Err(error) => outcomes[position] = send_outcome::of_unreadable_payload(&error),
            }
        }
        let sends = batches(target, bodies).into_iter().map(|it| self.send_batch(target, it));
        for (position, outcome) in join_all(sends).await.into_iter().flatten() {
            outcomes[position] = outcome;
        }
        let delivered = outcomes.iter().filter(|it| **it == SendOutcome::Delivered).count();
        tracing::debug!(sent = outcomes.len(), delivered, "handed to the channel");
        outcomes
    }
}

/// Splits bodies into calls that the target takes, in order.
fn batches(target: &Target, bodies: Vec<(usize, String)>) -> Vec<Batch> {
    let (bytes_max, overhead) = match target {
        Target::Sqs { .. } | Target::Webhook(_) => (BATCH_BYTES_MAX, 0),
        Target::EventBridge { .. } => (EVENTS_BYTES_MAX, EVENT_BYTES),
    };
    let mut batches: Vec<Batch> = Vec::new();
    for (position, body) in bodies {
        let bytes = body.len() + overhead;
        let has_room = batches.last().is_some_and(|batch| {
            batch.bytes + bytes <= bytes_max && batch.bodies.len() < DELIVERIES_MAX
        });
        if !has_room {
            batches.push(Batch::default());
        }
        if let Some(batch) = batches.last_mut() {
            batch.positions.push(position);
            batch.bodies.push(body);
            batch.bytes += bytes;
        }
    }
    batches
}

fn outcomes_of_messages(output: &SendMessageBatchOutput, count: usize) -> Vec<SendOutcome> {
    let outcome = |position: usize| {
        let id = position.to_string();
        if output.successful.iter().any(|entry| entry.id == id) {
            return SendOutcome::Delivered;
        }
        match output.failed.iter().find(|entry| entry.id == id) {
            Some(entry) => {
                send_outcome::of_entry(&entry.code, entry.message.as_deref().unwrap_or_default())
            }
            None => send_outcome::of_missing_entry(),
        }
    };
    (0..count).map(outcome).collect()
}

/// The answer of `PutEvents` has an entry for each event, in order.
fn outcomes_of_events(output: &PutEventsOutput, count: usize) -> Vec<SendOutcome> {
    let outcome = |position: usize| {
        let Some(entry) = output.entries().get(position) else {
            return send_outcome::of_missing_entry();
        };
        match (entry.error_code(), entry.event_id()) {
            (Some(code), _) => {
                send_outcome::of_entry(code, entry.error_message().unwrap_or_default())
            }
            (None, Some(_)) => SendOutcome::Delivered,
            (None, None) => send_outcome::of_missing_entry(),
        }
    };
    (0..count).map(outcome).collect()
}
