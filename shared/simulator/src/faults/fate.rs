//! The outside's part: what becomes of each call, message, index entry and delivery.

use std::collections::{BTreeMap, VecDeque};

use spillway_app::ports::{Clock as _, Delivery, OutgoingMessage, QueueMessage};
use spillway_domain::job::Job;
use spillway_domain::limiter::TokenLease;
use spillway_domain::name::{ChannelName, JobId};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;
use spillway_testkit::{CallFate, Dice, Fate, Fault, Operation, Reply};

use super::chance::Chance;
use super::kind::{Kind, Place};
use super::scene::Scene;

/// What is drawn for, beside the operations, whose own numbers come first.
pub(super) const MESSAGE: u16 = 1_000;
const INDEX_ENTRY: u16 = 1_001;
const DELIVERY: u16 = 1_002;
pub(super) const INVOCATION: u16 = 1_003;
pub(super) const TICK: u16 = 1_004;
pub(super) const LANDING: u16 = 2_000;

/// The most that the index is late, in milliseconds.
const INDEX_LATE_MILLIS_MAX: u64 = 90_000;
/// The most that a message is late, in milliseconds.
const MESSAGE_LATE_MILLIS_MAX: u64 = 90_000;

const OF_CALLS: [Kind; 7] = [
    Kind::CrashBefore,
    Kind::CrashAfter,
    Kind::Throttle,
    Kind::LostAnswer,
    Kind::Slow,
    Kind::Hang,
    Kind::HangAfter,
];
const OF_MESSAGES: [Kind; 3] = [Kind::MessageLost, Kind::MessageDoubled, Kind::MessageLate];
const OF_DELIVERIES: [Kind; 6] = [
    Kind::ChannelRefuses,
    Kind::ChannelRefusesForGood,
    Kind::ChannelLosesAnswer,
    Kind::ChannelLosesDelivery,
    Kind::ChannelHangs,
    Kind::ChannelSlow,
];

/// The fate that a run's seed decides.
pub(super) struct Drawn {
    pub(super) scene: Scene,
    pub(super) began_at: Instant,
    /// How channels take the first deliveries of some jobs, whatever else goes wrong.
    pub(super) refusals: BTreeMap<JobId, VecDeque<Reply>>,
}

impl Drawn {
    fn fire(&self, chance: &mut Chance, kind: Kind, place: Place, of: &str) {
        let mut ledger = self.scene.ledger();
        let text = format!("{} {}: {of}", ledger.clock_text(), kind.as_str());
        ledger.note(|| format!("FAULT {}: {of}", kind.as_str()));
        chance.fire(kind, place, text);
    }

    /// Tells whether an outage hits a call now.
    fn is_out(&self, chance: &Chance, operation: Operation, place: Place) -> bool {
        let now_millis = self.scene.clock.now().millis_since(self.began_at);
        chance.lets(Kind::Outage, place)
            && chance.mix.outages.iter().any(|outage| {
                outage.operations.contains(&operation)
                    && (outage.from_millis..outage.until_millis).contains(&now_millis)
            })
    }
}

impl Fate for Drawn {
    fn of_call(&mut self, operation: Operation, jobs: &[&str]) -> CallFate {
        let mut chance = self.scene.chance();
        let subject = jobs.first().copied().unwrap_or_default();
        let (place, mut dice) = chance.next(operation as u16, subject);
        let is_part = operation == Operation::SendMessage;
        let bound = if is_part { 0 } else { chance.mix.latency_millis_max };
        let (before_millis, after_millis) = (below(&mut dice, bound), below(&mut dice, bound));
        let kinds = if is_part { &[Kind::PartialBatch][..] } else { &OF_CALLS[..] };
        let kind = if self.is_out(&chance, operation, place) {
            Some(Kind::Outage)
        } else {
            chance.draw(kinds, place, &mut dice)
        };
        if let Some(kind) = kind {
            self.fire(&mut chance, kind, place, &format!("{operation:?} {subject}"));
        }
        let fault = kind.map(|kind| fault(kind, &mut dice));
        CallFate { before_millis, fault, after_millis }
    }

    fn of_message(&mut self, lane: Lane, message: &OutgoingMessage, _now: Instant) -> Vec<i64> {
        let mut chance = self.scene.chance();
        self.scene.ledger().message_sent(lane, message);
        let subject = match &message.message {
            QueueMessage::Release(pack) => {
                pack.entries.first().map_or("", |entry| entry.job_id.as_str())
            }
            QueueMessage::Record(record) => record.job_id.as_str(),
        };
        let (place, mut dice) = chance.next(MESSAGE, subject);
        let Some(kind) = chance.draw(&OF_MESSAGES, place, &mut dice) else { return vec![0] };
        self.fire(&mut chance, kind, place, &format!("a message of {subject}"));
        match kind {
            Kind::MessageLost => Vec::new(),
            // Half of the copies come together, into one batch.
            Kind::MessageDoubled if dice.is_hit(500) => vec![0, 0],
            Kind::MessageDoubled => vec![0, below(&mut dice, 45_000)],
            _ => vec![below(&mut dice, MESSAGE_LATE_MILLIS_MAX)],
        }
    }

    fn of_index_entry(&mut self, job: &Job) -> i64 {
        let mut chance = self.scene.chance();
        let (place, mut dice) = chance.next(INDEX_ENTRY, job.id.as_str());
        let lag_millis = match chance.draw(&[Kind::IndexLate], place, &mut dice) {
            None => 0,
            Some(kind) => {
                let lag_millis = below(&mut dice, INDEX_LATE_MILLIS_MAX);
                let of = format!("{} by {lag_millis} ms", job.id);
                self.fire(&mut chance, kind, place, &of);
                lag_millis
            }
        };
        self.scene.ledger().indexed(job, lag_millis);
        lag_millis
    }

    fn of_delivery(&mut self, delivery: &Delivery) -> Option<Reply> {
        let refusals = self.refusals.get_mut(&delivery.job_id);
        if let Some(reply) = refusals.and_then(VecDeque::pop_front) {
            self.scene.ledger().reached_channel(delivery, reply);
            return Some(reply);
        }
        let mut chance = self.scene.chance();
        let (place, mut dice) = chance.next(DELIVERY, delivery.job_id.as_str());
        let kind = chance.draw(&OF_DELIVERIES, place, &mut dice);
        if let Some(kind) = kind {
            self.fire(&mut chance, kind, place, delivery.job_id.as_str());
        }
        let reply = kind.map_or(Reply::Deliver, |kind| reply(kind, &mut dice));
        self.scene.ledger().reached_channel(delivery, reply);
        Some(reply)
    }

    fn wrote(&mut self, before: Option<&Job>, after: &Job, _now: Instant) {
        self.scene.ledger().wrote(before, after);
    }

    fn leased(&mut self, channel: &ChannelName, lease: TokenLease) {
        self.scene.ledger().leased(channel, lease);
    }
}

fn below(dice: &mut Dice, bound: u64) -> i64 {
    i64::try_from(dice.below(bound + 1)).unwrap_or(0)
}

fn fault(kind: Kind, dice: &mut Dice) -> Fault {
    match kind {
        Kind::CrashBefore => Fault::CrashBefore,
        Kind::CrashAfter => Fault::CrashAfter,
        Kind::LostAnswer => Fault::LoseAnswer,
        Kind::Slow => Fault::Slow(200 + below(dice, 8_000)),
        Kind::Hang => Fault::Hang,
        Kind::HangAfter => Fault::HangAfter,
        Kind::PartialBatch if dice.is_hit(300) => Fault::LoseAnswer,
        _ => Fault::FailBefore,
    }
}

fn reply(kind: Kind, dice: &mut Dice) -> Reply {
    match kind {
        Kind::ChannelRefuses => Reply::Refuse,
        Kind::ChannelRefusesForGood => Reply::RefuseForGood,
        Kind::ChannelLosesAnswer => Reply::ArriveUnanswered,
        Kind::ChannelLosesDelivery => Reply::LoseUnanswered,
        Kind::ChannelHangs if dice.is_hit(500) => Reply::ArriveAndHang,
        Kind::ChannelHangs => Reply::LoseAndHang,
        Kind::ChannelSlow => Reply::DeliverSlowly(100 + below(dice, 5_000)),
        _ => Reply::Deliver,
    }
}
