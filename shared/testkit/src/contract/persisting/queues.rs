//! The delay queues, for a caller that persists.

use spillway_app::ports::{
    DeadLetter, DeadLetterQueues, JobQueue, OutgoingMessage, PortError, QueueDepth, QueueMessage,
    Receipt, ReceivedLetter,
};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

use super::{Persisting, TRIES_MAX, until_answered};
use crate::contract::Queues;

impl<T: Queues + Send + Sync> Queues for Persisting<T> {
    fn queue(&self) -> &impl JobQueue {
        self
    }

    fn depth(&self) -> &impl QueueDepth {
        self
    }

    async fn send_letter(&self, lane: Lane, letter: &DeadLetter) -> Result<(), PortError> {
        until_answered(|| self.0.send_letter(lane, letter)).await
    }

    fn dead_letter_queues(&self) -> &impl DeadLetterQueues {
        self
    }

    async fn receive(&self, lane: Lane) -> Vec<QueueMessage> {
        self.0.receive(lane).await
    }

    async fn hold(&self, lane: Lane) -> Vec<QueueMessage> {
        self.0.hold(lane).await
    }

    fn now(&self) -> Instant {
        self.0.now()
    }

    async fn pause(&self) {
        self.0.pause().await;
    }

    fn doubles_messages(&self) -> bool {
        true
    }
}

impl<T: Queues + Send + Sync> JobQueue for Persisting<T> {
    /// Sends again what was not taken, in a batch of its own.
    async fn send_batch(
        &self,
        lane: Lane,
        messages: &[OutgoingMessage],
    ) -> Vec<Result<(), PortError>> {
        let mut answers = self.0.queue().send_batch(lane, messages).await;
        for _ in 1..TRIES_MAX {
            let failed: Vec<_> = (0..answers.len())
                .filter(|&place| matches!(answers[place], Err(PortError::Transient(_))))
                .collect();
            if failed.is_empty() {
                break;
            }
            let again: Vec<_> = failed.iter().map(|&place| messages[place].clone()).collect();
            let answered_again = self.0.queue().send_batch(lane, &again).await;
            for (place, answer) in failed.into_iter().zip(answered_again) {
                answers[place] = answer;
            }
        }
        answers
    }
}

impl<T: Queues + Send + Sync> QueueDepth for Persisting<T> {
    async fn waiting_count(&self, lane: Lane) -> Result<u64, PortError> {
        until_answered(|| self.0.depth().waiting_count(lane)).await
    }
}

impl<T: Queues + Send + Sync> DeadLetterQueues for Persisting<T> {
    async fn receive(
        &self,
        lane: Lane,
        hidden_seconds: u32,
    ) -> Result<Vec<ReceivedLetter>, PortError> {
        until_answered(|| self.0.dead_letter_queues().receive(lane, hidden_seconds)).await
    }

    async fn delete(&self, lane: Lane, receipts: &[Receipt]) -> Result<(), PortError> {
        until_answered(|| self.0.dead_letter_queues().delete(lane, receipts)).await
    }
}
