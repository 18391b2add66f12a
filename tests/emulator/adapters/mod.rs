//! The adapters of `aws` on the emulator, with tables and queues of their own: the suites that the
//! in-memory ports pass, and what only real calls show.

mod channels;
mod contract;
mod fault_proxy;
mod pages;
mod partial;
mod resources;
mod throttles;

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt as _;
use resources::Resources;

/// Runs a test with new tables and queues, and takes them away whatever comes of it.
fn with_resources(test: impl AsyncFnOnce(&Resources)) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(async {
        let resources = Resources::create().await;
        let outcome = AssertUnwindSafe(test(&resources)).catch_unwind().await;
        resources.delete().await;
        outcome.unwrap_or_else(|panic| resume_unwind(panic));
    });
}
