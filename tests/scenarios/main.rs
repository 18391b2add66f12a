//! Whole lives of jobs over the in-memory ports, in virtual time, with what goes wrong on the way.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

mod boundary;
mod cancel_and_reschedule;
mod catch_up;
mod dispatch_crashes;
mod drain_plan;
mod failures;
mod holding;
mod mutants;
mod passing_on;
mod rates;
mod reconcile;
mod redrive;
mod service;
mod staging;
mod units;
mod webhooks;
