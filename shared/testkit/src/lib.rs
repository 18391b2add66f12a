//! The outside, in memory: ports that keep the real limits, a clock that a test moves, faults that
//! a test scripts, and the contracts that every implementation of a port passes.
//!
//! All parts share one [`ManualClock`] and one [`FaultPlan`]; a [`Driver`] runs the use cases over
//! them in virtual time. Everything is deterministic: the same test, the same run.

#![deny(missing_docs)]

pub mod build;
mod clock;
mod dice;
mod driver;
mod fault;
mod lock;
mod store;

pub use clock::{ManualClock, SkewedClock};
pub use dice::Dice;
pub use driver::{Driver, Ended, Spawner, TaskId};
pub use fault::{Fault, FaultPlan, Operation};
pub use store::InMemoryStore;
