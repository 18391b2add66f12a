//! The queues and the dead-letter queue, with mistakes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use spillway_app::ports::{
    Clock as _, DeadLetter, DeadLetterQueues, DeadLetters, JobQueue, OutgoingMessage, PortError,
    QueueDepth, Receipt, ReceivedLetter,
};
use spillway_domain::name::JobId;
use spillway_domain::precision::Lane;
use spillway_testkit::{InMemoryDeadLetters, InMemoryQueue};

use super::{Mutant, Mutated, Site};

/// How long after its success intake's message is sent, in milliseconds.
const SENT_AFTER_MILLIS: i64 = 250;

impl JobQueue for Mutated<InMemoryQueue> {
    async fn send_batch(
        &self,
        lane: Lane,
        messages: &[OutgoingMessage],
    ) -> Vec<Result<(), PortError>> {
        let is_intake = self.site.function == "intake";
        match self.site.mutant {
            Some(Mutant::NoDirectStaging) if is_intake => done(messages),
            Some(Mutant::SuccessBeforeSend) if is_intake => {
                let (queue, batch) = (self.inner.clone(), messages.to_vec());
                let clock = self.site.clock.clone();
                let sent_at = clock.now().plus_millis(SENT_AFTER_MILLIS);
                self.site.late.land(async move {
                    clock.sleep_until(sent_at).await;
                    drop(queue.send_batch(lane, &batch).await);
                });
                done(messages)
            }
            Some(Mutant::CheckpointBeforePacks) if self.site.function == "prefetch" => {
                locked(&self.site.kept_messages).push((lane, messages.to_vec()));
                done(messages)
            }
            Some(Mutant::UnprocessedAsSent) => {
                let answers = self.inner.send_batch(lane, messages).await;
                if answers.iter().any(Result::is_ok) { done(messages) } else { answers }
            }
            _ => self.inner.send_batch(lane, messages).await,
        }
    }
}

fn done(messages: &[OutgoingMessage]) -> Vec<Result<(), PortError>> {
    messages.iter().map(|_| Ok(())).collect()
}

impl DeadLetters for Mutated<InMemoryDeadLetters> {
    async fn send(&self, letter: &DeadLetter) -> Result<(), PortError> {
        if self.site.makes(Mutant::LetterAfterRow) {
            self.site.keep_letter(letter);
            return Ok(());
        }
        self.inner.send(letter).await
    }
}

impl DeadLetterQueues for Mutated<InMemoryDeadLetters> {
    async fn receive(
        &self,
        lane: Lane,
        hidden_seconds: u32,
    ) -> Result<Vec<ReceivedLetter>, PortError> {
        let received = self.inner.receive(lane, hidden_seconds).await?;
        if self.site.makes(Mutant::EntryDeletedFirst) {
            let receipts: Vec<_> = received.iter().map(|it| it.receipt.clone()).collect();
            self.inner.delete(lane, &receipts).await?;
        }
        Ok(received)
    }

    async fn delete(&self, lane: Lane, receipts: &[Receipt]) -> Result<(), PortError> {
        self.inner.delete(lane, receipts).await
    }
}

impl Site {
    fn keep_letter(&self, letter: &DeadLetter) {
        self.kept().push(letter.clone());
    }

    /// Gives the entries of a job that wait for its row to be written.
    pub(super) fn take_letters(&self, id: &JobId) -> Vec<DeadLetter> {
        self.kept().extract_if(.., |letter| letter.job_id == *id).collect()
    }

    fn kept(&self) -> MutexGuard<'_, Vec<DeadLetter>> {
        locked(&self.kept_letters)
    }

    /// Sends the messages that wait for the next checkpoint to be written.
    pub(super) async fn send_kept(&self) {
        let batches = std::mem::take(&mut *locked(&self.kept_messages));
        for (lane, messages) in batches {
            // A mistake that loses messages besides would be found by that.
            let mut failed = messages;
            while !failed.is_empty() {
                let answers = self.queue.send_batch(lane, &failed).await;
                let pairs = failed.into_iter().zip(answers);
                failed = pairs.filter(|(_, answer)| answer.is_err()).map(|(it, _)| it).collect();
            }
        }
    }
}

fn locked<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl QueueDepth for Mutated<InMemoryQueue> {
    async fn waiting_count(&self, lane: Lane) -> Result<u64, PortError> {
        self.inner.waiting_count(lane).await
    }
}
