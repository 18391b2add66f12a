//! The passing of time.

use super::{Message, World};
use crate::bounds::{Bounds, JOBS_MAX};
use crate::durations::{FIRST_VISIT, LOOKAHEAD};
use crate::prefetch::{self, Prefetch};

impl World {
    /// Lets a step of time pass.
    pub fn pass_time(&mut self, bounds: &Bounds) {
        for job in 0..JOBS_MAX {
            self.age_row(job);
        }
        for message in &mut self.messages {
            message.delay = (message.delay - 1).max(0);
        }
        self.messages.sort_unstable();
        for slot in 0..2 {
            self.age_run(bounds, slot);
        }
        self.watermark -= 1;
        self.ticks = 1;
        if let Some(lease) = &mut self.lease {
            lease.left = (lease.left - 1).max(0);
        }
        for slot in 0..2 {
            let Some(prefetch) = &mut self.prefetches[slot] else { continue };
            prefetch.age();
            if prefetch.life <= 0 {
                prefetch::end(self, slot);
            }
        }
    }

    fn age_row(&mut self, job: usize) {
        let has_record_pending = self.has_record_pending(job);
        if let Some(row) = self.rows[job].as_mut().filter(|row| !row.state.is_finished()) {
            row.release_in = (row.release_in - 1).max(0);
            row.bucket_in = (row.bucket_in - 1).max(-FIRST_VISIT);
            row.expires_in = row.expires_in.map(|left| (left - 1).max(-1));
            if let Some(claim) = &mut row.claim {
                claim.left = (claim.left - 1).max(-1);
                // One of rule 6's causes: the record could not be written before its claim ran out.
                self.history[job].may_be_twice |= claim.left < 0 && has_record_pending;
            }
        }
        if let Some(lag) = &mut self.index_lag[job] {
            lag.left -= 1;
            if let Some(shown) = &mut lag.shows {
                shown.release_in = (shown.release_in - 1).max(0);
                shown.bucket_in = (shown.bucket_in - 1).max(-FIRST_VISIT);
            }
        }
        self.index_lag[job] = self.index_lag[job].filter(|lag| lag.left > 0);
    }

    fn age_run(&mut self, bounds: &Bounds, slot: usize) {
        let Some(run) = &mut self.runs[slot] else { return };
        run.life -= 1;
        run.visible_in -= 1;
        for entry in &mut run.entries {
            entry.age();
        }
        let (life, visible_in, message, invocation) =
            (run.life, run.visible_in, run.message, run.invocation);
        if life <= 0 {
            self.end_invocation(bounds, invocation);
        } else if visible_in == 0 {
            // Only without rule 8 does a message come back while its run is under way.
            self.send(Message { delay: 0, ..message });
        }
    }

    /// Tells whether somebody still tries to record a delivery of the job.
    fn has_record_pending(&self, job: usize) -> bool {
        let by_run = self.runs.iter().flatten().any(|run| run.entries[job].is_recording());
        by_run || self.messages.iter().any(|message| message.is_record && message.entries[job] > 0)
    }

    /// Forgets where the ticks stand while nothing waits that they could stage.
    pub fn settle(&mut self) {
        let is_quiet = !self.has_unfinished()
            && self.messages.is_empty()
            && self.runs.iter().all(Option::is_none)
            && self.prefetches.iter().flatten().all(Prefetch::has_nothing_to_send);
        if is_quiet && !self.rows.iter().all(Option::is_none) {
            self.watermark = LOOKAHEAD;
            (self.lease, self.ticks, self.prefetches) = (None, 0, [None; 2]);
            self.index_lag = [None; JOBS_MAX];
        }
    }
}
