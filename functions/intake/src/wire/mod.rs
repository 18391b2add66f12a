//! What callers write and read: JSON text to values of `domain`, and back.

mod instant;
mod job;
mod json;
mod key;
mod spec;

pub(crate) use job::{JobAnswer, With};
pub(crate) use json::{Members, body_json, canonical, members};
pub(crate) use key::IdempotencyKey;
pub(crate) use spec::{Draft, checked_id};
