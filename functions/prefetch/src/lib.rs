//! Prefetch: stages, every minute, the buckets whose time has come; and puts failed jobs back when
//! its operator asks for it.

pub mod handler;
mod wire;
