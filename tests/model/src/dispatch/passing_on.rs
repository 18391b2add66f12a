//! Sends entries on, or returns them to the table (`app::dispatch_jobs::passing_on`).

use spillway_domain::claim::not_before;

use super::{At, Entry};
use crate::bounds::{Bounds, HOPS_MAX, JOBS_MAX};
use crate::domain;
use crate::durations::{DIRECT_MARGIN, LOOKAHEAD};
use crate::steps::{Actor, Answer, Steps, Words, outcomes};
use crate::world::{Message, World, delay_for};

impl At<'_> {
    pub(super) fn return_to_table(&self, steps: &mut Steps) {
        let release_in = LOOKAHEAD + DIRECT_MARGIN + 1;
        let give = |world: &mut World| world.return_to_table(self.job, self.generation, release_in);
        for outcome in self.outcomes(give) {
            let row = self.world.rows[self.job];
            let next = match (outcome.answer, row) {
                (Answer::Done, _) => self.staged_or_left(&outcome.world),
                (Answer::None, _) => Entry::Return,
                (Answer::Refused, Some(row))
                    if row.generation == self.generation && !row.state.is_finished() =>
                {
                    let free_in = row.claim.map_or(row.release_in, |claim| claim.left);
                    let delay = delay_for(not_before(domain::instant(free_in.max(2))));
                    Entry::Onward { delay, hops: HOPS_MAX }
                }
                (Answer::Refused, _) => Entry::Done,
            };
            steps.after(self.words("returns to the table"), &outcome, self.goes_on(&outcome, next));
        }
    }
}

/// Sends on what another message must take further, then deletes the message.
pub(super) fn finish(world: &World, bounds: &Bounds, slot: usize, steps: &mut Steps) {
    let Some(run) = world.runs[slot] else { return };
    let words =
        |text| Words { actor: Actor::Receiver(slot), text, job: None, note: "", fault: None };
    if run.entries.iter().all(|entry| *entry == Entry::Done) {
        let delete = |world: &mut World| {
            world.end_run(bounds, slot, true);
            true
        };
        for outcome in outcomes(world, bounds, delete) {
            let mut after = outcome.world.clone();
            if outcome.answer == Answer::None {
                // Not deleted: it comes back.
                after.end_run(bounds, slot, false);
            }
            steps.after(words("deletes the message"), &outcome, after);
        }
        return;
    }
    let send = |world: &mut World| {
        send_onward(world, run.entries, run.message);
        true
    };
    for outcome in outcomes(world, bounds, send) {
        let mut after = outcome.world.clone();
        if outcome.answer == Answer::None {
            steps.after(words("sends on"), &outcome, after.clone());
            // One of rule 6's causes: the record could be neither written nor sent.
            for (job, entry) in run.entries.iter().enumerate() {
                after.history[job].may_be_twice |= *entry == Entry::RecordOnward;
            }
            after.end_run(bounds, slot, false);
            steps.after(words("sends on, has no time to try again"), &outcome, after);
            continue;
        }
        if let Some(run) = &mut after.runs[slot] {
            run.entries = [Entry::Done; JOBS_MAX];
        }
        steps.after(words("sends on"), &outcome, after);
    }
}

fn send_onward(world: &mut World, entries: [Entry; JOBS_MAX], message: Message) {
    for hops in 0..=HOPS_MAX {
        let mut of_hops = [None; JOBS_MAX];
        for (job, entry) in entries.into_iter().enumerate() {
            if let Entry::Onward { delay, hops: its } = entry
                && its == hops
            {
                of_hops[job] = Some((message.entries[job], delay));
            }
        }
        world.send_entries(of_hops, hops);
    }
    for (job, entry) in entries.into_iter().enumerate() {
        if entry == Entry::RecordOnward {
            let mut entries = [0; JOBS_MAX];
            entries[job] = message.entries[job];
            world.send(Message { is_record: true, entries, delay: 0, hops: 0 });
        }
    }
}
