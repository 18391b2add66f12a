//! The dead-letter queues on SQS, for whoever puts failed jobs back.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message};
use spillway_app::ports::{
    BATCH_MESSAGES_MAX, DeadLetterQueues, PortError, Receipt, ReceivedLetter,
};
use spillway_domain::precision::Lane;

use crate::call_error::{CallError, call_error, port_error, refused_entry};
use crate::config::QueueUrls;
use crate::message;

const DELETE: &str = "DeleteMessageBatch";
/// What is answered for a receipt whose entry was deleted before, as when that answer was lost.
const NO_SUCH_ENTRY: &str = "ReceiptHandleIsInvalid";
/// How long a receive waits for an entry, in seconds: one that does not wait asks a part of the
/// queue's servers, and may miss what the others hold.
const WAIT_SECONDS: i32 = 1;

/// The dead-letter queues of both lanes.
#[derive(Clone, Debug)]
pub struct SqsDeadLetterQueues {
    client: Client,
    urls: QueueUrls,
}

impl SqsDeadLetterQueues {
    /// Reaches both lanes' dead-letter queues.
    pub fn new(client: Client, urls: QueueUrls) -> Self {
        Self { client, urls }
    }

    fn url(&self, lane: Lane) -> &str {
        match lane {
            Lane::Exact => &self.urls.exact,
            Lane::Movable => &self.urls.movable,
        }
    }

    async fn delete_all(&self, lane: Lane, receipts: &[Receipt]) -> Result<(), CallError> {
        let entries = receipts.iter().enumerate().map(entry).collect::<Result<_, _>>()?;
        let call = self.client.delete_message_batch().queue_url(self.url(lane));
        let answer = call.set_entries(Some(entries)).send().await;
        let answer = answer.map_err(|error| call_error(DELETE, error))?;
        let mut failed = answer.failed.iter().filter(|entry| entry.code != NO_SUCH_ENTRY);
        failed.next().map_or(Ok(()), |entry| Err(refused_entry(DELETE, entry)))
    }
}

impl DeadLetterQueues for SqsDeadLetterQueues {
    async fn receive(
        &self,
        lane: Lane,
        hidden_seconds: u32,
    ) -> Result<Vec<ReceivedLetter>, PortError> {
        let call = self
            .client
            .receive_message()
            .queue_url(self.url(lane))
            .max_number_of_messages(i32::try_from(BATCH_MESSAGES_MAX).unwrap_or(1))
            .visibility_timeout(i32::try_from(hidden_seconds).unwrap_or(i32::MAX))
            .wait_time_seconds(WAIT_SECONDS);
        let answer = call.send().await.map_err(|error| port_error("ReceiveMessage", error))?;
        Ok(answer.messages.unwrap_or_default().into_iter().map(received).collect())
    }

    async fn delete(&self, lane: Lane, receipts: &[Receipt]) -> Result<(), PortError> {
        if receipts.is_empty() {
            return Ok(());
        }
        self.delete_all(lane, receipts).await.map_err(PortError::from)
    }
}

fn received(message: Message) -> ReceivedLetter {
    let receipt = Receipt::new(message.receipt_handle.unwrap_or_default());
    let letter = message::dead_letter_from_json(&message.body.unwrap_or_default());
    let letter = letter
        .inspect_err(|error| {
            let message_id = message.message_id.unwrap_or_default();
            tracing::error!(?error, message_id, "dead-letter entry not read");
        })
        .ok();
    ReceivedLetter { letter, receipt }
}

/// An entry's id within its batch is its position.
fn entry(
    (position, receipt): (usize, &Receipt),
) -> Result<DeleteMessageBatchRequestEntry, CallError> {
    DeleteMessageBatchRequestEntry::builder()
        .id(position.to_string())
        .receipt_handle(receipt.as_str())
        .build()
        .map_err(|error| CallError::permanent(DELETE, error.to_string()))
}
