//! Fault runs: a random small workload and a random mix of faults, both drawn from a seed, and
//! every promise of the service checked as things happen.
//!
//! A run is deterministic: its seed decides everything. What fails is shrunk to few jobs and few
//! faults, and can be repeated by its seed alone.

mod chance;
mod command;
mod fate;
mod invocation;
mod kind;
mod late;
mod ledger;
mod mix;
mod run;
mod scene;
mod search;
mod service;
mod shrink;
mod watched;
mod workload;

pub use chance::Filter;
pub use command::{Arguments, command, repeat_command};
pub use kind::{Fired, Kind, Place};
pub(crate) use late::Late;
pub use ledger::{Broken, Counts, Invariant};
pub use run::{Case, Outcome, run};
pub use search::{Found, Searched, first_found, search};
pub use shrink::shrunk;
