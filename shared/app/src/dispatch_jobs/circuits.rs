use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use spillway_domain::attempt::SendOutcome;
use spillway_domain::circuit::Circuit;
use spillway_domain::name::ChannelName;
use spillway_domain::time::Instant;

use super::Held;

/// The circuits of the channels, one value a process: what its invocations learn of a channel that
/// does not answer outlives them (R13).
#[derive(Debug, Default)]
pub struct Circuits(Mutex<BTreeMap<ChannelName, Circuit>>);

impl Circuits {
    /// Tells whether the jobs of a channel are held back, but for a message that tries it.
    pub(super) fn is_held(&self, channel: &ChannelName, now: Instant) -> bool {
        self.circuits().get_mut(channel).is_some_and(|circuit| circuit.holds(now))
    }

    /// Counts how often a channel's circuit opened.
    pub(super) fn openings(&self, channel: &ChannelName) -> u32 {
        self.circuits().get(channel).map_or(0, Circuit::openings)
    }

    /// Takes in what became of a call, which may carry several jobs of one channel.
    pub(super) fn take_in(&self, held: &[Held], outcomes: &[SendOutcome], now: Instant) {
        let Some(first) = held.first() else { return };
        let is_answered =
            outcomes.iter().any(|outcome| !matches!(outcome, SendOutcome::Unanswered(_)));
        let mut circuits = self.circuits();
        circuits.entry(first.job.spec.channel.clone()).or_default().count(is_answered, now);
    }

    fn circuits(&self) -> MutexGuard<'_, BTreeMap<ChannelName, Circuit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
