//! Whole lives of jobs over the in-memory ports, in virtual time, with what goes wrong on the way.

mod boundary;
mod cancel_and_reschedule;
mod dispatch_crashes;
mod failures;
mod holding;
mod passing_on;
mod service;
mod staging;
