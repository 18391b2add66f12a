//! Prefetch: stages, every minute, the buckets whose time has come.

pub mod handler;
