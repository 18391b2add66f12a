//! Dispatch: what a receiver does with the entries of a message (`app::dispatch_jobs`).

mod claiming;
mod passing_on;
mod recording;
mod sending;

use spillway_domain::claim::not_before;
use spillway_domain::claim::unanswered_seconds;
use spillway_domain::time::Instant;

use crate::bounds::{ATTEMPTS_MAX, Bounds, HOPS_MAX};
use crate::domain;
use crate::durations::CLAIM;
use crate::rule::Rule;
use crate::steps::{Actor, Outcome, Steps, Words, outcomes};
use crate::world::{Generation, Message, World, delay_for, delay_until, is_staged_directly};

/// On whose word a job has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailedBy {
    /// The holder's.
    Holder,
    /// That of the one who found the claim run out and the attempts used up.
    RunOut,
}

/// How far an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// Nothing is left to do, or the message does not carry the job.
    Done,
    /// To be claimed, after so many calls without an answer.
    Claim { tries: u8, attempts_max: u8 },
    /// Held until its release; so much is left of the claim.
    Held { hold: i8, left: i8 },
    /// The send has started.
    Sending { left: i8 },
    /// The delivery is to be recorded.
    Record { left: i8 },
    /// A message must record it.
    RecordOnward,
    /// The next attempt is to be written.
    Retry { is_unanswered: bool, left: i8 },
    /// The dead-letter entry is to be sent.
    Letter { by: FailedBy, left: i8 },
    /// The failure is to be written.
    Failure { by: FailedBy, left: i8 },
    /// The claim is to be given back.
    GiveBack { left: i8 },
    /// The expiry is to be written.
    Expire,
    /// To be returned to the table.
    Return,
    /// To be sent on.
    Onward { delay: i8, hops: u8 },
}

impl Entry {
    /// The first step of an entry.
    pub fn first(bounds: &Bounds, message: &Message, generation: Generation) -> Self {
        if generation == 0 {
            Self::Done
        } else if message.is_record {
            Self::Record { left: 0 }
        } else if bounds.keeps(Rule::ClaimBeforeSend) {
            Self::Claim { tries: 0, attempts_max: ATTEMPTS_MAX }
        } else {
            Self::Held { hold: 0, left: CLAIM }
        }
    }

    /// Lets a step of time pass.
    pub fn age(&mut self) {
        match self {
            Self::Held { hold, left } => {
                *hold = (*hold - 1).max(0);
                *left = (*left - 1).max(-1);
            }
            Self::Sending { left }
            | Self::Record { left }
            | Self::Retry { left, .. }
            | Self::Letter { left, .. }
            | Self::Failure { left, .. }
            | Self::GiveBack { left } => *left = (*left - 1).max(-1),
            _ => {}
        }
    }

    /// Tells whether a send was started whose end is not written.
    pub fn is_sent(self) -> bool {
        matches!(self, Self::Sending { .. }) || self.is_recording()
    }

    /// Tells whether a delivery is still to be recorded.
    pub fn is_recording(self) -> bool {
        matches!(self, Self::Record { .. } | Self::RecordOnward)
    }

    fn is_settled(self) -> bool {
        matches!(self, Self::Done | Self::RecordOnward | Self::Onward { .. })
    }
}

/// One entry of one run, and where it stands.
struct At<'a> {
    world: &'a World,
    bounds: &'a Bounds,
    slot: usize,
    job: usize,
    generation: Generation,
}

/// Adds the steps of both receivers.
pub fn steps(world: &World, bounds: &Bounds, steps: &mut Steps) {
    for (slot, run) in world.runs.iter().enumerate() {
        let Some(run) = run.filter(|run| !run.is_stalled) else { continue };
        for (job, entry) in run.entries.into_iter().enumerate() {
            let generation = run.message.entries[job];
            At { world, bounds, slot, job, generation }.step(entry, steps);
        }
        if run.entries.iter().all(|entry| entry.is_settled()) {
            passing_on::finish(world, bounds, slot, steps);
        }
    }
}

impl At<'_> {
    fn words(&self, text: &'static str) -> Words {
        let job = (self.bounds.jobs > 1).then_some(self.job);
        Words { actor: Actor::Receiver(self.slot), text, job, note: "", fault: None }
    }

    /// The world after a call, in which the entry goes on so.
    fn goes_on(&self, outcome: &Outcome, entry: Entry) -> World {
        self.with(outcome.world.clone(), entry)
    }

    fn with(&self, mut world: World, entry: Entry) -> World {
        if let Some(run) = &mut world.runs[self.slot] {
            let returns = matches!(entry, Entry::Onward { hops, .. } if hops > HOPS_MAX);
            run.entries[self.job] = if returns { Entry::Return } else { entry };
        }
        world
    }

    /// Passes the entry on, unclaimed, to come back after a delay.
    fn passed_on(&self, delay: i8) -> Entry {
        Entry::Onward { delay, hops: self.hops() + 1 }
    }

    fn hops(&self) -> u8 {
        self.world.runs[self.slot].map_or(0, |run| run.message.hops)
    }

    fn life(&self) -> i8 {
        self.world.runs[self.slot].map_or(0, |run| run.life)
    }

    fn token(&self) -> crate::world::Token {
        let run = self.world.runs[self.slot].as_ref();
        run.map_or(crate::world::Token::Gone, |run| run.token(self.bounds, self.slot))
    }

    /// Leaves a claim that could not be brought to an end to run out.
    fn left_to_run_out(&self, left: i8) -> Entry {
        self.passed_on(delay_for(not_before(domain::instant(left))))
    }

    fn comes_back(&self) -> Entry {
        let seconds = unanswered_seconds(u32::from(self.hops()));
        self.passed_on(delay_for(not_before(Instant::from_millis(0).plus_seconds(seconds))))
    }

    fn outcomes(&self, call: impl Fn(&mut World) -> bool) -> Vec<Outcome> {
        outcomes(self.world, self.bounds, call)
    }

    fn step(&self, entry: Entry, steps: &mut Steps) {
        match entry {
            Entry::Claim { tries, attempts_max } => self.claim(tries, attempts_max, steps),
            Entry::Held { hold: 0, left } => self.at_release(left, steps),
            Entry::Sending { left } => self.answered(left, steps),
            Entry::Record { left } => self.record(left, steps),
            Entry::Retry { is_unanswered, left } => self.retry(is_unanswered, left, steps),
            Entry::Letter { by, left } => self.letter(by, left, steps),
            Entry::Failure { by, left } => self.failure(by, left, steps),
            Entry::GiveBack { left } => self.give_back(left, steps),
            Entry::Expire => self.expire(steps),
            Entry::Return => self.return_to_table(steps),
            Entry::Held { .. } | Entry::Done | Entry::RecordOnward | Entry::Onward { .. } => {}
        }
    }

    /// Whoever wrote a bucket stages it when it is near (rule 9).
    fn staged_or_left(&self, world: &World) -> Entry {
        match world.rows[self.job] {
            Some(row) if is_staged_directly(row.bucket_in, self.bounds) => {
                Entry::Onward { delay: delay_until(row.release_in), hops: 0 }
            }
            _ => Entry::Done,
        }
    }
}
