//! The event source of both lanes' dispatch deployments, at the workers' rate.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use futures::future::{select, select_all};
use spillway_app::dispatch_jobs::Circuits;
use spillway_app::ports::{Clock as _, QueueMessage};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;
use spillway_testkit::{InMemoryQueue, ReceivedMessage, Spawner};

use super::meter::Meter;
use super::worker_rate::WorkerRate;
use crate::world::{Batch, Ports, Stack, dispatch};

/// Hands out messages for ever: the exact lane's first, and no faster than the workers' rate allows. Every
/// batch is an invocation of its own.
#[derive(Clone, Debug)]
pub(super) struct Workers {
    pub(super) ports: Ports,
    pub(super) stack: Rc<Stack>,
    pub(super) meter: Arc<Meter>,
    pub(super) worker_rate: Rc<RefCell<WorkerRate>>,
    pub(super) invocations: Rc<Cell<u64>>,
}

impl Workers {
    pub(super) async fn serve(self, spawner: Spawner<'static>) {
        loop {
            let now = self.ports.clock.now();
            self.worker_rate.borrow_mut().advance(now);
            match self.next_batch(now) {
                Some((lane, batch)) => {
                    spawner.spawn(self.clone().invoke(lane, batch));
                }
                None => self.wait(now).await,
            }
        }
    }

    fn next_batch(&self, now: Instant) -> Option<(Lane, Vec<ReceivedMessage>)> {
        [Lane::Exact, Lane::Movable]
            .into_iter()
            .map(|lane| (lane, self.receive(lane, now)))
            .find(|(_, batch)| !batch.is_empty())
    }

    /// Receives what the workers take of a lane now. They hold exact jobs for their second; movable
    /// ones they take when they are due, so that none is held while an exact one of its second is
    /// still on its way.
    fn receive(&self, lane: Lane, now: Instant) -> Vec<ReceivedMessage> {
        let mut worker_rate = self.worker_rate.borrow_mut();
        let is_free = worker_rate.is_free(now);
        let mut room = worker_rate.batch_jobs_max();
        let mut is_first = true;
        self.ports.queue.receive_while(lane, |message| {
            let (jobs, release_at) = load_of(message, now);
            let is_in_time = if release_at > now { lane == Lane::Exact } else { is_free };
            let is_taken = is_in_time
                && (is_first || jobs <= room)
                && worker_rate.takes(jobs, release_at, now);
            room = room.saturating_sub(jobs);
            is_first = false;
            is_taken
        })
    }

    /// Waits until a message can be had, or one that was there can be taken.
    async fn wait(&self, now: Instant) {
        let queue: &InMemoryQueue = &self.ports.queue;
        let chances = Lane::ALL.into_iter().filter_map(|lane| queue.next_visible_at(lane));
        let next_chance_at = self.worker_rate.borrow().next_chance_at(now);
        let wake_at = chances.map(|at| if at <= now { next_chance_at } else { at }).min();
        let changed = select_all(Lane::ALL.map(|lane| Box::pin(queue.next_change(lane))));
        match wake_at {
            None => drop(changed.await),
            Some(at) => drop(select(changed, pin!(self.ports.clock.sleep_until(at))).await),
        }
    }

    async fn invoke(self, lane: Lane, messages: Vec<ReceivedMessage>) {
        let number = self.invocations.get() + 1;
        self.invocations.set(number);
        let began_at = self.ports.clock.now();
        let received = messages.clone();
        let invocation = &format!("invocation-{number}");
        let batch = Batch { lane, invocation, circuits: &Circuits::default(), messages };
        let report = dispatch(&self.ports, &self.stack, batch).await;
        let done = received.iter().filter(|it| !report.failed_message_ids.contains(&it.id));
        done.for_each(|message| self.ports.queue.delete(message));
        self.meter.dispatched(&received, &report, began_at, self.ports.clock.now());
    }
}

/// Tells how many jobs a message makes leave, and when.
fn load_of(message: &QueueMessage, now: Instant) -> (u64, Instant) {
    match message {
        QueueMessage::Release(pack) => (pack.entries.len() as u64, pack.key.release_at),
        QueueMessage::Record(_) => (0, now),
    }
}
