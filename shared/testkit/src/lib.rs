//! The outside, in memory: ports that keep the real limits, a clock that a test moves, faults that
//! a test scripts, and the contracts that every implementation of a port passes.
//!
//! [`Outside`] has one of everything, over one [`ManualClock`] and one [`FaultPlan`]; a [`Driver`]
//! runs the use cases over it in virtual time. Everything is deterministic: the same test, the
//! same run.

#![deny(missing_docs)]

pub mod build;
mod channel;
mod clock;
pub mod contract;
mod dead_letters;
mod dice;
mod driver;
mod event_source;
mod fault;
mod lock;
mod observer;
mod outside;
mod queue;
mod store;

pub use channel::{Arrival, InMemoryChannel, Reply};
pub use clock::{ManualClock, SkewedClock};
pub use dead_letters::InMemoryDeadLetters;
pub use dice::Dice;
pub use driver::{Driver, Ended, Spawner, TaskId};
pub use event_source::serve;
pub use fault::{CallFate, Fate, Fault, FaultPlan, Operation};
pub use observer::{Observer, RowWrite};
pub use outside::Outside;
pub use queue::{InMemoryQueue, Quirks, ReceivedMessage, SentMessage, body_bytes};
pub use store::InMemoryStore;
