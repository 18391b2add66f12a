//! The whole service in virtual time: the use cases of `app` over the in-memory ports, on one
//! thread, deterministic from a seed.
//!
//! [`world`] wires the service; [`faults`] runs it under every fault that it must survive, and
//! checks its promises as things happen; [`scale`] runs it with millions of jobs.

#![deny(missing_docs)]

pub mod faults;
pub mod mutants;
pub mod scale;
pub mod world;
