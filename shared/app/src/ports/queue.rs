use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::name::ChannelName;
use spillway_domain::pack::Pack;
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

use super::PortError;

/// The most messages of one batch.
pub const BATCH_MESSAGES_MAX: usize = 10;
/// The most bytes of one batch, all bodies together: 1 MiB.
pub const BATCH_BYTES_MAX: usize = 1_048_576;

/// A message of a lane's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueMessage {
    /// Jobs to release.
    Release(Pack),
    /// A delivery that is still to be recorded.
    Record(DeliveryRecord),
}

impl QueueMessage {
    /// Tells whose channel's jobs it releases; none when it only records.
    pub const fn channel(&self) -> Option<&ChannelName> {
        match self {
            Self::Release(pack) => Some(&pack.key.channel),
            Self::Record(_) => None,
        }
    }

    /// Tells when its jobs are released; none when it only records.
    pub const fn release_at(&self) -> Option<Instant> {
        match self {
            Self::Release(pack) => Some(pack.key.release_at),
            Self::Record(_) => None,
        }
    }
}

/// A message and how long the queue keeps it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// What is sent.
    pub message: QueueMessage,
    /// Its delay in seconds, 0 to 900.
    pub delay_seconds: u16,
}

/// The delay queues, one a lane.
pub trait JobQueue: Send + Sync {
    /// Sends at most [`BATCH_MESSAGES_MAX`] messages in one call and answers for each, in order.
    fn send_batch(
        &self,
        lane: Lane,
        messages: &[OutgoingMessage],
    ) -> impl Future<Output = Vec<Result<(), PortError>>> + Send;
}

/// How much waits in the delay queues.
pub trait QueueDepth: Send + Sync {
    /// Counts about how many messages of a lane could be received and are not: those that wait for
    /// a dispatcher, not the delayed ones and not those in flight. Eventually consistent.
    fn waiting_count(&self, lane: Lane) -> impl Future<Output = Result<u64, PortError>> + Send;
}
