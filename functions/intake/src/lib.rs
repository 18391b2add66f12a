//! The intake function: the HTTP API.
//!
//! [`gateway`] turns the gateway's event into a request at one of the router's fixed paths, the
//! handlers read it, `spillway_app` accepts or cancels, and `problem` says what is wrong. What the
//! API promises is in `docs/http-api.md`.

mod bulk;
pub mod gateway;
mod handler;
mod problem;
pub mod router;
pub mod submission;
mod tally;
mod wire;
