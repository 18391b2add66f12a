//! Sends a job at its release, or gives it back (`app::dispatch_jobs::sending`).

use super::{At, Entry};
use crate::durations::{SEND_MARGIN, SENDING_LIFE};
use crate::fault::Fault;
use crate::rule::Rule;
use crate::steps::{Answer, Steps, Words};
use crate::store::is_expired;
use crate::world::World;

impl At<'_> {
    /// The release has come: the job is sent, ends as expired, or is given back.
    pub(super) fn at_release(&self, left: i8, steps: &mut Steps) {
        let row = self.world.of_life(self.job, self.generation);
        let holds_on = self.bounds.keeps(Rule::HolderGoneBeforeClaim);
        if row.as_ref().is_some_and(is_expired) {
            let world = self.with(self.world.clone(), Entry::GiveBack { left });
            steps.must(self.words("finds the job past its expiry"), world);
        } else if holds_on && (self.life() < SENDING_LIFE || left < SEND_MARGIN) {
            let world = self.with(self.world.clone(), Entry::GiveBack { left });
            steps.must(self.words("has too little time left to send"), world);
        } else {
            let mut world = self.with(self.world.clone(), Entry::Sending { left });
            world.send_starts(self.job, self.generation);
            steps.must(self.words("starts to send"), world);
        }
    }

    /// The channel takes the job, refuses it, or gives no answer.
    pub(super) fn answered(&self, left: i8, steps: &mut Steps) {
        let taken = self.with(self.world.clone(), Entry::Record { left });
        steps.must(self.words("the channel takes it"), taken);
        let mut refused = self.with(self.world.clone(), self.after_attempt(false, left));
        refused.history[self.job].send_was_refused();
        steps.must(self.words("the channel refuses it"), refused);
        if let Some(mut world) = self.world.spend(self.bounds, Fault::AnswerLost) {
            world.history[self.job].may_be_twice = true;
            let world = self.with(world, self.after_attempt(true, left));
            let words = self.words("the channel's answer is lost");
            steps.may(Words { fault: Some(Fault::AnswerLost), ..words }, world);
        }
    }

    pub(super) fn give_back(&self, left: i8, steps: &mut Steps) {
        let token = self.token();
        let give_back =
            |world: &mut World| world.give_back(self.bounds, self.job, self.generation, token);
        for outcome in self.outcomes(give_back) {
            let row = outcome.world.of_life(self.job, self.generation);
            let next = match (outcome.answer, row) {
                (Answer::None, _) => {
                    let gives_up = self.words("gives the claim back, has no time to try again");
                    let world = self.goes_on(&outcome, self.left_to_run_out(left));
                    steps.after(gives_up, &outcome, world);
                    Entry::GiveBack { left }
                }
                (_, Some(row)) if row.claim.is_none() && is_expired(&row) => Entry::Expire,
                (_, Some(row)) if row.claim.is_none() => self.passed_on(0),
                _ => self.left_to_run_out(left),
            };
            steps.after(self.words("gives the claim back"), &outcome, self.goes_on(&outcome, next));
        }
    }

    pub(super) fn expire(&self, steps: &mut Steps) {
        for outcome in self.outcomes(|world| world.record_expired(self.job, self.generation)) {
            let row = outcome.world.of_life(self.job, self.generation);
            let next = match outcome.answer {
                Answer::Done => Entry::Done,
                Answer::Refused if row.is_some_and(|row| row.state.is_finished()) => Entry::Done,
                Answer::Refused => self.passed_on(0),
                Answer::None => {
                    let gives_up = self.words("writes the expiry, has no time to try again");
                    steps.after(gives_up, &outcome, self.goes_on(&outcome, self.passed_on(0)));
                    Entry::Expire
                }
            };
            steps.after(self.words("writes the expiry"), &outcome, self.goes_on(&outcome, next));
        }
    }
}
