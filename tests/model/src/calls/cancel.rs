//! A cancel (`app::cancel_job`).

use spillway_domain::acceptance::{Cancellation, cancellation};

use super::{At, CallStep};
use crate::domain;
use crate::steps::{Answer, Steps, outcomes};
use crate::world::{Generation, World};

impl At<'_> {
    /// Reads the row, and answers by it: the domain's own decision.
    pub(super) fn look_to_cancel(&self, steps: &mut Steps) {
        let row = self.world.rows[self.job];
        let mut world = self.world.clone();
        let (text, next) = match cancellation(row.as_ref().map(domain::job)) {
            Cancellation::Cancel(_) => {
                let seen = row.map_or(0, |row| row.generation);
                ("intake reads the row, to cancel", CallStep::Cancel { seen })
            }
            Cancellation::Already(_) => {
                world.history[self.job].is_cancel_acknowledged = true;
                ("is told that the job is cancelled", CallStep::Over)
            }
            Cancellation::TooLate(_) => {
                world.too_late_is_told(self.bounds, self.job);
                ("is told that it is too late to cancel", CallStep::Over)
            }
            Cancellation::Unknown => ("is told that there is no such job", CallStep::Over),
        };
        steps.must(self.words(text), self.goes_on(world, next));
    }

    pub(super) fn cancel(&self, seen: Generation, steps: &mut Steps) {
        let cancel = |world: &mut World| world.cancel(self.bounds, self.job, seen);
        for outcome in outcomes(self.world, self.bounds, cancel) {
            let next = match outcome.answer {
                Answer::None => CallStep::Over,
                Answer::Done | Answer::Refused => CallStep::CancelLook,
            };
            let world = self.goes_on(outcome.world.clone(), next);
            steps.after(self.words("intake cancels the row"), &outcome, world);
        }
    }
}
