//! The queues, watched.

use spillway_app::ports::{
    DeadLetter, DeadLetterQueues, DeadLetters, JobQueue, OutgoingMessage, PortError, QueueDepth,
    QueueMessage, Receipt, ReceivedLetter,
};
use spillway_domain::precision::Lane;
use spillway_testkit::Operation;

use super::Watched;
use crate::faults::ledger::Invariant;

impl<P: JobQueue + Clone + 'static> JobQueue for Watched<P> {
    async fn send_batch(
        &self,
        lane: Lane,
        messages: &[OutgoingMessage],
    ) -> Vec<Result<(), PortError>> {
        let subject = messages.first().map(subject).unwrap_or_default();
        if let Some(lateness) = self.user.lateness(Operation::SendBatch, subject) {
            let (inner, batch) = (self.inner.clone(), messages.to_vec());
            let call = async move { drop(inner.send_batch(lane, &batch).await) };
            let told: Result<(), _> = self.user.lands_late(lateness, call).await;
            let why = told.err().map_or(String::new(), |error| error.to_string());
            return messages
                .iter()
                .map(|_| Err(PortError::Transient(why.clone().into())))
                .collect();
        }
        let answers = self.inner.send_batch(lane, messages).await;
        for answer in &answers {
            // No fault of a run is a lasting one.
            if let Err(PortError::Permanent(why)) = answer {
                self.user.scene.ledger().breaks(Invariant::LimitsRespected, why.to_string());
            }
        }
        answers
    }
}

impl<P: DeadLetters + Clone + 'static> DeadLetters for Watched<P> {
    async fn send(&self, letter: &DeadLetter) -> Result<(), PortError> {
        let subject = letter.job_id.as_str();
        if let Some(lateness) = self.user.lateness(Operation::SendDeadLetter, subject) {
            let (inner, letter) = (self.inner.clone(), letter.clone());
            let call = async move { drop(inner.send(&letter).await) };
            return self.user.lands_late(lateness, call).await;
        }
        self.inner.send(letter).await
    }
}

impl<P: DeadLetterQueues + Clone + 'static> DeadLetterQueues for Watched<P> {
    async fn receive(
        &self,
        lane: Lane,
        hidden_seconds: u32,
    ) -> Result<Vec<ReceivedLetter>, PortError> {
        self.inner.receive(lane, hidden_seconds).await
    }

    async fn delete(&self, lane: Lane, receipts: &[Receipt]) -> Result<(), PortError> {
        let subject = receipts.first().map_or("", Receipt::as_str);
        if let Some(lateness) = self.user.lateness(Operation::DeleteDeadLetters, subject) {
            let (inner, receipts) = (self.inner.clone(), receipts.to_vec());
            let call = async move { drop(inner.delete(lane, &receipts).await) };
            return self.user.lands_late(lateness, call).await;
        }
        self.inner.delete(lane, receipts).await
    }
}

fn subject(outgoing: &OutgoingMessage) -> &str {
    match &outgoing.message {
        QueueMessage::Release(pack) => {
            pack.entries.first().map_or("", |entry| entry.job_id.as_str())
        }
        QueueMessage::Record(record) => record.job_id.as_str(),
    }
}

impl<P: QueueDepth> QueueDepth for Watched<P> {
    async fn waiting_count(&self, lane: Lane) -> Result<u64, PortError> {
        self.inner.waiting_count(lane).await
    }
}
