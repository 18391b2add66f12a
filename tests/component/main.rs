//! Events in, responses and port state out: each function over the in-memory ports.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod intake;
