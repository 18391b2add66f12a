//! What a webhook's receiver sees, and what becomes of its answers. The receiver is a server of
//! this process, over HTTP or over TLS with a certificate that the tests make.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod addresses;
mod answers;
mod connections;
mod network;
mod requests;
mod sink;
