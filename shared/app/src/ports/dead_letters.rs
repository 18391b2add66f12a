use spillway_domain::job::Generation;
use spillway_domain::name::{ChannelName, ClassName, JobId};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

use super::PortError;

/// What the dead-letter queue is told of a failed job: enough to find it and put it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The job.
    pub job_id: JobId,
    /// The life that failed.
    pub generation: Generation,
    /// Its channel.
    pub channel: ChannelName,
    /// Its class, when it has one.
    pub class: Option<ClassName>,
    /// How often it was tried.
    pub attempts: u32,
    /// What the channel said last.
    pub reason: String,
    /// When it failed.
    pub failed_at: Instant,
}

/// The dead-letter queue of a dispatch deployment.
pub trait DeadLetters: Send + Sync {
    /// Sends an entry.
    fn send(&self, letter: &DeadLetter) -> impl Future<Output = Result<(), PortError>> + Send;
}

/// What deletes an entry that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt(String);

impl Receipt {
    /// Takes what the queue gave.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Shows what the queue gave.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An entry as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedLetter {
    /// What it says; none when it is no entry of dispatch's, but a message that no code could read
    /// and that the lane's queue put aside.
    pub letter: Option<DeadLetter>,
    /// What deletes it.
    pub receipt: Receipt,
}

/// The dead-letter queues of both lanes, for whoever puts failed jobs back.
pub trait DeadLetterQueues: Send + Sync {
    /// Receives at most ten entries of a lane, and hides them from other calls for so many seconds,
    /// 1 to 43,200. Waits up to a second for one: no entry means that there is none to be had.
    fn receive(
        &self,
        lane: Lane,
        hidden_seconds: u32,
    ) -> impl Future<Output = Result<Vec<ReceivedLetter>, PortError>> + Send;

    /// Deletes at most ten received entries of a lane. After an error some of them may be deleted;
    /// deleting them again is safe.
    fn delete(
        &self,
        lane: Lane,
        receipts: &[Receipt],
    ) -> impl Future<Output = Result<(), PortError>> + Send;
}
