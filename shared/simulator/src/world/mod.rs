//! The wiring of the service: its use cases over ports that a simulation gives, one function for
//! each of the deployed functions, and what calls them.

mod invocations;
mod ports;
mod stack;
mod wired;

pub use invocations::{
    Batch, INTAKE_SECONDS, PREFETCH_SECONDS, accept, cancel, dispatch, redrive, stage,
    timeout_seconds,
};
pub use ports::Ports;
pub use stack::Stack;
pub use wired::World;
