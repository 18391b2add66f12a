//! The promises, as properties of the model.
//!
//! Most are checked where they could break: when a send starts, when a row is written, when a
//! caller is answered. Two are about every world ([`World::check_rows`]), and one about every way
//! through the graph (`Promise::NeverLost`, see [`crate::checker`]).

use std::fmt;

use spillway_domain::job::State;

use crate::bounds::Bounds;
use crate::dispatch::Entry;
use crate::rule::Rule;
use crate::world::{Generation, Token, World};

/// What is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// Every stored job ends, in whatever order its actors go on once faults stop.
    NeverLost,
    /// No send starts after a cancel was acknowledged.
    CancelIsFinal,
    /// No send of an older generation starts after a reschedule was acknowledged.
    NeverAnOldGeneration,
    /// What may have arrived under a `delivery_id` is never followed by other content.
    OneContent,
    /// A send follows one that may have arrived only for one of rule 6's causes.
    TwiceOnlyWithACause,
    /// No send starts before the row's release.
    NeverEarly,
    /// A finished job never comes back, except by redrive.
    FinishedNeverComesBack,
    /// A failed job has its dead-letter entry.
    FailedHasItsDeadLetter,
    /// A caller who is told that it is too late to cancel is told the truth: the job has ended, or
    /// somebody holds it.
    TooLateIsTrue,
    /// An accepted job that has not ended is on its way by a message, a run, or a tick to come.
    /// Only what the queue lost, or the index showed too late, waits for reconcile.
    OnItsWay,
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeverLost => "never lost: a stored job must end",
            Self::CancelIsFinal => "cancel is final: a send started after the acknowledgement",
            Self::NeverAnOldGeneration => {
                "never an old generation: it was sent after an acknowledged reschedule"
            }
            Self::OneContent => {
                "one content: another generation was sent where one may have arrived"
            }
            Self::TwiceOnlyWithACause => "twice only with a cause: a second send has none",
            Self::NeverEarly => "never early: a send started before its release",
            Self::FinishedNeverComesBack => "a finished job never comes back, and this one did",
            Self::FailedHasItsDeadLetter => "a failed job has its dead-letter entry: this has none",
            Self::TooLateIsTrue => {
                "too late is true: a cancel was refused although nobody held the job"
            }
            Self::OnItsWay => {
                "on its way: an accepted job is in no message, no run and before no tick"
            }
        })
    }
}

/// What the promises remember of a job's id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is remembered by itself")]
pub struct History {
    /// The largest generation there was.
    pub generations: Generation,
    /// The generation that a caller was told of last.
    pub acknowledged: Generation,
    /// A caller was told of a cancel.
    pub is_cancel_acknowledged: bool,
    /// Sends that may have arrived: those under way included, those that were refused not.
    pub arrivals: u8,
    /// Their generation.
    pub arrived: Generation,
    /// One of rule 6's causes has come up.
    pub may_be_twice: bool,
    /// The queue lost a message of it, or the index showed it too late: reconcile is to find it.
    pub needs_reconcile: bool,
    /// A redrive has moved it and is not over.
    pub is_redriven: bool,
}

impl History {
    /// Begins a larger generation.
    pub fn next_generation(&mut self) -> Generation {
        self.generations += 1;
        self.generations
    }

    /// Notes that the channel refused the send that was under way.
    pub fn send_was_refused(&mut self) {
        self.arrivals = self.arrivals.saturating_sub(1);
    }
}

impl World {
    /// Notes that a send starts, and checks what is promised of it.
    pub fn send_starts(&mut self, job: usize, generation: Generation) {
        let row = self.of_life(job, generation);
        let history = &mut self.history[job];
        let broken = if history.is_cancel_acknowledged {
            Some(Promise::CancelIsFinal)
        } else if generation < history.acknowledged {
            Some(Promise::NeverAnOldGeneration)
        } else if history.arrivals > 0 && history.arrived != generation {
            Some(Promise::OneContent)
        } else if history.arrivals > 0 && !history.may_be_twice {
            Some(Promise::TwiceOnlyWithACause)
        } else if row.is_some_and(|row| row.release_in > 0) {
            Some(Promise::NeverEarly)
        } else {
            None
        };
        history.arrivals = history.arrivals.saturating_add(1).min(2);
        history.arrived = generation;
        self.broken = self.broken.or(broken);
    }

    /// Notes that a caller is told that it is too late to cancel, and checks that it is.
    pub fn too_late_is_told(&mut self, bounds: &Bounds, job: usize) {
        let Some(row) = self.rows[job].filter(|row| row.state == State::Claimed) else { return };
        let is_held = row.claim.is_some_and(|claim| claim.token != Token::Gone);
        // A fault may end a holder, whose claim then has to run out.
        if !is_held && self.faults_left == bounds.faults {
            self.broken.get_or_insert(Promise::TooLateIsTrue);
        }
    }

    /// Checks what is promised of every world.
    pub fn check_rows(&mut self, bounds: &Bounds) {
        for job in 0..bounds.jobs {
            let is_failed = self.rows[job].is_some_and(|row| row.state == State::Failed);
            // The trace is clearer when whoever is between the two writes has gone.
            if is_failed && self.letters[job] == 0 && !self.is_sending_letter(job) {
                self.broken.get_or_insert(Promise::FailedHasItsDeadLetter);
            }
            if !self.is_on_its_way(job) {
                self.broken.get_or_insert(Promise::OnItsWay);
            }
        }
    }

    fn is_sending_letter(&self, job: usize) -> bool {
        let at = |run: &crate::world::Run| matches!(run.entries[job], Entry::Letter { .. });
        self.runs.iter().flatten().any(at)
    }

    fn is_on_its_way(&self, job: usize) -> bool {
        let history = &self.history[job];
        let Some(row) = self.rows[job].filter(|row| !row.state.is_finished()) else { return true };
        let is_promised = row.generation == history.acknowledged && !history.is_redriven;
        if !is_promised || history.needs_reconcile {
            return true;
        }
        let carries = |entries: &[Generation]| entries[job] == row.generation;
        self.watermark < row.bucket_in
            || self.messages.iter().any(|message| carries(&message.entries))
            || self.runs.iter().flatten().any(|run| carries(&run.message.entries))
            || self
                .prefetches
                .iter()
                .flatten()
                .any(|prefetch| prefetch.carries(job, row.generation))
    }

    /// Tells whether rule 12 lets a finished row go.
    pub fn may_forget(&self, bounds: &Bounds, job: usize) -> bool {
        let is_finished = self.rows[job].is_some_and(|row| row.state.is_finished());
        is_finished && !bounds.keeps(Rule::FinishedRowOutlives)
    }
}
