//! What the ledger remembers of a job.

use std::collections::BTreeMap;

use spillway_domain::job::{Generation, Job};
use spillway_domain::precision::Times;
use spillway_domain::time::Instant;

/// What has become of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendState {
    UnderWay,
    Delivered,
    Refused,
    Unanswered,
}

/// One send of one job.
#[derive(Clone, Debug)]
pub(super) struct Send {
    pub(super) invocation: u64,
    pub(super) sent_at: Instant,
    pub(super) attempt: u32,
    pub(super) state: SendState,
    pub(super) has_arrived: bool,
    pub(super) created_at: Instant,
    /// When its claim ran out, by its sender's clock.
    pub(super) claim_until: Option<Instant>,
    pub(super) record_tries: u32,
    pub(super) recorded_at: Option<Instant>,
}

/// One life of a job.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) payload: String,
    pub(super) times: Times,
}

/// Everything about one id.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    pub(super) row: Option<Job>,
    pub(super) lives: BTreeMap<Generation, Life>,
    /// The messages that were sent for a life.
    pub(super) messages: BTreeMap<Generation, u32>,
    pub(super) is_accepted: bool,
    pub(super) acknowledged: Option<Generation>,
    pub(super) cancelled_at: Option<Instant>,
    pub(super) claimed_at: Option<Instant>,
    pub(super) indexed_at: Option<Instant>,
    pub(super) sends: Vec<Send>,
}

impl Notes {
    /// Gives the newest life that has this content.
    pub(super) fn life_of(&self, payload: &str) -> Option<(Generation, &Life)> {
        let mut lives = self.lives.iter().rev();
        lives.find(|(_, life)| life.payload == payload).map(|(number, life)| (*number, life))
    }

    pub(super) fn arrivals(&self) -> usize {
        self.sends.iter().filter(|send| send.has_arrived).count()
    }
}
