//! A dead-letter queue on SQS.

use aws_sdk_sqs::Client;
use spillway_app::ports::{DeadLetter, DeadLetters, PortError};

use crate::call_error::port_error;
use crate::message;

/// The dead-letter queue of a dispatch deployment.
#[derive(Clone, Debug)]
pub struct SqsDeadLetters {
    client: Client,
    url: String,
}

impl SqsDeadLetters {
    /// Reaches the queue at `url`.
    pub fn new(client: Client, url: impl Into<String>) -> Self {
        Self { client, url: url.into() }
    }
}

impl DeadLetters for SqsDeadLetters {
    async fn send(&self, letter: &DeadLetter) -> Result<(), PortError> {
        let body = message::dead_letter_to_json(letter);
        let call = self.client.send_message().queue_url(&self.url).message_body(body);
        call.send().await.map_err(|error| port_error("SendMessage", error))?;
        tracing::debug!(job_id = %letter.job_id, "dead-letter entry sent");
        Ok(())
    }
}
