//! Tests of the adapters: the forms that they store, and what they make of a service's answers,
//! which a script gives. Their conditions are tested on the emulator.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

mod channels;
mod config;
mod control;
mod delivery;
mod due_index;
mod item;
mod jobs_table;
mod limiter;
mod message;
mod queue;
mod sample;
mod scripted;
mod system_clock;
mod units;
