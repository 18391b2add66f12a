//! The rules of Spillway as pure values: values in, values out.
//!
//! Nothing here reads a clock, waits, logs or draws a random number, and nothing needs `std`.
//! What happens to one job, in order: a [`spec::JobSpec`] is given its contract by a
//! [`policy::Policy`], its times by [`precision::times`], its place by [`bucket::Bucket`];
//! [`acceptance`] decides what a call changes; [`staging`] and [`pack`] say when and in which
//! message it travels, [`drain_plan`] in which second it is released when its channel has more jobs
//! than its rate, [`limiter`] when its channel has room for it; [`claim`] and [`attempt`] decide
//! what a dispatcher does with it.

#![no_std]
#![deny(missing_docs)]

extern crate alloc;

pub mod acceptance;
pub mod address;
pub mod attempt;
pub mod bucket;
pub mod circuit;
pub mod claim;
pub mod drain_plan;
pub mod jitter;
pub mod job;
pub mod limiter;
pub mod name;
pub mod pace;
pub mod pack;
pub mod policy;
pub mod precision;
pub mod problem;
pub mod rate;
pub mod reconcile;
pub mod redrive;
pub mod spec;
pub mod staging;
pub mod time;
pub mod unit;
pub mod webhook;
