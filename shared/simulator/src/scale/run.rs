//! Takes a workload through the service.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use spillway_app::accept_jobs::{Answer, Change};
use spillway_app::ports::Clock as _;
use spillway_domain::time::{Instant, Minute};
use spillway_testkit::{Dice, ManualClock, Outside};

use super::call_times::set_call_times;
use super::command::Usage;
use super::meter::Meter;
use super::report::{Given, Report};
use super::worker_rate::WorkerRate;
use super::workers::Workers;
use super::workload::{IntakeCall, Workload};
use crate::world::{Ports, Stack, accept, stage};

/// A rule fires some time into its minute.
const TICK_LATE_MILLIS_MAX: u64 = 5_000;

/// What a run does.
pub struct Plan {
    /// How many jobs its workload has.
    pub jobs: u64,
    /// The seed that all of it comes from.
    pub seed: u64,
    /// How many jobs a second the workers take.
    pub rate: u64,
    /// What the stack is set to.
    pub stack: Stack,
    /// When the run begins: not after the first call.
    pub begins_at: Instant,
    /// When it is given up although jobs are unfinished.
    pub gives_up_at: Instant,
    /// Between these instants no tick comes.
    pub without_ticks: Option<(Instant, Instant)>,
    /// The minute whose jobs are told apart.
    pub watched: Option<Minute>,
    /// What is asked.
    pub workload: Workload,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { jobs, seed, rate, .. } = self;
        let mut plan = f.debug_struct("Plan");
        plan.field("jobs", jobs).field("seed", seed).field("rate", rate).finish_non_exhaustive()
    }
}

/// Runs a plan: accepts its jobs by intake, stages them by prefetch's ticks, dispatches them at the
/// workers' rate. `usage` is asked when it is over.
pub fn run(plan: Plan, usage: impl FnOnce() -> Usage) -> Report {
    let given = Given { jobs: plan.jobs, seed: plan.seed, rate: plan.rate };
    let outside = Outside::at(plan.begins_at);
    let meter = Arc::new(Meter::watching(plan.watched));
    outside.observe_instead_of_logs(meter.clone());
    set_call_times(&outside.faults);

    let mut driver = outside.driver();
    let service = Service {
        ports: Ports::of(&outside),
        stack: Rc::new(plan.stack),
        meter: Arc::clone(&meter),
    };
    let ticks = service.clone().tick_for_ever(Dice::from_seed(plan.seed), plan.without_ticks);
    driver.spawn(ticks);
    driver.spawn(service.workers(plan.rate).serve(driver.spawner()));
    driver.spawn(service.hand_in(plan.workload));
    while meter.finished_count() < plan.jobs && outside.clock.now() < plan.gives_up_at {
        driver.run_for_seconds(60);
    }
    Report::of(given, &meter.tally(), &outside.faults, usage())
}

/// What the run's tasks share.
#[derive(Clone, Debug)]
struct Service {
    ports: Ports,
    stack: Rc<Stack>,
    meter: Arc<Meter>,
}

impl Service {
    fn clock(&self) -> &ManualClock {
        &self.ports.clock
    }

    fn workers(&self, rate: u64) -> Workers {
        Workers {
            ports: self.ports.clone(),
            stack: Rc::clone(&self.stack),
            meter: Arc::clone(&self.meter),
            worker_rate: Rc::new(RefCell::new(WorkerRate::of(rate))),
            invocations: Rc::new(Cell::new(0)),
        }
    }

    /// Ticks once a minute, some time into it, but for a while in which no tick comes.
    async fn tick_for_ever(self, mut dice: Dice, without_ticks: Option<(Instant, Instant)>) {
        for number in 1_u64.. {
            let late_millis = i64::try_from(dice.below(TICK_LATE_MILLIS_MAX)).unwrap_or(0);
            let minute_ends_at = self.clock().now().minute().end();
            self.clock().sleep_until(minute_ends_at.plus_millis(late_millis)).await;
            let began_at = self.clock().now();
            if without_ticks.is_some_and(|(from, until)| (from..until).contains(&began_at)) {
                continue;
            }
            let is_complete =
                stage(&self.ports, &self.stack, &format!("tick-{number}")).await.is_ok();
            self.meter.staged(is_complete, began_at, self.clock().now());
        }
    }

    /// Makes the calls to intake, one after another.
    ///
    /// # Panics
    /// When a job is not created: nothing here is refused, and nothing fails.
    async fn hand_in(self, calls: Workload) {
        for IntakeCall { at, jobs } in calls {
            self.clock().sleep_until(at).await;
            let began_at = self.clock().now();
            let answers = accept(&self.ports, &self.stack, jobs).await;
            self.meter.accepted(began_at, self.clock().now());
            for answer in answers {
                let is_created = matches!(answer, Answer::Accepted(Change::Created, _));
                assert!(is_created, "a job of the workload was not created: {answer:?}");
            }
        }
    }
}
