//! How much waits in the delay queues on SQS.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;
use spillway_app::ports::{PortError, QueueDepth};
use spillway_domain::precision::Lane;

use crate::call_error::{CallError, call_error};
use crate::config::QueueUrls;

const CALL: &str = "GetQueueAttributes";

/// The depth of both lanes' queues.
#[derive(Clone, Debug)]
pub struct SqsQueueDepth {
    client: Client,
    urls: QueueUrls,
}

impl SqsQueueDepth {
    /// Reaches both lanes' queues.
    pub fn new(client: Client, urls: QueueUrls) -> Self {
        Self { client, urls }
    }

    async fn waiting(&self, lane: Lane) -> Result<u64, CallError> {
        let url = match lane {
            Lane::Exact => &self.urls.exact,
            Lane::Movable => &self.urls.movable,
        };
        let waiting = QueueAttributeName::ApproximateNumberOfMessages;
        let call = self.client.get_queue_attributes().queue_url(url);
        let answer = call.attribute_names(waiting.clone()).send().await;
        let answer = answer.map_err(|error| call_error(CALL, error))?;
        let count = answer.attributes.as_ref().and_then(|found| found.get(&waiting));
        count
            .and_then(|count| count.parse().ok())
            .ok_or_else(|| CallError::permanent(CALL, "the answer holds no count of messages"))
    }
}

impl QueueDepth for SqsQueueDepth {
    async fn waiting_count(&self, lane: Lane) -> Result<u64, PortError> {
        self.waiting(lane).await.map_err(PortError::from)
    }
}
