//! The laws of the domain, over random and over exhaustive inputs. A law that fails prints the
//! smallest case that breaks it and the seed that repeats the run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../samples/mod.rs"]
mod samples;

mod acceptance;
mod arbitrary;
mod attempt;
mod bucket;
mod claim;
mod drain_plan;
mod jitter;
mod limiter;
mod pace;
mod pack;
mod policy;
mod precision;
mod reconcile;
mod redrive;
mod shard;
mod staging;
mod time;
mod unit;
mod webhook;
