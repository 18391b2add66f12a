//! The use cases of Spillway and the ports that they need.
//!
//! Each use case reads the world through its ports, hands what it read to a planning function of
//! `domain`, and carries the plan out. `accept_jobs` and `cancel_job` serve intake, `stage_jobs`
//! and `redrive_jobs` serve prefetch, `dispatch_jobs` serves both dispatch deployments; `replace_policy` serves the
//! operator's tool.

#![deny(missing_docs)]

pub mod accept_jobs;
pub mod cancel_job;
mod direct_staging;
pub mod dispatch_jobs;
mod persist;
pub mod ports;
pub mod redrive_jobs;
pub mod replace_policy;
pub mod send_messages;
pub mod settings;
pub mod stage_jobs;
