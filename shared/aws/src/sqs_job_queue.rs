//! The delay queues on SQS.

use aws_sdk_sqs::Client;
use spillway_app::ports::{JobQueue, OutgoingMessage, PortError};
use spillway_domain::precision::Lane;

use crate::config::QueueUrls;

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
}

impl JobQueue for SqsJobQueue {
    async fn send_batch(
        &self,
        _lane: Lane,
        _messages: &[OutgoingMessage],
    ) -> Vec<Result<(), PortError>> {
        todo!()
    }
}
