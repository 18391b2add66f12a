//! Channels of kind webhook (R21): signed requests over HTTPS to addresses that are checked.
//!
//! A [`sender::WebhookSender`] posts each delivery by itself. [`signature`] signs it, the
//! connector lets it reach nothing but what [`spillway_domain::webhook::Reach`] allows, and
//! `answer` says what the receiver's status means for the job. `docs/webhooks.md` is what
//! receivers read.

#![deny(missing_docs)]

mod answer;
mod connector;
pub mod network;
pub mod sender;
pub mod signature;
