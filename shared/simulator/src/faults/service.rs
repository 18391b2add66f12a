//! The service under test: every invocation on ports of its own, with a life of its own.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use futures::channel::oneshot;
use spillway_app::accept_jobs::Answer;
use spillway_app::cancel_job::CancelAnswer;
use spillway_app::dispatch_jobs::Circuits;
use spillway_app::ports::Clock as _;
use spillway_domain::name::JobId;
use spillway_domain::precision::Lane;
use spillway_domain::redrive::RedriveWindow;
use spillway_domain::spec::JobSpec;
use spillway_domain::time::Minute;
use spillway_testkit::build::job_id;
use spillway_testkit::{
    InMemoryChannel, InMemoryDeadLetters, InMemoryQueue, InMemoryStore, Outside, ReceivedMessage,
    SkewedClock, Spawner, serve,
};

use super::chance::Filter;
use super::fate::TICK;
use super::invocation::Life;
use super::kind::Kind;
use super::scene::Scene;
use super::watched::{User, Watched};
use super::workload::{Call, What};
use crate::mutants::{Mutant, Mutated, Site};
use crate::world::{self, Batch, Ports, Stack};

/// How long a caller waits before it tries again, in milliseconds, and a little more each time.
const TRIES_AGAIN_MILLIS: i64 = 700;

type SeenPorts = Ports<
    Watched<Mutated<InMemoryStore>>,
    Watched<Mutated<InMemoryQueue>>,
    Watched<Mutated<InMemoryDeadLetters>>,
    Watched<InMemoryChannel>,
    SkewedClock,
>;

/// The service of one run. Clones share it.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) outside: Outside,
    pub(super) scene: Scene,
    pub(super) stack: Rc<Stack>,
    pub(super) spawner: Spawner<'static>,
    pub(super) mutant: Option<Mutant>,
    pub(super) name: String,
    pub(super) invocations: Rc<Cell<u64>>,
    pub(super) circuits: Rc<Circuits>,
}

impl Service {
    /// Starts the ticks, both dispatch deployments, and the callers of the jobs that take part.
    pub(super) fn start(&self, calls: Vec<Call>, filter: &Filter) {
        self.spawner.spawn(self.scene.late.clone().run(self.spawner.clone()));
        self.spawner.spawn(self.clone().tick_for_ever());
        for lane in Lane::ALL {
            let service = self.clone();
            let invocation = move |batch| service.clone().take_batch(lane, batch);
            self.spawner.spawn(serve(
                self.outside.queue.clone(),
                lane,
                self.spawner.clone(),
                invocation,
            ));
        }
        for call in calls {
            if let Some(call) = filtered(call, filter) {
                self.spawner.spawn(self.clone().make(call));
            }
        }
    }

    fn user(&self, life: Life) -> User {
        let invocation = self.invocations.get() + 1;
        self.invocations.set(invocation);
        let clock = self.outside.clock.skewed_by(life.skew_millis());
        User { scene: self.scene.clone(), invocation, clock }
    }

    fn ports(&self, user: &User, function: &'static str) -> SeenPorts {
        let site = Site {
            mutant: self.mutant,
            function,
            invocation: user.invocation,
            tables: self.outside.store.clone(),
            letters: self.outside.dead_letters.clone(),
            queue: self.outside.queue.clone(),
            late: self.scene.late.clone(),
            clock: self.outside.clock.clone(),
            kept_letters: Arc::default(),
            kept_messages: Arc::default(),
            kept_leases: Arc::default(),
        };
        Ports {
            store: watched(Mutated::new(&self.outside.store, &site), user),
            queue: watched(Mutated::new(&self.outside.queue, &site), user),
            dead_letters: watched(Mutated::new(&self.outside.dead_letters, &site), user),
            channels: watched(self.outside.channel.clone(), user),
            clock: user.clock.clone(),
        }
    }

    async fn tick_for_ever(self) {
        loop {
            let clock = &self.outside.clock;
            let minute = clock.now().minute().next();
            clock.sleep_until(minute.start()).await;
            for after_millis in self.ticks_of(minute) {
                let service = self.clone();
                self.spawner.spawn(async move {
                    let clock = &service.outside.clock;
                    clock.sleep_until(clock.now().plus_millis(after_millis)).await;
                    service.tick().await;
                });
            }
        }
    }

    /// Draws when the ticks of a minute come, in milliseconds after its beginning.
    fn ticks_of(&self, minute: Minute) -> Vec<i64> {
        let mut chance = self.scene.chance();
        let subject = minute.to_string();
        let (place, mut dice) = chance.next(TICK, &subject);
        let mut late = |bound| i64::try_from(dice.below(bound)).unwrap_or(0);
        let (first, extra) = (late(3_000), late(70_000));
        let kinds = [Kind::TickMissed, Kind::TickDoubled, Kind::TickLate];
        let Some(kind) = chance.draw(&kinds, place, &mut dice) else { return vec![first] };
        let mut ledger = self.scene.ledger();
        ledger.note(|| format!("FAULT {}", kind.as_str()));
        let text = format!("{} {} of {subject}", ledger.clock_text(), kind.as_str());
        chance.fire(kind, place, text);
        match kind {
            Kind::TickMissed => Vec::new(),
            Kind::TickDoubled => vec![first, extra % 500],
            _ => vec![extra],
        }
    }

    async fn tick(&self) {
        let life = Life::drawn(&self.scene, "prefetch");
        let user = self.user(life);
        let ports = self.ports(&user, "prefetch");
        self.scene.ledger().note(|| format!("tick by {}", user.invocation));
        let timeout_at = self.outside.clock.now().plus_seconds(world::PREFETCH_SECONDS);
        let invocation = format!("invocation-{}", user.invocation);
        let run = world::stage(&ports, &self.stack, &invocation);
        let staged = life.live(&user, timeout_at, run).await;
        self.scene.ledger().note(|| format!("tick by {}: {staged:?}", user.invocation));
    }

    async fn take_batch(self, lane: Lane, batch: Vec<ReceivedMessage>) -> Vec<String> {
        let ids: Vec<_> = batch.iter().map(|message| message.id.clone()).collect();
        let function = if lane == Lane::Exact { "exact dispatch" } else { "movable dispatch" };
        let life = Life::drawn(&self.scene, function);
        let user = self.user(life);
        let ports = self.ports(&user, function);
        self.scene.ledger().note(|| format!("{function} {} takes {ids:?}", user.invocation));
        let timeout_at = self.outside.clock.now().plus_seconds(world::timeout_seconds(lane));
        let invocation = format!("invocation-{}", user.invocation);
        let circuits = &self.circuits;
        let batch = Batch { lane, invocation: &invocation, circuits, messages: batch };
        let run = world::dispatch(&ports, &self.stack, batch);
        let report = life.live(&user, timeout_at, run).await;
        self.scene.ledger().note(|| format!("{function} {}: {report:?}", user.invocation));
        report.map_or(ids, |report| report.failed_message_ids)
    }

    /// Makes a call, and again when it was not answered with success.
    async fn make(self, call: Call) {
        let clock = &self.outside.clock;
        clock.sleep_until(call.at).await;
        for number in 0..i64::from(call.tries) {
            let (answer, answered) = oneshot::channel();
            let (service, what) = (self.clone(), call.what.clone());
            self.spawner.spawn(async move {
                let is_answered = match what {
                    What::Accept(jobs) => service.intake_accepts(jobs).await,
                    What::Cancel(number) => service.intake_cancels(number).await,
                    What::Redrive(window) => service.redrive(window).await,
                };
                // A caller that waits no longer is not told.
                answer.send(is_answered).ok();
            });
            // An invocation that crashed drops its end.
            if answered.await == Ok(true) {
                return;
            }
            let waits_millis = TRIES_AGAIN_MILLIS * (1 + number);
            clock.sleep_until(clock.now().plus_millis(waits_millis)).await;
        }
    }

    /// Is one invocation of intake that is handed jobs; tells whether everything was answered for
    /// good.
    async fn intake_accepts(&self, jobs: Vec<(usize, JobSpec)>) -> bool {
        self.intake(async |user: &User, ports: &SeenPorts| self.accept(user, ports, jobs).await)
            .await
    }

    /// Is one invocation of intake that is to cancel a job; tells whether it was answered for good.
    async fn intake_cancels(&self, number: usize) -> bool {
        let id = self.id(number);
        self.intake(async |_: &User, ports: &SeenPorts| self.cancel(ports, &id).await).await
    }

    async fn intake(&self, run: impl AsyncFnOnce(&User, &SeenPorts) -> bool) -> bool {
        let life = Life::drawn(&self.scene, "intake");
        let user = self.user(life);
        let ports = self.ports(&user, "intake");
        let timeout_at = self.outside.clock.now().plus_seconds(world::INTAKE_SECONDS);
        life.live(&user, timeout_at, run(&user, &ports)).await.unwrap_or(false)
    }

    /// Is one invocation of prefetch that an operator asked for; tells whether it was answered.
    async fn redrive(&self, window: RedriveWindow) -> bool {
        let function = "redrive";
        let life = Life::drawn(&self.scene, function);
        let user = self.user(life);
        let ports = self.ports(&user, function);
        self.scene.ledger().note(|| format!("redrive by {}", user.invocation));
        let timeout_at = self.outside.clock.now().plus_seconds(world::PREFETCH_SECONDS);
        let run = world::redrive(&ports, &self.stack, window);
        let report = life.live(&user, timeout_at, run).await;
        self.scene.ledger().note(|| format!("redrive by {}: {report:?}", user.invocation));
        matches!(report, Some(Ok(_)))
    }

    async fn accept(&self, user: &User, ports: &SeenPorts, jobs: Vec<(usize, JobSpec)>) -> bool {
        let began_at = user.clock.now();
        let jobs = jobs.into_iter().map(|(number, spec)| (self.id(number), spec)).collect();
        let answers = world::accept(ports, &self.stack, jobs).await;
        let mut ledger = self.scene.ledger();
        for answer in &answers {
            match answer {
                Answer::Accepted(change, job) => ledger.acknowledged(*change, job, began_at),
                other => ledger.note(|| format!("answer {other:?}")),
            }
        }
        answers.iter().all(|answer| *answer != Answer::Unavailable)
    }

    async fn cancel(&self, ports: &SeenPorts, id: &JobId) -> bool {
        let answer = world::cancel(ports, &self.stack, id).await;
        if matches!(answer, CancelAnswer::Cancelled(_)) {
            self.scene.ledger().cancelled(id);
        }
        answer != CancelAnswer::Unavailable
    }

    fn id(&self, number: usize) -> JobId {
        job_id(format!("{}-{number}", self.name))
    }
}

fn watched<P>(inner: P, user: &User) -> Watched<P> {
    Watched { inner, user: user.clone() }
}

/// Leaves out the jobs that do not take part.
fn filtered(mut call: Call, filter: &Filter) -> Option<Call> {
    match &mut call.what {
        What::Redrive(_) => Some(call),
        What::Cancel(number) => filter.has_job(*number).then_some(call),
        What::Accept(jobs) => {
            jobs.retain(|(number, _)| filter.has_job(*number));
            (!jobs.is_empty()).then_some(call)
        }
    }
}
