//! What the use cases need from outside, one trait an ability.
//!
//! Every answer tells a temporary fault from a lasting one ([`PortError`]); a condition that did
//! not hold is neither, but an outcome ([`Conditional`]).

mod channels;
mod clock;
mod dead_letters;
mod index;
mod limiter;
mod queue;
mod secrets;
mod settings;
mod staging_state;
mod staging_units;
mod store;

use std::error::Error;

pub use channels::{ChannelSender, DELIVERIES_MAX, Delivery};
pub use clock::Clock;
pub use dead_letters::{DeadLetter, DeadLetterQueues, DeadLetters, Receipt, ReceivedLetter};
pub use index::{DueIndex, DuePage, PageKey};
pub use limiter::Limiter;
pub use queue::{
    BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, JobQueue, OutgoingMessage, QueueDepth, QueueMessage,
};
pub use secrets::{SecretText, Secrets};
pub use settings::{PolicyStore, SettingsSource, StoredPolicy};
pub use staging_state::{StagingState, Versioned};
pub use staging_units::{CatchUp, Checkpoint, LeaseToken, Leased, Progress, StagingUnits};
pub use store::{
    Claims, Conditional, ConditionalResult, FailedBy, Failure, Intake, NextAttempt, Redrives,
};

/// A call to the outside that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Trying again may help: a throttle, a time-out, a server's fault.
    #[error("the outside failed for now")]
    Transient(#[source] Box<dyn Error + Send + Sync>),
    /// Trying again will not help: a missing permission, a missing table, a value out of shape.
    #[error("the outside refused")]
    Permanent(#[source] Box<dyn Error + Send + Sync>),
}
