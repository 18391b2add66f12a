//! A whole stack that runs by itself: ticks, queues and both dispatch deployments.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use futures::future::{Either, select};
use spillway_app::accept_jobs::Answer;
use spillway_app::dispatch_jobs::{Circuits, DispatchReport};
use spillway_app::ports::Clock as _;
use spillway_app::stage_jobs::{StagingError, StagingReport};
use spillway_domain::name::JobId;
use spillway_domain::precision::Lane;
use spillway_domain::spec::JobSpec;
use spillway_domain::time::Instant;
use spillway_testkit::{Driver, Outside, ReceivedMessage, serve};

use super::{Batch, Ports, Stack, accept, dispatch, stage, timeout_seconds};

/// One stack over the plain in-memory ports. Clones share it.
#[derive(Clone, Debug)]
pub struct World {
    /// Everything outside.
    pub outside: Outside,
    /// What the stack is set to.
    pub stack: Rc<Stack>,
    invocations: Rc<Cell<u64>>,
    circuits: Rc<Circuits>,
    dispatched: Rc<RefCell<DispatchTotals>>,
}

/// What the invocations of dispatch have told.
type DispatchTotals = Vec<DispatchReport>;

impl World {
    /// Builds a stack at an instant.
    pub fn at(now: Instant, stack: Stack) -> Self {
        Self {
            outside: Outside::at(now),
            stack: Rc::new(stack),
            invocations: Rc::default(),
            circuits: Rc::default(),
            dispatched: Rc::default(),
        }
    }

    /// Starts the ticks and both dispatch deployments.
    pub fn start(&self, driver: &Driver<'static>) {
        self.start_ticks(driver);
        for lane in Lane::ALL {
            self.start_dispatch(driver, lane);
        }
    }

    /// Starts the rule that ticks as each minute begins.
    pub fn start_ticks(&self, driver: &Driver<'static>) {
        let world = self.clone();
        driver.spawner().spawn(async move {
            loop {
                let clock = &world.outside.clock;
                clock.sleep_until(clock.now().minute().end()).await;
                // What a tick could not do the next one does.
                drop(world.tick().await);
            }
        });
    }

    /// Starts one lane's deployment.
    pub fn start_dispatch(&self, driver: &Driver<'static>, lane: Lane) {
        let world = self.clone();
        let invocation = move |batch: Vec<ReceivedMessage>| {
            let world = world.clone();
            async move { world.dispatch_or_be_stopped(lane, batch).await }
        };
        let spawner = driver.spawner();
        spawner.clone().spawn(serve(self.outside.queue.clone(), lane, spawner, invocation));
    }

    /// Runs prefetch once.
    ///
    /// # Errors
    /// What kept it from staging everything.
    pub async fn tick(&self) -> Result<StagingReport, StagingError> {
        let invocation = self.next_invocation();
        stage(&Ports::of(&self.outside), &self.stack, &invocation).await
    }

    /// Hands jobs in, as intake does.
    pub async fn accept(&self, jobs: Vec<(JobId, JobSpec)>) -> Vec<Answer> {
        accept(&Ports::of(&self.outside), &self.stack, jobs).await
    }

    /// Gives what the invocations of dispatch told, and forgets it.
    pub fn take_reports(&self) -> Vec<DispatchReport> {
        self.dispatched.take()
    }

    /// Takes a batch as Lambda lets an invocation do: at its time-out it is stopped where it
    /// stands, and the whole batch comes back.
    async fn dispatch_or_be_stopped(&self, lane: Lane, batch: Vec<ReceivedMessage>) -> Vec<String> {
        let ids = batch.iter().map(|message| message.id.clone()).collect();
        let clock = &self.outside.clock;
        let stopped_at = clock.now().plus_seconds(timeout_seconds(lane));
        let run = pin!(self.dispatch(lane, batch));
        match select(run, pin!(clock.sleep_until(stopped_at))).await {
            Either::Left((failed_ids, _)) => failed_ids,
            Either::Right(_) => ids,
        }
    }

    fn next_invocation(&self) -> String {
        self.invocations.set(self.invocations.get() + 1);
        format!("invocation-{}", self.invocations.get())
    }

    async fn dispatch(&self, lane: Lane, messages: Vec<ReceivedMessage>) -> Vec<String> {
        let invocation = &self.next_invocation();
        let batch = Batch { lane, invocation, circuits: &self.circuits, messages };
        let report = dispatch(&Ports::of(&self.outside), &self.stack, batch).await;
        let failed_ids = report.failed_message_ids.clone();
        self.dispatched.borrow_mut().push(report);
        failed_ids
    }
}
