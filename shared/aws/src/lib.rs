//! The ports of app on `DynamoDB`, SQS, `EventBridge` and Parameter Store: the only crate that names an AWS API.
//!
//! [`config`] reads a function's environment, [`clients`] builds the SDK's clients from it, and
//! each adapter is named for its technology and its port. [`schema`] holds every name that the
//! template shares with the code, [`item`] the stored form of a job, [`message`] that of a message.

#![deny(missing_docs)]

mod attributes;
mod call_error;
pub mod channel_sender;
pub mod clients;
pub mod config;
mod control_item;
pub mod dynamodb_claims;
pub mod dynamodb_control;
pub mod dynamodb_due_index;
pub mod dynamodb_intake;
pub mod dynamodb_limiter;
pub mod dynamodb_policy_store;
pub mod dynamodb_redrives;
mod dynamodb_row;
mod dynamodb_units;
mod expression;
pub mod item;
pub mod message;
pub mod schema;
mod send_outcome;
pub mod sqs_dead_letter_queues;
pub mod sqs_dead_letters;
pub mod sqs_job_queue;
pub mod sqs_queue_depth;
pub mod ssm_secrets;
pub mod system_clock;
