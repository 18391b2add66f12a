//! Calls that have their effect after their caller has given them up.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use spillway_testkit::Spawner;

type Landing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The calls on their way. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Late {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    landings: Vec<Landing>,
    waker: Option<Waker>,
}

impl Late {
    /// Lets a call go on by itself.
    pub(crate) fn land(&self, landing: impl Future<Output = ()> + Send + 'static) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.landings.push(Box::pin(landing));
        if let Some(waker) = waiting.waker.take() {
            waker.wake();
        }
    }

    /// Gives each call a task of its own, for ever.
    pub(super) async fn run(self, spawner: Spawner<'static>) {
        loop {
            let landings = poll_fn(|context| {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                if waiting.landings.is_empty() {
                    waiting.waker = Some(context.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(std::mem::take(&mut waiting.landings))
            })
            .await;
            for landing in landings {
                spawner.spawn(landing);
            }
        }
    }
}
