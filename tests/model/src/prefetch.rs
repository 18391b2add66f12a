//! Prefetch: staging units under a lease, then reconcile (`app::stage_jobs`; rules 10 and 11).

use crate::bounds::{Bounds, JOBS_MAX};
use crate::durations::{FIRST_VISIT, LEASE, LOOKAHEAD, PREFETCH, VISIT_GAP};
use crate::rule::Rule;
use crate::steps::{Actor, Answer, Steps, Words, outcomes};
use crate::world::{Generation, World};

/// The lease of the unit after the watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lease {
    /// The slot of the one who holds it; none once that one is gone.
    pub holder: Option<u8>,
    /// What is left of it.
    pub left: i8,
    /// The unit's checkpoint: all its messages are in their queues.
    pub is_checked: bool,
}

/// Where an invocation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// A unit is to be leased and read.
    Take,
    /// What was read is to be sent.
    Send,
    /// The checkpoint is to be written.
    Check,
    /// The watermark is to be moved.
    Advance,
    /// The visits to drained minutes that are due are to be put off.
    PutOff,
    /// The minutes whose visits this run took are to be visited.
    Visit,
}

/// An invocation of prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefetch {
    /// Where it stands.
    pub stage: Stage,
    /// The minute of its unit.
    pub minute: i8,
    /// What it read there: generation and release.
    pub found: [Option<(Generation, i8)>; JOBS_MAX],
    /// What is left of its time.
    pub life: i8,
    /// It stands still.
    pub is_stalled: bool,
}

impl Prefetch {
    fn at(stage: Stage) -> Self {
        let found = [None; JOBS_MAX];
        Self { stage, minute: 0, found, life: PREFETCH, is_stalled: false }
    }

    /// Lets a step of time pass.
    pub fn age(&mut self) {
        self.minute -= 1;
        self.life -= 1;
        for (_, release_in) in self.found.iter_mut().flatten() {
            *release_in = (*release_in - 1).max(0);
        }
    }

    /// Tells whether it holds this life of a job and will send it.
    pub fn carries(&self, job: usize, generation: Generation) -> bool {
        self.found[job].is_some_and(|found| found.0 == generation)
    }

    /// Tells whether it has read nothing that it will send.
    pub fn has_nothing_to_send(&self) -> bool {
        self.found.iter().all(Option::is_none)
    }
}

fn words(slot: usize, text: &'static str) -> Words {
    Words { actor: Actor::Prefetch(slot), text, job: None, note: "", fault: None }
}

/// Adds the steps of both invocations, and the beginning of one for a tick.
pub fn steps(world: &World, bounds: &Bounds, steps: &mut Steps) {
    if world.ticks > 0
        && let Some(slot) = world.prefetches.iter().position(Option::is_none)
    {
        let mut begun = World { ticks: world.ticks - 1, ..world.clone() };
        begun.prefetches[slot] = Some(Prefetch::at(Stage::Take));
        take(&mut begun, bounds, slot);
        let text = match begun.prefetches[slot].map(|prefetch| prefetch.stage) {
            None => "a tick comes; there is nothing for it to do",
            Some(Stage::PutOff) => "a tick comes; only drained minutes are left for it",
            Some(_) => "a tick comes; it leases the next minute and reads it",
        };
        steps.must(words(slot, text), begun);
    }
    for slot in 0..world.prefetches.len() {
        let Some(prefetch) = world.prefetches[slot].filter(|prefetch| !prefetch.is_stalled) else {
            continue;
        };
        go_on(world, bounds, slot, prefetch, steps);
    }
}

fn go_on(world: &World, bounds: &Bounds, slot: usize, prefetch: Prefetch, steps: &mut Steps) {
    let mut after = world.clone();
    match prefetch.stage {
        Stage::Take => {
            take(&mut after, bounds, slot);
            steps.must(words(slot, "leases the next minute and reads it"), after);
        }
        Stage::Send => send(world, bounds, slot, prefetch, steps),
        Stage::Check => {
            check(&mut after, slot);
            set(&mut after, slot, Stage::Advance);
            steps.must(words(slot, "writes the checkpoint"), after);
        }
        Stage::Advance => {
            advance(&mut after, slot, prefetch.minute);
            let has_more =
                bounds.keeps(Rule::MessagesBeforeWatermark) || prefetch.has_nothing_to_send();
            set(&mut after, slot, if has_more { Stage::Take } else { Stage::Send });
            if after.watermark >= LOOKAHEAD && has_more {
                visit_or_end(&mut after, bounds, slot);
            }
            steps.must(words(slot, "moves the watermark"), after);
        }
        Stage::PutOff => {
            put_off(&mut after, slot);
            steps.must(words(slot, "takes the visit of a drained minute, and puts it off"), after);
        }
        Stage::Visit => visit(world, bounds, slot, prefetch, steps),
    }
}

fn set(world: &mut World, slot: usize, stage: Stage) {
    if let Some(prefetch) = &mut world.prefetches[slot] {
        prefetch.stage = stage;
    }
}

/// Takes the unit after the watermark, unless another holds it, and reads its minute.
fn take(world: &mut World, bounds: &Bounds, slot: usize) {
    let minute = world.watermark + 1;
    let is_held = world.lease.is_some_and(|lease| lease.left > 0);
    if minute > LOOKAHEAD || is_held {
        visit_or_end(world, bounds, slot);
        return;
    }
    let is_checked = world.lease.is_some_and(|lease| lease.is_checked);
    let holder = u8::try_from(slot).ok();
    world.lease = Some(Lease { holder, left: LEASE, is_checked });
    let mut found = [None; JOBS_MAX];
    for (job, found) in found.iter_mut().enumerate().filter(|_| !is_checked) {
        let entry = world.index_entry(job).filter(|entry| entry.bucket_in == minute);
        *found = entry.map(|entry| (entry.generation, entry.release_in));
    }
    let messages_first = bounds.keeps(Rule::MessagesBeforeWatermark);
    let is_empty = found.iter().all(Option::is_none);
    let stage = if is_empty || !messages_first { Stage::Advance } else { Stage::Send };
    if let Some(prefetch) = &mut world.prefetches[slot] {
        (prefetch.stage, prefetch.minute, prefetch.found) = (stage, minute, found);
    }
}

fn send(world: &World, bounds: &Bounds, slot: usize, prefetch: Prefetch, steps: &mut Steps) {
    let call = |world: &mut World| {
        world.send_packs(prefetch.found);
        true
    };
    for outcome in outcomes(world, bounds, call) {
        let mut after = outcome.world.clone();
        if outcome.answer == Answer::None {
            steps.after(words(slot, "sends the pack, and will again"), &outcome, after.clone());
            end(&mut after, slot);
            steps.after(words(slot, "sends the pack, and ends with an error"), &outcome, after);
            continue;
        }
        if let Some(prefetch) = &mut after.prefetches[slot] {
            prefetch.found = [None; JOBS_MAX];
        }
        if bounds.keeps(Rule::MessagesBeforeWatermark) {
            set(&mut after, slot, Stage::Check);
        } else {
            visit_or_end(&mut after, bounds, slot);
        }
        steps.after(words(slot, "sends the pack"), &outcome, after);
    }
}

/// Ends an invocation; its lease is left to run out.
pub fn end(world: &mut World, slot: usize) {
    world.prefetches[slot] = None;
    if let Some(lease) = &mut world.lease
        && lease.holder == u8::try_from(slot).ok()
    {
        lease.holder = None;
    }
}

/// The holder's lease → the checkpoint.
fn check(world: &mut World, slot: usize) {
    if let Some(lease) = &mut world.lease
        && lease.holder == u8::try_from(slot).ok()
    {
        lease.is_checked = true;
    }
}

/// The watermark is right before the minute, and the holder's lease → the watermark.
fn advance(world: &mut World, slot: usize, minute: i8) {
    let is_holder = world.lease.is_some_and(|lease| lease.holder == u8::try_from(slot).ok());
    if is_holder && world.watermark + 1 == minute {
        world.watermark = minute;
        world.lease = None;
    }
}

/// Goes on to the drained minutes when one has something left, else ends.
fn visit_or_end(world: &mut World, bounds: &Bounds, slot: usize) {
    if bounds.keeps(Rule::Reconcile) && (0..JOBS_MAX).any(|job| is_left(world, job)) {
        set(world, slot, Stage::PutOff);
    } else {
        world.prefetches[slot] = None;
    }
}

/// Tells whether a job is left in a minute whose visit is due.
fn is_left(world: &World, job: usize) -> bool {
    world.index_entry(job).is_some_and(|entry| entry.bucket_in <= -FIRST_VISIT)
}

/// Puts the visits that are due off, before they are made: of runs that overlap one makes them, and
/// a run that dies over them costs a gap.
fn put_off(world: &mut World, slot: usize) {
    let mut taken = [None; JOBS_MAX];
    for (job, taken) in taken.iter_mut().enumerate().filter(|(job, _)| is_left(world, *job)) {
        *taken = world.index_entry(job).map(|entry| (entry.generation, entry.release_in));
    }
    for job in (0..JOBS_MAX).filter(|job| taken[*job].is_some()) {
        if let Some(row) = &mut world.rows[job] {
            row.bucket_in = row.bucket_in.max(-FIRST_VISIT + VISIT_GAP);
        }
    }
    if let Some(prefetch) = &mut world.prefetches[slot] {
        (prefetch.stage, prefetch.found) = (Stage::Visit, taken);
    }
}

/// Stages what is left in the minutes whose visits the run took.
fn visit(world: &World, bounds: &Bounds, slot: usize, prefetch: Prefetch, steps: &mut Steps) {
    let call = |world: &mut World| {
        world.send_packs(prefetch.found);
        true
    };
    for outcome in outcomes(world, bounds, call) {
        let mut after = outcome.world.clone();
        after.prefetches[slot] = None;
        steps.after(words(slot, "stages what is left in a drained minute"), &outcome, after);
    }
}
