//! A dead-letter queue on SQS.

use aws_sdk_sqs::Client;
use spillway_app::ports::{DeadLetter, DeadLetters, PortError};

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
    async fn send(&self, _letter: &DeadLetter) -> Result<(), PortError> {
        todo!()
    }
}
