//! The delay queues on SQS.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchOutput;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use spillway_app::ports::{JobQueue, OutgoingMessage, PortError};
use spillway_domain::precision::Lane;

use crate::call_error::{CallError, call_error, refused_entry};
use crate::config::QueueUrls;
use crate::message;

const CALL: &str = "SendMessageBatch";

/// The delay queues of both lanes, or of one.
#[derive(Clone, Debug)]
pub struct SqsJobQueue {
    client: Client,
    exact_url: Option<String>,
    movable_url: Option<String>,
}

impl SqsJobQueue {
    /// Reaches both lanes' queues.
    pub fn new(client: Client, urls: QueueUrls) -> Self {
        Self { client, exact_url: Some(urls.exact), movable_url: Some(urls.movable) }
    }

    /// Reaches one lane's queue; a message for the other is refused.
    pub fn of_lane(client: Client, lane: Lane, url: String) -> Self {
        let (exact_url, movable_url) = match lane {
            Lane::Exact => (Some(url), None),
            Lane::Movable => (None, Some(url)),
        };
        Self { client, exact_url, movable_url }
    }

    fn url(&self, lane: Lane) -> Option<&String> {
        match lane {
            Lane::Exact => self.exact_url.as_ref(),
            Lane::Movable => self.movable_url.as_ref(),
        }
    }

    async fn send_all(
        &self,
        lane: Lane,
        messages: &[OutgoingMessage],
    ) -> Result<SendMessageBatchOutput, CallError> {
        let url = self.url(lane).ok_or_else(|| {
            let what = format!("this deployment knows no {} queue", lane.as_str());
            CallError::permanent(CALL, what)
        })?;
        let entries = messages.iter().enumerate().map(entry).collect::<Result<_, _>>()?;
        let call = self.client.send_message_batch().queue_url(url).set_entries(Some(entries));
        call.send().await.map_err(|error| call_error(CALL, error))
    }
}

impl JobQueue for SqsJobQueue {
    async fn send_batch(
        &self,
        lane: Lane,
        messages: &[OutgoingMessage],
    ) -> Vec<Result<(), PortError>> {
        if messages.is_empty() {
            return Vec::new();
        }
        let results = match self.send_all(lane, messages).await {
            Ok(output) => results_in_order(output, messages.len()),
            Err(error) => vec![Err(error); messages.len()],
        };
        let failed = results.iter().filter(|result| result.is_err()).count();
        tracing::debug!(lane = lane.as_str(), sent = results.len() - failed, failed, "batch sent");
        results.into_iter().map(|result| result.map_err(PortError::from)).collect()
    }
}

/// An entry's id within its batch is its position.
fn entry(
    (position, outgoing): (usize, &OutgoingMessage),
) -> Result<SendMessageBatchRequestEntry, CallError> {
    SendMessageBatchRequestEntry::builder()
        .id(position.to_string())
        .message_body(message::to_json(&outgoing.message))
        .delay_seconds(i32::from(outgoing.delay_seconds))
        .build()
        .map_err(|error| CallError::permanent(CALL, error.to_string()))
}

/// Puts the answer in the order of the messages. An entry that it does not mention may not have
/// been taken.
fn results_in_order(output: SendMessageBatchOutput, count: usize) -> Vec<Result<(), CallError>> {
    let taken = output.successful.into_iter().map(|entry| (entry.id, Ok(())));
    let refused =
        output.failed.into_iter().map(|entry| (entry.id.clone(), Err(refused_entry(CALL, &entry))));
    let mut results: HashMap<_, _> = taken.chain(refused).collect();
    let unmentioned = || Err(CallError::transient(CALL, "the answer does not mention the entry"));
    (0..count)
        .map(|position| results.remove(&position.to_string()).unwrap_or_else(unmentioned))
        .collect()
}
