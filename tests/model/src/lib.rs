//! The exhaustive model of the protocol.
//!
//! A small system, its actors and its faults are written down as steps from one world to the next
//! ([`steps`]); a breadth-first search takes every step in every order ([`checker`]) and checks the
//! promises ([`promises`]). What is modelled and what is left out is said in `docs/model.md`.

pub mod bounds;
pub mod calls;
pub mod checker;
pub mod dispatch;
pub mod domain;
pub mod durations;
pub mod environment;
pub mod fault;
pub mod fingerprint;
pub mod prefetch;
pub mod promises;
pub mod rule;
pub mod steps;
pub mod store;
pub mod trace;
pub mod world;
