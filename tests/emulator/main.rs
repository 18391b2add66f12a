//! The deployed template on the emulator, end to end. `make test` starts a stack and runs this
//! beside it; the stack's names are in the environment.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod adapters;
mod deliveries;
mod http_api;
mod killed_prefetch;
mod missed_ticks;
mod policy;
mod redelivery;
mod redrive;
mod rows;
mod stack;
mod webhooks;
