//! The stored form of a message.

use spillway_app::ports::{DeadLetter, QueueMessage};

/// Says why a message's body is none of ours.
#[derive(Debug, thiserror::Error)]
#[error("no message of a known kind and shape")]
pub struct MessageError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Writes a message's body.
pub fn to_json(_message: &QueueMessage) -> String {
    todo!()
}

/// Reads a message's body.
pub fn from_json(_body: &str) -> Result<QueueMessage, MessageError> {
    todo!()
}

/// Writes a dead-letter entry's body.
pub fn dead_letter_to_json(_letter: &DeadLetter) -> String {
    todo!()
}

/// Reads a dead-letter entry's body.
pub fn dead_letter_from_json(_body: &str) -> Result<DeadLetter, MessageError> {
    todo!()
}
