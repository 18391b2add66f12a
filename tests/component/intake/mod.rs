//! The HTTP API, from the gateway's event to the gateway's answer.

mod api;
mod bad_input;
mod bulk;
mod cancelling;
mod direct_staging;
mod good_input;
mod racing;
mod replay;
mod sample_events;
mod templates;
