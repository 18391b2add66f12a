//! The operator's redrive (rule 7).

use spillway_domain::job::State;

use super::{At, CallStep};
use crate::bounds::JOBS_MAX;
use crate::steps::{Answer, Steps, outcomes};
use crate::world::{World, is_staged_directly};

impl At<'_> {
    /// Moves a failed job. An entry whose job ended otherwise is deleted; one whose job waits or is
    /// held is left, and staged again, since an earlier redrive may have died before its message.
    pub(super) fn redrive(&self, release_in: i8, steps: &mut Steps) {
        let redrive = |world: &mut World| {
            let is_moved = world.redrive(self.job, release_in, self.bounds.expire);
            world.history[self.job].is_redriven |= is_moved;
            is_moved
        };
        for outcome in outcomes(self.world, self.bounds, redrive) {
            let next = match (outcome.answer, self.world.rows[self.job]) {
                (Answer::Done, _) => CallStep::RedriveStage { is_left: false },
                (Answer::Refused, Some(row)) if !row.state.is_finished() => {
                    CallStep::RedriveStage { is_left: true }
                }
                (Answer::Refused, _) => CallStep::RedriveLetter,
                (Answer::None, _) => CallStep::Over,
            };
            let world = self.goes_on(outcome.world.clone(), next);
            steps.after(self.words("redrive moves the row"), &outcome, world);
        }
    }

    pub(super) fn stage_redriven(&self, is_left: bool, steps: &mut Steps) {
        let near = self.world.rows[self.job]
            .filter(|row| row.state == State::Scheduled)
            .filter(|row| is_staged_directly(row.bucket_in, self.bounds));
        let done = if is_left { CallStep::Over } else { CallStep::RedriveLetter };
        let finished = |mut world: World| {
            world.history[self.job].is_redriven = false;
            self.goes_on(world, done)
        };
        let Some(row) = near else {
            let text = "redrive leaves the job to prefetch, or to its holder";
            steps.must(self.words(text), finished(self.world.clone()));
            return;
        };
        let send = |world: &mut World| {
            let mut jobs = [None; JOBS_MAX];
            jobs[self.job] = Some((row.generation, row.release_in));
            world.send_packs(jobs);
            true
        };
        for outcome in outcomes(self.world, self.bounds, send) {
            let world = match outcome.answer {
                Answer::None => self.goes_on(outcome.world.clone(), CallStep::Over),
                Answer::Done | Answer::Refused => finished(outcome.world.clone()),
            };
            steps.after(self.words("redrive stages the job"), &outcome, world);
        }
    }

    pub(super) fn delete_letter(&self, steps: &mut Steps) {
        let delete = |world: &mut World| {
            let letters = &mut world.letters[self.job];
            *letters = letters.saturating_sub(1);
            true
        };
        for outcome in outcomes(self.world, self.bounds, delete) {
            let world = self.goes_on(outcome.world.clone(), CallStep::Over);
            steps.after(self.words("redrive deletes the dead-letter entry"), &outcome, world);
        }
    }
}
