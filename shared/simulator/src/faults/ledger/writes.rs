//! Writes of rows.

use spillway_domain::job::{Job, State};
use spillway_domain::precision::Times;
use spillway_domain::time::Instant;

use super::notes::Life;
use super::{Invariant, Ledger};

/// Jobs that were asked for one instant under one contract, and are due in one second. Those of
/// other contracts would hide that a second's shards follow from its offset.
pub(super) type Second = (Instant, Instant, u32, u32);

/// So many jobs of a second do not come into one shard of eight by chance: 8⁻¹¹.
const SECOND_JOBS_MIN: usize = 12;

impl Ledger {
    pub(in crate::faults) fn wrote(&mut self, before: Option<&Job>, after: &Job) {
        let release = self.shown_at(after.release_at);
        self.note(|| format!("{}, release{release}", written(before, after)));
        self.check_finished(before, after);
        let is_new_life = before.is_none_or(|row| row.generation != after.generation);
        if is_new_life {
            self.note_shard(after);
        }
        let now = self.now;
        let mut is_claimed = false;
        let notes = self.notes(&after.id);
        if is_new_life || after.redriven_at.is_some() {
            let life =
                Life { payload: after.spec.payload.as_json().to_owned(), times: times(after) };
            notes.lives.insert(after.generation, life);
        }
        if after.claim.is_some() && before.is_none_or(|row| row.claim != after.claim) {
            notes.claimed_at = Some(now);
            is_claimed = true;
        }
        if after.state == State::Delivered {
            let is_it = |send: &&mut super::notes::Send| {
                Some(send.sent_at) == after.sent_at && send.attempt == after.attempts
            };
            notes.sends.iter_mut().filter(is_it).for_each(|send| send.recorded_at = Some(now));
        }
        notes.row = Some(after.clone());
        if is_claimed {
            self.check_token(after);
        }
        if after.state == State::Failed {
            self.check_letter(after);
        }
    }

    /// Only a delivery that happened overrides an end, and only that of a job that was given up;
    /// and only a redrive brings a job back, one that has failed.
    fn check_finished(&mut self, before: Option<&Job>, after: &Job) {
        let Some(before) = before.filter(|row| row.state.is_finished()) else { return };
        let is_late_record = matches!(before.state, State::Failed | State::Expired)
            && after.state == State::Delivered
            && after.generation == before.generation;
        let is_redrive = before.state == State::Failed
            && after.state == State::Scheduled
            && after.generation == before.generation
            && after.redriven_at.is_some()
            && (after.attempts, &after.claim) == (0, &None)
            && after.spec == before.spec
            && after.due_at == before.due_at;
        self.redriven_count += u64::from(is_redrive);
        if !is_late_record && !is_redrive {
            let what = written(Some(before), after);
            self.breaks(Invariant::FinishedStays, what);
        }
    }

    /// An entry must be there for whoever puts the job back: as it fails, and for as long as it has
    /// failed.
    pub(super) fn check_letter(&mut self, job: &Job) {
        let is_of_job = |letter: &spillway_app::ports::DeadLetter| {
            letter.job_id == job.id && letter.generation == job.generation
        };
        if !self.dead_letters.kept().iter().any(is_of_job) {
            self.breaks(Invariant::FailedHasLetter, job.id.to_string());
        }
    }

    fn note_shard(&mut self, job: &Job) {
        let Some(bucket) = job.bucket else { return };
        let (early, late) = (job.contract.early_seconds, job.contract.late_seconds);
        let second = (job.spec.requested_at, job.due_at, early, late);
        let jobs = self.seconds.entry(second).or_default();
        jobs.insert(job.id.clone(), bucket.shard.number());
        let is_one = jobs.values().all(|shard| *shard == bucket.shard.number());
        let count = jobs.len();
        if count >= SECOND_JOBS_MIN && is_one {
            let shard = bucket.shard.number();
            let what = format!("{count} jobs of one second are all in shard {shard}");
            self.breaks(Invariant::SecondSpreads, what);
        }
    }
}

/// What was asked gives a job its times; but a redrive begins its time to expiry again.
fn times(job: &Job) -> Times {
    let times = job.times();
    let expires_at = if job.redriven_at.is_some() { job.expires_at } else { times.expires_at };
    Times { expires_at, ..times }
}

fn written(before: Option<&Job>, after: &Job) -> String {
    let before = before.map_or_else(|| "-".to_owned(), shown);
    format!("row {}: {before} -> {}", after.id, shown(after))
}

fn shown(job: &Job) -> String {
    let token = job.claim.as_ref().map(|claim| claim.token.as_str());
    let held =
        token.and_then(|token| token.get(..6)).map_or(String::new(), |it| format!(" by {it}"));
    let maybe_sent = if job.maybe_sent { ", maybe sent" } else { "" };
    let (state, generation) = (job.state.as_str(), job.generation.number());
    format!("{state}{held} g{generation} attempts {}{maybe_sent}", job.attempts)
}
