//! A submission: its rows are written, then staged when they are near, then acknowledged
//! (`app::accept_jobs`).

use spillway_domain::job::State;

use super::{At, CallStep, over, words};
use crate::bounds::{Bounds, JOBS_MAX};
use crate::steps::{Answer, Steps, outcomes};
use crate::world::{Generation, Row, Spec, World, is_staged_directly};

impl At<'_> {
    pub(super) fn create(&self, spec: Spec, release_in: i8, steps: &mut Steps) {
        let create = |world: &mut World| {
            spec == Spec::First && world.create(self.job, release_in, self.bounds.expire)
        };
        for outcome in outcomes(self.world, self.bounds, create) {
            let next = match (outcome.answer, outcome.world.rows[self.job]) {
                (Answer::Done, Some(row)) => CallStep::Stage { generation: row.generation },
                (Answer::Refused, Some(row)) => decided(&row, spec, release_in),
                _ => CallStep::Over,
            };
            let world = self.goes_on(outcome.world.clone(), next);
            steps.after(self.words("intake creates the row"), &outcome, world);
        }
    }

    pub(super) fn reschedule(
        &self,
        seen: Generation,
        spec: Spec,
        release_in: i8,
        steps: &mut Steps,
    ) {
        let write =
            |world: &mut World| world.reschedule(self.bounds, self.job, seen, spec, release_in);
        for outcome in outcomes(self.world, self.bounds, write) {
            let next = match (outcome.answer, outcome.world.rows[self.job]) {
                (Answer::Done, Some(row)) => CallStep::Stage { generation: row.generation },
                (Answer::Refused, Some(row)) if row.spec == spec => {
                    CallStep::Stage { generation: row.generation }
                }
                _ => CallStep::Over,
            };
            let world = self.goes_on(outcome.world.clone(), next);
            steps.after(self.words("intake reschedules the row"), &outcome, world);
        }
    }
}

/// What a submission means for a row that is there (`domain::acceptance`).
fn decided(row: &Row, spec: Spec, release_in: i8) -> CallStep {
    if row.spec == spec {
        CallStep::Stage { generation: row.generation }
    } else if row.state == State::Scheduled && !row.maybe_sent {
        CallStep::Reschedule { seen: row.generation, spec, release_in }
    } else {
        CallStep::Over
    }
}

/// Stages what is near, after the writes were answered, and acknowledges all (rule 9).
pub(super) fn stage(world: &World, bounds: &Bounds, place: usize, steps: &mut Steps) {
    let written = world.calls[place].steps.map(|step| match step {
        CallStep::Stage { generation } => Some(generation),
        _ => None,
    });
    let mut near = [None; JOBS_MAX];
    for (job, generation) in written.into_iter().enumerate() {
        let row = generation.and_then(|generation| world.of_life(job, generation));
        near[job] = row
            .filter(|row| {
                row.state == State::Scheduled && is_staged_directly(row.bucket_in, bounds)
            })
            .map(|row| (row.generation, row.release_in));
    }
    let acknowledge = |mut world: World| {
        for (job, generation) in written.into_iter().enumerate() {
            let history = &mut world.history[job];
            history.acknowledged = history.acknowledged.max(generation.unwrap_or(0));
        }
        over(world, place)
    };
    if near.iter().all(Option::is_none) {
        let is_any = written.iter().any(Option::is_some);
        let text = if is_any { "is answered" } else { "is told of a refusal, or of nothing" };
        steps.must(words(text), acknowledge(world.clone()));
        return;
    }
    let send = |world: &mut World| {
        world.send_packs(near);
        true
    };
    for outcome in outcomes(world, bounds, send) {
        if outcome.answer == Answer::None {
            let again = outcome.world.clone();
            steps.after(words("intake stages what is near, and will again"), &outcome, again);
            let unavailable = over(outcome.world.clone(), place);
            steps.after(words("intake stages what is near, answers 503"), &outcome, unavailable);
        } else {
            let done = acknowledge(outcome.world.clone());
            steps.after(words("intake stages what is near, and answers"), &outcome, done);
        }
    }
}
