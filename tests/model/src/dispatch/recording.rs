//! Writes down what became of a send (`app::dispatch_jobs::recording`).

use spillway_domain::job::State;

use super::{At, Entry, FailedBy};
use crate::bounds::ATTEMPTS_MAX;
use crate::rule::Rule;
use crate::steps::{Answer, Steps};
use crate::world::World;

impl At<'_> {
    pub(super) fn after_attempt(&self, is_unanswered: bool, left: i8) -> Entry {
        let attempts = self.world.rows[self.job].map_or(0, |row| row.attempts);
        if attempts < ATTEMPTS_MAX {
            Entry::Retry { is_unanswered, left }
        } else {
            self.failing(FailedBy::Holder, left)
        }
    }

    /// The first of the two writes of a failure (rule 7).
    pub(super) fn failing(&self, by: FailedBy, left: i8) -> Entry {
        if self.bounds.keeps(Rule::DeadLetterFirst) {
            Entry::Letter { by, left }
        } else {
            Entry::Failure { by, left }
        }
    }

    pub(super) fn record(&self, left: i8, steps: &mut Steps) {
        let words = self.words("records the delivery");
        for outcome in self.outcomes(|world| world.record_delivered(self.job, self.generation)) {
            if outcome.answer != Answer::None {
                steps.after(words, &outcome, self.goes_on(&outcome, Entry::Done));
                continue;
            }
            if !self.bounds.keeps(Rule::RecordedWhateverItTakes) {
                let next = self.left_to_run_out(left);
                steps.after(words, &outcome, self.goes_on(&outcome, next));
                continue;
            }
            steps.after(words, &outcome, outcome.world.clone());
            let gives_up = self.words("records the delivery, has no time to try again");
            let is_record = self.world.runs[self.slot].is_some_and(|run| run.message.is_record);
            let world = if is_record {
                let mut world = outcome.world.clone();
                world.end_run(self.bounds, self.slot, false);
                world
            } else {
                self.goes_on(&outcome, Entry::RecordOnward)
            };
            steps.after(gives_up, &outcome, world);
        }
    }

    pub(super) fn retry(&self, is_unanswered: bool, left: i8, steps: &mut Steps) {
        let token = self.token();
        let retry = |world: &mut World| {
            world.retry(self.bounds, self.job, self.generation, token, is_unanswered)
        };
        let words = self.words("writes the next attempt");
        for outcome in self.outcomes(retry) {
            let next = match outcome.answer {
                Answer::Done => self.staged_or_left(&outcome.world),
                // Done by an earlier call whose answer was lost, or taken over by another.
                Answer::Refused => match self.world.of_life(self.job, self.generation) {
                    Some(row) if row.state == State::Scheduled => self.staged_or_left(self.world),
                    _ => self.left_to_run_out(left),
                },
                Answer::None => {
                    let gives_up = self.words("writes the next attempt, has no time to try again");
                    let world = self.goes_on(&outcome, self.left_to_run_out(left));
                    steps.after(gives_up, &outcome, world);
                    Entry::Retry { is_unanswered, left }
                }
            };
            steps.after(words, &outcome, self.goes_on(&outcome, next));
        }
    }

    pub(super) fn letter(&self, by: FailedBy, left: i8, steps: &mut Steps) {
        let send = |world: &mut World| {
            world.letters[self.job] += 1;
            true
        };
        for outcome in self.outcomes(send) {
            let next = match (outcome.answer, by) {
                (Answer::None, FailedBy::Holder) => self.left_to_run_out(left),
                (Answer::None, FailedBy::RunOut) => self.comes_back(),
                _ if self.bounds.keeps(Rule::DeadLetterFirst) => Entry::Failure { by, left },
                _ => Entry::Done,
            };
            let words = self.words("sends the dead-letter entry");
            steps.after(words, &outcome, self.goes_on(&outcome, next));
        }
    }

    pub(super) fn failure(&self, by: FailedBy, left: i8, steps: &mut Steps) {
        let token = self.token();
        let fail = |world: &mut World| match by {
            FailedBy::Holder => world.record_failed(self.bounds, self.job, self.generation, token),
            FailedBy::RunOut => world.record_used_up(self.job, self.generation, ATTEMPTS_MAX),
        };
        for outcome in self.outcomes(fail) {
            let next = match outcome.answer {
                Answer::None => {
                    let gives_up = self.words("writes the failure, has no time to try again");
                    let later = match by {
                        FailedBy::Holder => self.left_to_run_out(left),
                        FailedBy::RunOut => self.comes_back(),
                    };
                    steps.after(gives_up, &outcome, self.goes_on(&outcome, later));
                    Entry::Failure { by, left }
                }
                Answer::Done if !self.bounds.keeps(Rule::DeadLetterFirst) => {
                    Entry::Letter { by, left }
                }
                Answer::Done | Answer::Refused => Entry::Done,
            };
            steps.after(self.words("writes the failure"), &outcome, self.goes_on(&outcome, next));
        }
    }
}
