//! The delay queues, in memory, with the limits that the real ones have.

mod lane;
mod size;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use futures::future::select;
use spillway_app::ports::{
    BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, Clock as _, JobQueue, OutgoingMessage, PortError,
    QueueDepth, QueueMessage,
};
use spillway_domain::precision::Lane;
use spillway_domain::staging::QUEUE_DELAY_SECONDS_MAX;
use spillway_domain::time::Instant;

use lane::LaneQueue;
pub use lane::{Quirks, ReceivedMessage, SentMessage};
pub use size::body_bytes;

use crate::clock::ManualClock;
use crate::fault::{FaultPlan, Operation, permanent, transient};
use crate::lock::locked;
use crate::observer::{Observer, Observers};

/// The queues of both lanes. Clones share them.
///
/// A batch of more than ten messages or more than 1 MiB, and a delay of more than 900 s, are
/// refused for good, as the real queue does. A delay counts from the send; a message that was
/// received and not deleted comes back after its lane's visibility time-out (30 s, movable 90 s).
///
/// ```
/// use spillway_app::ports::{JobQueue, OutgoingMessage, QueueMessage};
/// use spillway_domain::{pack::{DueJob, packs}, precision::Lane};
/// use spillway_testkit::{Driver, FaultPlan, InMemoryQueue, ManualClock, build::{at, exact_job}};
///
/// let clock = ManualClock::at(at("2026-12-01T08:59:00Z"));
/// let faults = FaultPlan::new(&clock);
/// let queue = InMemoryQueue::new(&clock, &faults);
/// let job = exact_job("a", at("2026-12-01T09:00:00Z"), at("2026-12-01T08:00:00Z"));
/// let pack = packs([DueJob::of(&job)]).remove(0);
/// let message = OutgoingMessage { message: QueueMessage::Release(pack), delay_seconds: 59 };
///
/// let batch = Driver::new(&clock, &faults).run(async {
///     queue.send_batch(Lane::Exact, &[message]).await;
///     assert!(queue.receive(Lane::Exact).is_empty());
///     queue.receive_next(Lane::Exact).await // the driver moves the clock
/// });
/// queue.delete(&batch[0]);
/// assert_eq!(queue.message_count(Lane::Exact), 0);
/// ```
#[derive(Clone, Debug)]
pub struct InMemoryQueue {
    clock: ManualClock,
    faults: FaultPlan,
    lanes: Arc<Mutex<Lanes>>,
    observers: Observers,
}

#[derive(Debug)]
struct Lanes {
    exact: LaneQueue,
    movable: LaneQueue,
}

impl Lanes {
    const fn of(&mut self, lane: Lane) -> &mut LaneQueue {
        match lane {
            Lane::Exact => &mut self.exact,
            Lane::Movable => &mut self.movable,
        }
    }
}

impl InMemoryQueue {
    /// Builds empty queues: in order, each message once, each to the millisecond.
    pub fn new(clock: &ManualClock, faults: &FaultPlan) -> Self {
        let lanes = Lanes { exact: LaneQueue::new(30), movable: LaneQueue::new(90) };
        Self {
            clock: clock.clone(),
            faults: faults.clone(),
            lanes: Arc::new(Mutex::new(lanes)),
            observers: Observers::default(),
        }
    }

    /// Lets somebody look on, from now on.
    ///
    /// # Panics
    /// When somebody does already.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.observers.set(observer);
    }

    /// Does not keep what is sent from now on: a run of millions of jobs counts it by an
    /// [`Observer`].
    pub fn keep_no_sent(&self) {
        let lanes = &mut *locked(&self.lanes);
        (lanes.exact.keeps_sent, lanes.movable.keeps_sent) = (false, false);
    }

    /// Gives a lane the habits that a queue may have. They count for what is sent or received from
    /// now on.
    pub fn set_quirks(&self, lane: Lane, quirks: Quirks) {
        locked(&self.lanes).of(lane).quirks = quirks;
    }

    /// Lets a lane hide a received message for so many seconds.
    pub fn set_visibility_seconds(&self, lane: Lane, seconds: i64) {
        locked(&self.lanes).of(lane).visibility_seconds = seconds;
    }

    /// Receives what is there, ten messages at most.
    pub fn receive(&self, lane: Lane) -> Vec<ReceivedMessage> {
        self.receive_while(lane, |_| true)
    }

    /// Receives what is there, as long as `is_taken` says so of the next message, ten at most: for
    /// an event source that takes no more than its workers can bear.
    pub fn receive_while(
        &self,
        lane: Lane,
        is_taken: impl FnMut(&QueueMessage) -> bool,
    ) -> Vec<ReceivedMessage> {
        let now = self.clock.now();
        locked(&self.lanes).of(lane).receive(lane, BATCH_MESSAGES_MAX, now, is_taken)
    }

    /// Waits until there is a message, and receives ten at most. Waits for ever when none comes.
    pub async fn receive_next(&self, lane: Lane) -> Vec<ReceivedMessage> {
        loop {
            let batch = self.receive(lane);
            if !batch.is_empty() {
                return batch;
            }
            let changed = pin!(self.next_change(lane));
            match self.next_visible_at(lane) {
                None => changed.await,
                Some(at) => {
                    select(changed, pin!(self.clock.sleep_until(at))).await;
                }
            }
        }
    }

    /// Deletes a message that was received. A receipt that is no longer the message's last deletes
    /// nothing.
    pub fn delete(&self, message: &ReceivedMessage) {
        locked(&self.lanes).of(message.lane).delete(message);
    }

    /// Puts a message into a lane, past all limits and faults.
    pub fn put(&self, lane: Lane, message: QueueMessage, delay_seconds: u16) {
        self.take_in(lane, OutgoingMessage { message, delay_seconds });
    }

    /// Lets a lane deliver once more, from now on, whatever it holds: the same messages, by the
    /// same ids.
    pub fn duplicate_all(&self, lane: Lane) {
        locked(&self.lanes).of(lane).duplicate_all(self.clock.now());
    }

    /// Loses whatever a lane holds, as the real queue never does but an operator's purge may.
    pub fn purge(&self, lane: Lane) {
        locked(&self.lanes).of(lane).purge();
    }

    /// Counts a lane's messages: delayed, ready and in flight.
    pub fn message_count(&self, lane: Lane) -> usize {
        locked(&self.lanes).of(lane).message_count()
    }

    /// Tells when a message of the lane is next to be had; none when it is empty.
    pub fn next_visible_at(&self, lane: Lane) -> Option<Instant> {
        locked(&self.lanes).of(lane).next_visible_at(self.clock.now())
    }

    /// Shows everything that a lane was ever sent, in order.
    pub fn sent(&self, lane: Lane) -> Vec<SentMessage> {
        locked(&self.lanes).of(lane).sent.clone()
    }

    /// Shows what a lane put aside because it had been received 100 times.
    pub fn put_aside(&self, lane: Lane) -> Vec<QueueMessage> {
        locked(&self.lanes).of(lane).put_aside.clone()
    }

    /// Waits until something is put into a lane.
    pub async fn next_change(&self, lane: Lane) {
        let seen = locked(&self.lanes).of(lane).step_count();
        poll_fn(|context| {
            let mut lanes = locked(&self.lanes);
            let queue = lanes.of(lane);
            if queue.step_count() > seen {
                return Poll::Ready(());
            }
            queue.wake_at_change(context.waker());
            Poll::Pending
        })
        .await;
    }

    fn take_in(&self, lane: Lane, outgoing: OutgoingMessage) {
        let now = self.clock.now();
        self.observers.message_sent(lane, &outgoing, now);
        let lateness = self.faults.fate(|fate| fate.of_message(lane, &outgoing, now));
        locked(&self.lanes).of(lane).put(outgoing, lateness, now);
    }

    /// Sends the messages of a batch one after another; each may fail alone.
    async fn send_each(
        &self,
        lane: Lane,
        messages: &[OutgoingMessage],
    ) -> Vec<Result<(), PortError>> {
        let mut answers = Vec::with_capacity(messages.len());
        for message in messages {
            let put = async {
                refuse_delay(message.delay_seconds)?;
                self.take_in(lane, message.clone());
                Ok(())
            };
            let jobs = jobs_of(&message.message);
            answers.push(self.faults.call(Operation::SendMessage, jobs, put).await);
        }
        answers
    }
}

impl JobQueue for InMemoryQueue {
    async fn send_batch(
        &self,
        lane: Lane,
        messages: &[OutgoingMessage],
    ) -> Vec<Result<(), PortError>> {
        let jobs = messages.iter().flat_map(|sent| jobs_of(&sent.message));
        let send = async {
            refuse_batch(messages)?;
            self.observers.batch_sent(lane, messages, self.clock.now());
            Ok(self.send_each(lane, messages).await)
        };
        match self.faults.call(Operation::SendBatch, jobs, send).await {
            Ok(answers) => answers,
            Err(PortError::Transient(why)) => every(messages, || transient(why.to_string())),
            Err(PortError::Permanent(why)) => every(messages, || permanent(why.to_string())),
        }
    }
}

impl QueueDepth for InMemoryQueue {
    async fn waiting_count(&self, lane: Lane) -> Result<u64, PortError> {
        let count = async {
            let waiting = locked(&self.lanes).of(lane).ready_count(self.clock.now());
            Ok(u64::try_from(waiting).unwrap_or(u64::MAX))
        };
        self.faults.call(Operation::WaitingCount, [], count).await
    }
}

fn every(
    messages: &[OutgoingMessage],
    error: impl Fn() -> PortError,
) -> Vec<Result<(), PortError>> {
    messages.iter().map(|_| Err(error())).collect()
}

fn refuse_batch(messages: &[OutgoingMessage]) -> Result<(), PortError> {
    let bytes: usize = messages.iter().map(|sent| body_bytes(&sent.message)).sum();
    if messages.len() > BATCH_MESSAGES_MAX {
        Err(permanent(format!("a batch of {} messages: 10 at most", messages.len())))
    } else if bytes > BATCH_BYTES_MAX {
        Err(permanent(format!("a batch of {bytes} bytes: 1 MiB at most")))
    } else {
        Ok(())
    }
}

fn refuse_delay(delay_seconds: u16) -> Result<(), PortError> {
    if delay_seconds > QUEUE_DELAY_SECONDS_MAX {
        Err(permanent(format!("a delay of {delay_seconds} s: 900 at most")))
    } else {
        Ok(())
    }
}

fn jobs_of(message: &QueueMessage) -> impl Iterator<Item = &str> + Clone {
    let (entries, record) = match message {
        QueueMessage::Release(pack) => (pack.entries.as_slice(), None),
        QueueMessage::Record(record) => (&[][..], Some(record)),
    };
    let of_pack = entries.iter().map(|entry| entry.job_id.as_str());
    of_pack.chain(record.map(|record| record.job_id.as_str()))
}
