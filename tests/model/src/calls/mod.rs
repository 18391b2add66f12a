//! The calls: a submission and a cancel in intake (`app::accept_jobs`, `app::cancel_job`), and the
//! operator's redrive.

mod cancel;
mod redrive;
mod submission;

use crate::bounds::{Bounds, JOBS_MAX};
use crate::durations::{FAR, NEAR, NOW};
use crate::steps::{Actor, Step, Steps, Words};
use crate::world::{Generation, Spec, World};

/// How far a call is with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallStep {
    /// It has nothing more to do with it.
    Over,
    /// To be created.
    Create { spec: Spec, release_in: i8 },
    /// To be rescheduled.
    Reschedule { seen: Generation, spec: Spec, release_in: i8 },
    /// Written, or found unchanged: to be staged when it is near, then acknowledged.
    Stage { generation: Generation },
    /// To be looked at, for a cancel.
    CancelLook,
    /// To be cancelled.
    Cancel { seen: Generation },
    /// To be moved by redrive.
    Redrive { release_in: i8 },
    /// Moved by redrive, to be staged when it is near.
    RedriveStage { is_left: bool },
    /// Its dead-letter entry is to be deleted.
    RedriveLetter,
}

impl CallStep {
    const fn is_of_redrive(self) -> bool {
        matches!(self, Self::Redrive { .. } | Self::RedriveStage { .. } | Self::RedriveLetter)
    }
}

/// A call under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// How far it is with each job.
    pub steps: [CallStep; JOBS_MAX],
    /// It stands still.
    pub is_stalled: bool,
}

const fn words(text: &'static str) -> Words {
    Words { actor: Actor::Caller, text, job: None, note: "", fault: None }
}

fn about(bounds: &Bounds, job: usize, text: &'static str) -> Words {
    Words { job: (bounds.jobs > 1).then_some(job), ..words(text) }
}

/// Gives the call that submits all jobs of the search.
fn submission(bounds: &Bounds, release_in: i8) -> [CallStep; JOBS_MAX] {
    std::array::from_fn(|job| {
        let create = CallStep::Create { spec: Spec::First, release_in };
        if job < bounds.jobs { create } else { CallStep::Over }
    })
}

/// Lists the worlds in which the creation begins.
pub fn creations(world: &World, bounds: &Bounds) -> Vec<Step> {
    let releases = [
        (NOW, "submits the jobs, due in a staged minute: intake is to stage them"),
        (NEAR, "submits the jobs, due soon: intake is to stage them"),
        (FAR, "submits the jobs, due later: prefetch is to stage them"),
    ];
    let begun = releases.map(|(release_in, text)| {
        let world = begin(world, submission(bounds, release_in));
        Step { words: words(text), world }
    });
    begun.into()
}

fn begin(world: &World, steps: [CallStep; JOBS_MAX]) -> World {
    let mut world = world.clone();
    world.calls.push(Call { steps, is_stalled: false });
    world.calls.sort_unstable();
    world
}

/// Adds the steps of the calls under way, and the calls that may come.
pub fn steps(world: &World, bounds: &Bounds, steps: &mut Steps) {
    for place in 0..world.calls.len() {
        if !world.calls[place].is_stalled {
            go_on(world, bounds, place, steps);
        }
    }
    if world.calls_left > 0 && world.calls.len() < bounds.callers {
        come(&World { calls_left: world.calls_left - 1, ..world.clone() }, bounds, steps);
    }
}

/// Adds the calls that may come.
fn come(world: &World, bounds: &Bounds, steps: &mut Steps) {
    for job in 0..bounds.jobs {
        let of_job = |step| {
            let mut steps = [CallStep::Over; JOBS_MAX];
            steps[job] = step;
            begin(world, steps)
        };
        let Some(row) = world.rows[job] else { continue };
        steps.may(about(bounds, job, "asks to cancel"), of_job(CallStep::CancelLook));
        if row.spec == Spec::First {
            for (release_in, text) in
                [(NOW, "submits another spec, due soon"), (FAR, "submits another spec, due later")]
            {
                let create = CallStep::Create { spec: Spec::Other, release_in };
                steps.may(about(bounds, job, text), of_job(create));
            }
        }
        // One operator at a time: two who take up one entry would delete it once.
        let is_redriving = world.calls.iter().any(|call| call.steps[job].is_of_redrive());
        if world.letters[job] > 0 && !is_redriving {
            for (release_in, text) in [(NOW, "redrives, due soon"), (FAR, "redrives, due later")] {
                steps.may(about(bounds, job, text), of_job(CallStep::Redrive { release_in }));
            }
        }
    }
    if (0..bounds.jobs).all(|job| world.history[job].generations > 0) {
        let replayed = begin(world, submission(bounds, NOW));
        steps.may(words("replays the import"), replayed);
    }
}

/// One job of one call, and where it stands.
struct At<'a> {
    world: &'a World,
    bounds: &'a Bounds,
    place: usize,
    job: usize,
}

fn go_on(world: &World, bounds: &Bounds, place: usize, steps: &mut Steps) {
    let call = world.calls[place];
    for (job, step) in call.steps.into_iter().enumerate() {
        let at = At { world, bounds, place, job };
        match step {
            CallStep::Create { spec, release_in } => at.create(spec, release_in, steps),
            CallStep::Reschedule { seen, spec, release_in } => {
                at.reschedule(seen, spec, release_in, steps);
            }
            CallStep::CancelLook => at.look_to_cancel(steps),
            CallStep::Cancel { seen } => at.cancel(seen, steps),
            CallStep::Redrive { release_in } => at.redrive(release_in, steps),
            CallStep::RedriveStage { is_left } => at.stage_redriven(is_left, steps),
            CallStep::RedriveLetter => at.delete_letter(steps),
            CallStep::Over | CallStep::Stage { .. } => {}
        }
    }
    let stages = |step: &CallStep| matches!(step, CallStep::Stage { .. });
    if call.steps.iter().all(|step| stages(step) || *step == CallStep::Over) {
        submission::stage(world, bounds, place, steps);
    }
}

/// Ends a call.
fn over(mut world: World, place: usize) -> World {
    world.calls.remove(place);
    world
}

impl At<'_> {
    fn words(&self, text: &'static str) -> Words {
        about(self.bounds, self.job, text)
    }

    fn goes_on(&self, mut world: World, step: CallStep) -> World {
        world.calls[self.place].steps[self.job] = step;
        let is_over = world.calls[self.place].steps.iter().all(|step| *step == CallStep::Over);
        if is_over {
            return over(world, self.place);
        }
        world.calls.sort_unstable();
        world
    }
}
