//! Dispatch: hands jobs to their channels. One binary, deployed once for each lane.

pub mod channels;
pub mod handler;
