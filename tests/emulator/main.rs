//! The deployed template on the emulator, end to end.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod adapters;
