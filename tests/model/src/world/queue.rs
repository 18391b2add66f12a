//! The queue, and the runs of what was received.

use super::{Generation, Message, Run, Token, World, delay_until};
use crate::bounds::{Bounds, JOBS_MAX};
use crate::dispatch::Entry;
use crate::durations::{FUNCTION, FUNCTION_UNBOUNDED, VISIBILITY};
use crate::rule::Rule;

impl World {
    /// Puts a message into the queue.
    pub fn send(&mut self, message: Message) {
        self.messages.push(message);
        self.messages.sort_unstable();
    }

    /// Puts packs of jobs into the queue: one for those of one release.
    pub fn send_packs(&mut self, jobs: [Option<(Generation, i8)>; JOBS_MAX]) {
        let delays =
            jobs.map(|job| job.map(|(generation, release)| (generation, delay_until(release))));
        self.send_entries(delays, 0);
    }

    /// Puts entries into the queue, those of one delay in one message.
    pub fn send_entries(&mut self, entries: [Option<(Generation, i8)>; JOBS_MAX], hops: u8) {
        for (job, entry) in entries.into_iter().enumerate() {
            let Some((_, delay)) = entry else { continue };
            if entries[..job].iter().flatten().any(|earlier| earlier.1 == delay) {
                continue;
            }
            let of_delay = entries.map(|entry| entry.filter(|entry| entry.1 == delay));
            let entries = of_delay.map(|entry| entry.map_or(0, |entry| entry.0));
            self.send(Message { is_record: false, entries, delay, hops });
        }
    }

    /// Begins a run of a message in a slot.
    pub fn receive(&mut self, bounds: &Bounds, slot: usize, invocation: u8, message: Message) {
        let bounded = bounds.keeps(Rule::HolderGoneBeforeClaim);
        let entries = message.entries.map(|generation| Entry::first(bounds, &message, generation));
        self.runs[slot] = Some(Run {
            message,
            invocation,
            entries,
            life: if bounded { FUNCTION } else { FUNCTION_UNBOUNDED },
            visible_in: VISIBILITY,
            is_stalled: false,
        });
    }

    /// Ends a run; its message comes back unless it was deleted.
    pub fn end_run(&mut self, bounds: &Bounds, slot: usize, is_deleted: bool) {
        let Some(run) = self.runs[slot].take() else { return };
        if !is_deleted && run.visible_in > 0 {
            self.send(Message { delay: run.visible_in, ..run.message });
        }
        let token = run.token(bounds, slot);
        let is_shared = self.runs.iter().flatten().any(|other| {
            !bounds.keeps(Rule::OneTokenAnEntry) && other.invocation == run.invocation
        });
        for claim in self.rows.iter_mut().flatten().filter_map(|row| row.claim.as_mut()) {
            if claim.token == token && !is_shared {
                claim.token = Token::Gone;
            }
        }
    }

    /// Ends all runs of an invocation that crashed or was ended at its deadline. What it had sent
    /// and not recorded may be sent again.
    pub fn end_invocation(&mut self, bounds: &Bounds, invocation: u8) {
        for slot in 0..2 {
            let Some(run) = self.runs[slot].filter(|run| run.invocation == invocation) else {
                continue;
            };
            for (job, entry) in run.entries.into_iter().enumerate() {
                self.history[job].may_be_twice |= entry.is_sent();
            }
            self.end_run(bounds, slot, false);
        }
    }
}
