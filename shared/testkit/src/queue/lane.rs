//! One queue: delayed, then ready, then in flight, until it is deleted.

use std::collections::{BTreeMap, VecDeque};
use std::task::Waker;

use spillway_app::ports::{OutgoingMessage, QueueMessage};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

use crate::dice::Dice;

/// The receive limit of the template's queues: beyond it a message is put aside.
const RECEIVES_MAX: u32 = 100;
/// The most messages that a queue has in flight; delayed ones are not in flight.
const IN_FLIGHT_MAX: usize = 120_000;

/// What a standard queue may do at any time.
#[derive(Clone, Debug)]
pub struct Quirks {
    /// Where the chances come from.
    pub dice: Dice,
    /// How many of 1,000 messages come twice.
    pub doubled_per_mille: u16,
    /// The second copy comes up to so many milliseconds after the first.
    pub doubled_within_millis: u32,
    /// A message is to be had up to so many milliseconds after its delay.
    pub late_millis_max: u32,
    /// What is ready is received in any order.
    pub is_shuffled: bool,
}

impl Quirks {
    /// A queue without surprises: in order, once, on time.
    pub const NONE: Self = Self {
        dice: Dice::from_seed(0),
        doubled_per_mille: 0,
        doubled_within_millis: 0,
        late_millis_max: 0,
        is_shuffled: false,
    };

    /// Tells by how much each copy of a message comes late.
    fn lateness(&mut self) -> Vec<i64> {
        let second = self.doubled_after_millis();
        second.into_iter().chain([self.late_millis()]).collect()
    }

    fn late_millis(&mut self) -> i64 {
        draw_millis(&mut self.dice, self.late_millis_max)
    }

    /// Tells how long after the first a second copy comes, when one comes.
    fn doubled_after_millis(&mut self) -> Option<i64> {
        let is_doubled = self.dice.is_hit(self.doubled_per_mille);
        is_doubled.then(|| draw_millis(&mut self.dice, self.doubled_within_millis))
    }
}

fn draw_millis(dice: &mut Dice, max: u32) -> i64 {
    i64::try_from(dice.below(u64::from(max) + 1)).unwrap_or(0)
}

/// A message as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// The message and its delay.
    pub outgoing: OutgoingMessage,
    /// When it was sent.
    pub sent_at: Instant,
}

/// A message as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// The queue's id of it, the same for every copy and every receive.
    pub id: String,
    /// What it says.
    pub message: QueueMessage,
    /// How often this copy was received, from 1.
    pub receive_count: u32,
    /// Its queue.
    pub lane: Lane,
    receipt: Receipt,
}

/// When a message in flight comes back, and which receive it is.
type Receipt = (Instant, u64);

#[derive(Clone, Debug)]
struct Held {
    id: String,
    message: QueueMessage,
    receive_count: u32,
}

#[derive(Debug)]
pub(super) struct LaneQueue {
    pub(super) quirks: Quirks,
    pub(super) visibility_seconds: i64,
    pub(super) sent: Vec<SentMessage>,
    pub(super) keeps_sent: bool,
    pub(super) put_aside: Vec<QueueMessage>,
    delayed: BTreeMap<(Instant, u64), Held>,
    ready: VecDeque<Held>,
    in_flight: BTreeMap<Receipt, Held>,
    messages: u64,
    steps: u64,
    waiting: Vec<Waker>,
}

impl LaneQueue {
    pub(super) const fn new(visibility_seconds: i64) -> Self {
        Self {
            quirks: Quirks::NONE,
            visibility_seconds,
            sent: Vec::new(),
            keeps_sent: true,
            put_aside: Vec::new(),
            delayed: BTreeMap::new(),
            ready: VecDeque::new(),
            in_flight: BTreeMap::new(),
            messages: 0,
            steps: 0,
            waiting: Vec::new(),
        }
    }

    /// Takes a message in; `lateness` has an entry for each of its copies, and is none when the
    /// queue's own habits decide.
    pub(super) fn put(
        &mut self,
        outgoing: OutgoingMessage,
        lateness: Option<Vec<i64>>,
        now: Instant,
    ) {
        self.messages += 1;
        let id = format!("message-{}", self.messages);
        if self.keeps_sent {
            self.sent.push(SentMessage { outgoing: outgoing.clone(), sent_at: now });
        }
        let held = Held { id, message: outgoing.message, receive_count: 0 };
        let visible_at = now.plus_seconds(i64::from(outgoing.delay_seconds));
        for late_millis in lateness.unwrap_or_else(|| self.quirks.lateness()) {
            self.delay(held.clone(), visible_at.plus_millis(late_millis));
        }
        self.waiting.drain(..).for_each(Waker::wake);
    }

    fn delay(&mut self, held: Held, visible_at: Instant) {
        self.steps += 1;
        self.delayed.insert((visible_at, self.steps), held);
    }

    pub(super) fn receive(
        &mut self,
        lane: Lane,
        count_max: usize,
        now: Instant,
        mut is_taken: impl FnMut(&QueueMessage) -> bool,
    ) -> Vec<ReceivedMessage> {
        self.ripen(now);
        let room = IN_FLIGHT_MAX.saturating_sub(self.in_flight.len());
        let count = self.ready.len().min(count_max).min(room);
        (0..count).map_while(|_| self.receive_one(lane, now, &mut is_taken)).collect()
    }

    fn receive_one(
        &mut self,
        lane: Lane,
        now: Instant,
        is_taken: impl FnOnce(&QueueMessage) -> bool,
    ) -> Option<ReceivedMessage> {
        let place =
            if self.quirks.is_shuffled { self.quirks.dice.place(self.ready.len()) } else { 0 };
        self.ready.get(place).filter(|held| is_taken(&held.message))?;
        let mut held = self.ready.remove(place)?;
        held.receive_count += 1;
        self.steps += 1;
        let receipt = (now.plus_seconds(self.visibility_seconds), self.steps);
        let Held { id, message, receive_count } = held.clone();
        self.in_flight.insert(receipt, held);
        Some(ReceivedMessage { id, message, receive_count, lane, receipt })
    }

    /// Moves what has become visible to where it is received from.
    fn ripen(&mut self, now: Instant) {
        let mut visible = take_until(&mut self.delayed, now);
        visible.append(&mut take_until(&mut self.in_flight, now));
        for held in visible {
            if held.receive_count < RECEIVES_MAX {
                self.ready.push_back(held);
            } else {
                self.put_aside.push(held.message);
            }
        }
    }

    pub(super) fn delete(&mut self, message: &ReceivedMessage) {
        self.in_flight.remove(&message.receipt);
    }

    pub(super) fn duplicate_all(&mut self, now: Instant) {
        let held = self.delayed.values().chain(&self.ready).chain(self.in_flight.values());
        let copies: Vec<_> = held.map(|held| Held { receive_count: 0, ..held.clone() }).collect();
        for copy in copies {
            self.delay(copy, now);
        }
        self.waiting.drain(..).for_each(Waker::wake);
    }

    pub(super) fn purge(&mut self) {
        self.delayed.clear();
        self.ready.clear();
        self.in_flight.clear();
    }

    pub(super) fn ready_count(&mut self, now: Instant) -> usize {
        self.ripen(now);
        self.ready.len()
    }

    pub(super) fn message_count(&self) -> usize {
        self.delayed.len() + self.ready.len() + self.in_flight.len()
    }

    pub(super) fn next_visible_at(&self, now: Instant) -> Option<Instant> {
        let first = |held: &BTreeMap<(Instant, u64), Held>| held.keys().next().map(|(at, _)| *at);
        if self.in_flight.len() >= IN_FLIGHT_MAX {
            first(&self.in_flight)
        } else if self.ready.is_empty() {
            [first(&self.delayed), first(&self.in_flight)].into_iter().flatten().min()
        } else {
            Some(now)
        }
    }

    pub(super) const fn step_count(&self) -> u64 {
        self.steps
    }

    pub(super) fn wake_at_change(&mut self, waker: &Waker) {
        self.waiting.push(waker.clone());
    }
}

fn take_until(held: &mut BTreeMap<(Instant, u64), Held>, now: Instant) -> Vec<Held> {
    let mut taken = Vec::new();
    while let Some(first) = held.first_entry()
        && first.key().0 <= now
    {
        taken.push(first.remove());
    }
    taken
}
