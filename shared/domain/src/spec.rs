//! What a caller asks for, kept as it was asked.

use alloc::string::String;

use crate::name::{ChannelName, ClassName};
use crate::time::Instant;

/// The most bytes of a payload's JSON text: 64 KiB (R29).
pub const PAYLOAD_BYTES_MAX: usize = 65_536;

/// A job as its caller asked for it. Two specs are the same job exactly when they are equal:
/// what the policy made of them does not count (R6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// The instant that the caller asked for; never changed.
    pub requested_at: Instant,
    /// Where the job goes.
    pub channel: ChannelName,
    /// The class whose contract it has; none makes it exact.
    pub class: Option<ClassName>,
    /// The contract fields that the caller gave one by one.
    pub overrides: Overrides,
    /// What is delivered.
    pub payload: Payload,
}

/// The contract fields that a caller gave, each in place of the class's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// How many seconds before `requested_at` the job may be handed over.
    pub early_seconds: Option<u32>,
    /// The length of the window after `requested_at`, in seconds.
    pub late_seconds: Option<u32>,
    /// 0 first, 9 last.
    pub priority: Option<u8>,
    /// Seconds after `requested_at` at which the job is no longer worth sending.
    pub expires_after_seconds: Option<u32>,
}

/// A payload as canonical JSON text: no white space, keys sorted, numbers as they were written.
/// Whoever builds one has made the text canonical, so that equal values are equal texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload(String);

/// Says that a payload's text has more than [`PAYLOAD_BYTES_MAX`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have at most 65536 bytes of JSON")]
pub struct PayloadTooLarge;

impl Payload {
    /// Takes canonical JSON text.
    ///
    /// # Errors
    /// [`PayloadTooLarge`] above [`PAYLOAD_BYTES_MAX`] bytes.
    ///
    /// ```
    /// use spillway_domain::spec::Payload;
    /// assert_eq!(Payload::from_canonical_json("{\"user\":42}").unwrap().as_json().len(), 11);
    /// ```
    pub fn from_canonical_json(text: impl Into<String>) -> Result<Self, PayloadTooLarge> {
        let text = text.into();
        if text.len() > PAYLOAD_BYTES_MAX { Err(PayloadTooLarge) } else { Ok(Self(text)) }
    }

    /// Shows the JSON text.
    ///
    /// ```
    /// use spillway_domain::spec::Payload;
    /// assert_eq!(Payload::from_canonical_json("null").unwrap().as_json(), "null");
    /// ```
    pub fn as_json(&self) -> &str {
        &self.0
    }
}
