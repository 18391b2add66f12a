//! Steps: what may happen next in a world, each with its words.

use std::fmt;

use crate::bounds::{Bounds, JOBS_MAX};
use crate::durations::{INDEX_LAG_BEYOND, INDEX_LAG_WITHIN};
use crate::fault::Fault;
use crate::world::{IndexLag, World};
use crate::{calls, dispatch, environment, prefetch};

/// Who takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// One who waits for nobody: time, the queue, the outside.
    Outside,
    /// A caller's request in intake, or the operator's redrive.
    Caller,
    /// The invocation of prefetch in this slot.
    Prefetch(usize),
    /// The run of dispatch in this slot.
    Receiver(usize),
}

/// A step in words.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Who takes it.
    pub actor: Actor,
    /// What it does.
    pub text: &'static str,
    /// The job that it is about, when it is about one of two.
    pub job: Option<usize>,
    /// How the call went.
    pub note: &'static str,
    /// The fault in it.
    pub fault: Option<Fault>,
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.actor {
            Actor::Outside => {}
            Actor::Caller => f.write_str("caller: ")?,
            Actor::Prefetch(slot) => write!(f, "prefetch {}: ", letter(slot))?,
            Actor::Receiver(slot) => write!(f, "receiver {}: ", letter(slot))?,
        }
        f.write_str(self.text)?;
        if let Some(job) = self.job {
            write!(f, " (job {})", job + 1)?;
        }
        f.write_str(self.note)?;
        if let Some(fault) = self.fault {
            write!(f, " [fault: {fault}]")?;
        }
        Ok(())
    }
}

/// Names a slot.
pub fn letter(slot: usize) -> char {
    if slot == 0 { 'A' } else { 'B' }
}

/// A step that may be taken.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it is.
    pub words: Words,
    /// The world after it.
    pub world: World,
}

/// How a call on the store, the queue or the channel came out for the one who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done.
    Done,
    /// Its condition did not hold.
    Refused,
    /// There is no answer: done or not.
    None,
}

/// One way in which a call may go.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The world after it.
    pub world: World,
    /// What the one who made it knows.
    pub answer: Answer,
    note: &'static str,
    fault: Option<Fault>,
}

/// Lists every way in which a call may go: done or refused and answered so; done or not done, and
/// not answered; done, and shown late by the index.
pub fn outcomes(world: &World, bounds: &Bounds, call: impl Fn(&mut World) -> bool) -> Vec<Outcome> {
    let mut after = world.clone();
    let is_done = call(&mut after);
    let mut outcomes = Vec::with_capacity(5);
    let (answer, note) = if is_done { (Answer::Done, "") } else { (Answer::Refused, ": refused") };
    outcomes.push(Outcome { world: after.clone(), answer, note, fault: None });
    if let Some(world) = world.spend(bounds, Fault::NotDone) {
        let (note, fault) = (": not done, no answer", Some(Fault::NotDone));
        outcomes.push(Outcome { world, answer: Answer::None, note, fault });
    }
    if is_done {
        if let Some(world) = after.spend(bounds, Fault::AnswerLost) {
            let (note, fault) = (": done, its answer lost", Some(Fault::AnswerLost));
            outcomes.push(Outcome { world, answer: Answer::None, note, fault });
        }
        outcomes.extend(shown_late(world, &after, bounds));
    }
    outcomes
}

/// The same write, when it moves the row in the index and the index shows it late: by as much as
/// rule 9 allows for, or by more.
fn shown_late(before: &World, after: &World, bounds: &Bounds) -> Vec<Outcome> {
    let moved = |job: &usize| {
        let place = |world: &World| {
            world.rows[*job].map(|row| (row.generation, row.bucket_in, row.state.is_finished()))
        };
        after.is_unfinished(*job) && place(before) != place(after)
    };
    let lags = [
        (INDEX_LAG_WITHIN, ": done, the index shows it a little late"),
        (INDEX_LAG_BEYOND, ": done, the index shows it very late"),
    ];
    let late = (0..JOBS_MAX).filter(moved).flat_map(|job| lags.map(|lag| (job, lag)));
    late.filter_map(|(job, (left, note))| {
        let mut world = after.spend(bounds, Fault::IndexLate)?;
        world.index_lag[job] = Some(IndexLag { left, shows: before.index_entry(job) });
        world.history[job].needs_reconcile |= left > INDEX_LAG_WITHIN;
        Some(Outcome { world, answer: Answer::Done, note, fault: Some(Fault::IndexLate) })
    })
    .collect()
}

/// The steps of a world, as they are collected.
#[derive(Debug, Default)]
pub struct Steps {
    /// All of them.
    pub all: Vec<Step>,
    /// Some actor can go on, so that time does not pass yet.
    pub can_go_on: bool,
}

impl Steps {
    /// Adds a step that its actor takes sooner or later.
    pub fn must(&mut self, words: Words, world: World) {
        self.can_go_on = true;
        self.all.push(Step { words, world });
    }

    /// Adds a step that may never come: a call, a fault, the end of a stall.
    pub fn may(&mut self, words: Words, world: World) {
        self.all.push(Step { words, world });
    }

    /// Adds what follows from one way in which a call went.
    pub fn after(&mut self, words: Words, outcome: &Outcome, world: World) {
        let note = if words.note.is_empty() { outcome.note } else { words.note };
        let words = Words { note, fault: outcome.fault, ..words };
        if outcome.fault.is_some() { self.may(words, world) } else { self.must(words, world) }
    }
}

/// Lists all that may happen next.
pub fn steps(world: &World, bounds: &Bounds) -> Vec<Step> {
    if world.broken.is_some() {
        return Vec::new();
    }
    let mut steps = Steps::default();
    dispatch::steps(world, bounds, &mut steps);
    prefetch::steps(world, bounds, &mut steps);
    calls::steps(world, bounds, &mut steps);
    environment::steps(world, bounds, &mut steps);
    for step in &mut steps.all {
        step.world.settle();
        step.world.check_rows(bounds);
    }
    steps.all
}

/// The worlds that a search begins with: the creation, for a release that its writer stages and for
/// one that is left to prefetch.
pub fn beginnings(bounds: &Bounds) -> Vec<Step> {
    calls::creations(&World::first(bounds), bounds)
}
