//! Which faults a run has, and how often.

use std::collections::BTreeMap;

use spillway_testkit::{Dice, Operation};

use super::kind::Kind;

/// The rates that a kind may have, of 10,000 calls, messages or invocations.
const RATES: [u32; 5] = [20, 60, 150, 400, 1_000];
/// The highest rate of a kind in a run whose jobs wait for a channel's rate.
const RATED_RATE_MAX: u32 = 150;
/// Below so many jobs a second a channel is slow, and jobs are passed on very often.
const SLOW_PER_SECOND: u32 = 4;
/// The highest rate of a kind in a run with a slow channel.
const SLOW_RATE_MAX: u32 = 20;
/// An outage begins within this time of the run's beginning, in seconds.
const OUTAGES_WITHIN_SECONDS: u64 = 1_200;

/// A time in which no call of some operations succeeds.
#[derive(Clone, Debug)]
pub(super) struct Outage {
    pub(super) operations: &'static [Operation],
    /// Milliseconds since the run's beginning.
    pub(super) from_millis: i64,
    pub(super) until_millis: i64,
}

/// The faults of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Mix {
    rates: BTreeMap<Kind, u32>,
    pub(super) outages: Vec<Outage>,
    /// How long a call and its answer are on their way at most, in milliseconds.
    pub(super) latency_millis_max: u64,
    /// How far a machine's clock is off at most, in milliseconds.
    pub(super) skew_millis_max: u64,
}

/// How far a machine's clock is off at most where there is no rate, in milliseconds.
const SKEW_MILLIS_MAX: u64 = 2_000;

/// The ports that an outage hits together.
const PORTS: [&[Operation]; 7] = [
    &[Operation::RecordDelivered, Operation::Retry, Operation::GiveBack],
    &[
        Operation::Read,
        Operation::Create,
        Operation::Reschedule,
        Operation::Cancel,
        Operation::Claim,
        Operation::GiveBack,
        Operation::Retry,
        Operation::RecordDelivered,
        Operation::RecordFailed,
        Operation::RecordExpired,
        Operation::ReturnToTable,
        Operation::Row,
        Operation::Redrive,
    ],
    &[Operation::Page],
    &[Operation::Watermark, Operation::AdvanceWatermark, Operation::Visits, Operation::WriteVisits],
    &[Operation::SendBatch],
    &[Operation::SendDeadLetter, Operation::ReceiveDeadLetters, Operation::DeleteDeadLetters],
    &[Operation::SendDeliveries],
];

impl Mix {
    /// Draws a mix: about half of the kinds, each with a rate of its own; one run of 20 has none.
    pub(super) fn drawn(dice: &mut Dice) -> Self {
        let latency_millis_max = [0, 5, 30, 120][dice.place(4)];
        let skew_millis_max = SKEW_MILLIS_MAX;
        if dice.is_hit(50) {
            return Self { latency_millis_max, skew_millis_max, ..Self::default() };
        }
        let mut rates = BTreeMap::new();
        for kind in Kind::ALL {
            if dice.is_hit(500) {
                rates.insert(*kind, RATES[dice.place(RATES.len())] * weight(*kind));
            }
        }
        let outages = if rates.contains_key(&Kind::Outage) {
            (0..=dice.below(2)).map(|_| outage(dice)).collect()
        } else {
            Vec::new()
        };
        Self { rates, outages, latency_millis_max, skew_millis_max }
    }

    /// Fits the mix to a run with a rate, in which jobs wait unclaimed, so that every fault of a
    /// passing on makes copies that are passed on as well: faults are seldom enough for them to
    /// drain, the more so the slower they do, and clocks as exact as the rate's bound allows for.
    pub(super) fn fit_to_rate(&mut self, per_second: u32, skew_millis_max: u32) {
        self.skew_millis_max = u64::from(skew_millis_max);
        let rate_max = if per_second < SLOW_PER_SECOND { SLOW_RATE_MAX } else { RATED_RATE_MAX };
        self.rates.values_mut().for_each(|rate| *rate = (*rate).min(rate_max));
    }

    /// Tells how many of 10,000 go wrong in this way.
    pub(super) fn rate(&self, kind: Kind) -> u32 {
        self.rates.get(&kind).copied().unwrap_or(0)
    }
}

fn outage(dice: &mut Dice) -> Outage {
    let from_millis = millis(dice.below(OUTAGES_WITHIN_SECONDS));
    let lasts_millis = millis([5, 30, 90, 300][dice.place(4)]);
    Outage {
        operations: PORTS[dice.place(PORTS.len())],
        from_millis,
        until_millis: from_millis + lasts_millis,
    }
}

fn millis(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(0) * 1_000
}

/// What happens once an invocation or a minute is drawn more often than what may happen at each
/// call.
const fn weight(kind: Kind) -> u32 {
    match kind {
        Kind::IndexLate | Kind::Skew => 8,
        Kind::CrashAtAwait
        | Kind::Freeze
        | Kind::MessageDoubled
        | Kind::MessageLate
        | Kind::Reordered
        | Kind::TickMissed
        | Kind::TickDoubled
        | Kind::TickLate
        | Kind::ChannelRefuses
        | Kind::ChannelLosesAnswer => 3,
        _ => 1,
    }
}
