//! Dispatch: claims the jobs of a message, holds them to their second, sends and records them
//! (R16, R17; every write is in `docs/protocol.md`).
//!
//! Each message goes through `pack` on its own: `leasing` where its channel has a rate, `claiming`,
//! then `sending` at the release, then `recording`, and last `passing_on` for what another message
//! must take further. `circuits` says which channels are not tried.

mod circuits;
mod claiming;
mod leasing;
mod pack;
mod passing_on;
mod ports;
mod recording;
mod report;
mod sending;

use std::collections::BTreeMap;

use futures::future::join_all;
use futures::stream::{self, StreamExt};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::claim::claim_seconds;
use spillway_domain::job::{Claim, Job};
use spillway_domain::pack::PackEntry;
use spillway_domain::precision::Lane;
use spillway_domain::staging::Lookahead;
use spillway_domain::time::Instant;

use crate::persist::persist;
use crate::ports::{Conditional, ConditionalResult, QueueMessage};
use crate::settings::Settings;
pub use circuits::Circuits;
pub use ports::DispatchPorts;
pub use report::{DeliveryFact, DispatchReport, Ending};

/// How many writes of a pack are under way at once. Ten packs of a batch then use 160 connections;
/// a function may have 1,024 files open.
const WRITES_AT_ONCE: usize = 16;
/// How many packs of one channel are under way at once in an invocation: half of a batch, so that a
/// channel that hangs has 500 jobs at most whose fate nobody knows before its circuit opens (R13).
const CHANNEL_PACKS_AT_ONCE: usize = 5;
/// What an invocation keeps back of its time to send on, in messages, what it could not write, in
/// milliseconds. Ten of them fit into one call.
const PASSING_ON_MILLIS: i64 = 1_500;
/// Claims begin in the first so-manieth part of an invocation's time. What was claimed must be
/// recorded, which takes as long again, with the hold and the send in between: an invocation that
/// claims more than it can record would be ended in the middle, and its jobs sent twice.
const CLAIMING_PART: i64 = 4;

/// A message as it came out of the lane's queue.
#[derive(Clone, Debug)]
pub struct IncomingMessage {
    /// The queue's id of it.
    pub id: String,
    /// What it says.
    pub message: QueueMessage,
}

/// Dispatches messages. One value serves one invocation.
#[derive(Debug)]
pub struct Dispatcher<'a, P: DispatchPorts> {
    /// The jobs table.
    pub claims: &'a P::Claims,
    /// The channels' rates.
    pub limiter: &'a P::Limiter,
    /// The delay queues, of which it uses its own lane's.
    pub queue: &'a P::Queue,
    /// The lane's dead-letter queue.
    pub dead_letters: &'a P::DeadLetters,
    /// The channels' side.
    pub channels: &'a P::Channels,
    /// The clock.
    pub clock: &'a P::Clock,
    /// What this process knows of the channels' answers.
    pub circuits: &'a Circuits,
    /// The policy and the shard counts in force.
    pub settings: &'a Settings,
    /// The lane that this deployment serves.
    pub lane: Lane,
    /// How long before its minute begins a bucket is staged.
    pub lookahead: Lookahead,
    /// How long a finished job's row is kept, in seconds.
    pub retention_seconds: u32,
    /// Names the invocation; part of every claim's token.
    pub invocation: &'a str,
    /// When the invocation began.
    pub began_at: Instant,
    /// Nothing is begun after this.
    pub deadline: Instant,
}

/// A job that this invocation holds.
#[derive(Debug)]
struct Held {
    job: Box<Job>,
    claim: Claim,
}

impl Held {
    fn is_expired(&self, now: Instant) -> bool {
        self.job.expires_at.is_some_and(|expires_at| expires_at < now)
    }

    fn entry(&self) -> PackEntry {
        PackEntry { job_id: self.job.id.clone(), generation: self.job.generation }
    }
}

/// What is left to do for an entry.
#[derive(Debug)]
enum Step {
    /// Nothing.
    End(Ending),
    /// Nothing, and the job was delivered.
    Delivered(DeliveryFact),
    /// A message must record the delivery.
    Record(DeliveryRecord, DeliveryFact),
    /// A message must carry it further.
    Send(Onward),
}

/// An entry that a message must carry further.
#[derive(Debug)]
struct Onward {
    entry: PackEntry,
    release_at: Instant,
    /// The hops of the message.
    hops: u32,
    /// What is counted once it is sent.
    ending: Ending,
}

impl<P: DispatchPorts> Dispatcher<'_, P> {
    /// Takes each message as far as it goes: its jobs are delivered, finished, dropped, or in a
    /// message of their own again. A message that could not be taken that far is named in the
    /// report and comes back; what was done of it is dropped then.
    pub async fn dispatch_jobs(&self, messages: &[IncomingMessage]) -> DispatchReport {
        let mut by_channel: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (place, message) in messages.iter().enumerate() {
            let channel = message.message.channel();
            by_channel.entry(channel).or_default().push((place, message));
        }
        let runs = by_channel.into_values().map(|of_channel| self.run_messages(of_channel));
        join_all(runs).await.into_iter().fold(DispatchReport::default(), DispatchReport::plus)
    }

    /// Takes the messages of one channel, some at once, in order of release.
    async fn run_messages(&self, mut messages: Vec<(usize, &IncomingMessage)>) -> DispatchReport {
        messages.sort_by_key(|(_, message)| message.message.release_at());
        let runs = messages.into_iter().map(|(place, message)| self.run_message(place, message));
        stream::iter(runs.collect::<Vec<_>>())
            .buffer_unordered(CHANNEL_PACKS_AT_ONCE)
            .fold(DispatchReport::default(), |all, report| async { all.plus(report) })
            .await
    }

    async fn run_message(&self, place: usize, incoming: &IncomingMessage) -> DispatchReport {
        match &incoming.message {
            QueueMessage::Release(pack) => self.run_pack(place, &incoming.id, pack).await,
            QueueMessage::Record(record) => self.run_record(&incoming.id, record).await,
        }
    }

    fn claim_until(&self, now: Instant) -> Instant {
        now.plus_seconds(i64::from(claim_seconds(self.lane)))
    }

    /// Tells until when claims begin.
    fn claims_until(&self) -> Instant {
        let all_millis = self.deadline.millis_since(self.began_at);
        self.began_at.plus_millis(all_millis / CLAIMING_PART)
    }

    /// Tells until when rows are written.
    fn writes_until(&self) -> Instant {
        self.deadline.plus_millis(-PASSING_ON_MILLIS)
    }

    /// Does a write until it is answered, or until there is no more time for it.
    async fn persist<T, F>(&self, write: impl Fn() -> F + Send + Sync) -> ConditionalResult<T>
    where
        F: Future<Output = ConditionalResult<T>> + Send,
        T: Send,
    {
        persist(self.clock, self.writes_until(), write).await
    }
}

/// Tells whether a write was done, now or by an earlier call whose answer was lost: then the row
/// is of the entry's generation and looks as `is_done` says.
fn was_done(answer: &Conditional, entry: &PackEntry, is_done: impl FnOnce(&Job) -> bool) -> bool {
    match answer {
        Conditional::Done(()) => true,
        Conditional::Refused(row) => {
            row.as_ref().is_some_and(|job| job.generation == entry.generation && is_done(job))
        }
    }
}
