//! The whole service over the in-memory ports: ticks, queues and both dispatch deployments.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use futures::future::{Either, select};

use spillway_app::accept_jobs::{Acceptor, Answer};
use spillway_app::cancel_job::{CancelAnswer, cancel_job};
use spillway_app::dispatch_jobs::{
    Circuits, DeliveryFact, DispatchReport, Dispatcher, Ending, IncomingMessage,
};
use spillway_app::ports::{
    ChannelSender, Clock, LeaseToken, PortError, QueueMessage, SettingsSource,
};
use spillway_app::redrive_jobs::{RedriveReport, Redriver};
use spillway_app::settings::{CurrentSettings, Settings};
use spillway_app::stage_jobs::{Stager, StagingError, StagingReport};
use spillway_domain::acceptance::{OnDifference, Submission};
use spillway_domain::bucket::ShardCounts;
use spillway_domain::job::{Job, State};
use spillway_domain::pace::Pace;
use spillway_domain::pack::{DueJob, Pack, packs};
use spillway_domain::policy::Policy;
use spillway_domain::precision::Lane;
use spillway_domain::redrive::RedriveWindow;
use spillway_domain::spec::JobSpec;
use spillway_domain::staging::Lookahead;
use spillway_domain::time::Instant;
use spillway_testkit::build::{job_id, policy, shards};
use spillway_testkit::{
    Driver, InMemoryDeadLetters, InMemoryQueue, InMemoryStore, Outside, ReceivedMessage,
    SkewedClock, serve,
};

/// How long a finished row is kept in these tests, in seconds: a week.
pub(crate) const RETENTION_SECONDS: u32 = 7 * 86_400;

/// The ports of its dispatchers.
type Ports<H> = (InMemoryStore, InMemoryStore, InMemoryQueue, InMemoryDeadLetters, H, SkewedClock);

/// One stack. Clones share it.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) outside: Outside,
    pub(crate) lookahead: Lookahead,
    policy: Rc<RefCell<Policy>>,
    pace: Rc<Cell<Pace>>,
    wanted_shards: Rc<Cell<u16>>,
    kept_settings: Rc<CurrentSettings<InMemoryStore>>,
    invocations: Rc<Cell<u64>>,
    stopped: Rc<Cell<u64>>,
    circuits: Rc<Circuits>,
    reports: Rc<RefCell<Vec<DispatchReport>>>,
}

impl Service {
    /// Builds a stack with the shortest lookahead, 60 s, at an instant.
    pub(crate) fn at(now: Instant) -> Self {
        let outside = Outside::at(now);
        let store = outside.store.clone();
        let parse = |_: &str| Err("no policy is stored here".to_owned());
        Self {
            outside,
            wanted_shards: Rc::new(Cell::new(8)),
            kept_settings: Rc::new(CurrentSettings::new(store, parse, policy(), shards(8))),
            lookahead: Lookahead::from_seconds(60).unwrap(),
            policy: Rc::new(RefCell::new(policy())),
            pace: Rc::new(Cell::new(Pace::from_jobs_per_second(5_000).unwrap())),
            invocations: Rc::default(),
            stopped: Rc::default(),
            circuits: Rc::default(),
            reports: Rc::default(),
        }
    }

    /// Changes the policy from now on.
    pub(crate) fn change_policy(&self, change: impl FnOnce(&mut Policy)) {
        change(&mut self.policy.borrow_mut());
    }

    fn settings(&self) -> Settings {
        let shards = shards(8);
        let raised_at = Instant::from_millis(0);
        let shards = ShardCounts { readers: shards, writers: shards, raised_at };
        Settings { policy: self.policy.borrow().clone(), policy_version: 1, shards }
    }

    /// Starts both dispatch deployments.
    pub(crate) fn start_dispatch(&self, driver: &Driver<'static>) {
        for lane in Lane::ALL {
            self.start_dispatch_on(driver, lane, 0);
        }
    }

    /// Starts one lane's deployment on machines whose clocks are wrong by `skew_millis`.
    pub(crate) fn start_dispatch_on(&self, driver: &Driver<'static>, lane: Lane, skew_millis: i64) {
        let service = self.clone();
        let invocation = move |batch: Vec<ReceivedMessage>| {
            let service = service.clone();
            async move { service.dispatch_or_be_stopped(lane, skew_millis, batch).await }
        };
        let queue: InMemoryQueue = self.outside.queue.clone();
        let spawner = driver.spawner();
        spawner.clone().spawn(serve(queue, lane, spawner, invocation));
    }

    /// Starts the rule that ticks as each minute begins.
    pub(crate) fn start_ticks(&self, driver: &Driver<'static>) {
        let service = self.clone();
        driver.spawner().spawn(async move {
            loop {
                let clock = &service.outside.clock;
                clock.sleep_until(clock.now().minute().end()).await;
                service.tick().await.expect("nothing fails here");
            }
        });
    }

    /// Runs prefetch once.
    pub(crate) async fn tick(&self) -> Result<StagingReport, StagingError> {
        let outside = &self.outside;
        let stager = Stager {
            index: &outside.store,
            queue: &outside.queue,
            depth: &outside.queue,
            state: &outside.store,
            clock: &outside.clock,
            lookahead: self.lookahead,
            pace: self.pace.get(),
            token: LeaseToken::of(format!("tick-{}", self.next_invocation())),
            deadline: outside.clock.now().plus_seconds(55),
        };
        let stored = outside.store.shard_counts().await?;
        let shards = stager.raise_shards(stored, shards(self.wanted_shards.get())).await?;
        let policy = self.policy.borrow().clone();
        stager.stage_jobs(shards, &policy).await
    }

    /// Puts failed jobs back, as an invocation of prefetch that has 50 s.
    pub(crate) async fn redrive(&self, window_seconds: u32) -> Result<RedriveReport, PortError> {
        let outside = &self.outside;
        let redriver = Redriver {
            rows: &outside.store,
            queue: &outside.queue,
            dead_letters: &outside.dead_letters,
            clock: &outside.clock,
            lookahead: self.lookahead,
            shards: shards(8),
            window: RedriveWindow::from_seconds(window_seconds).unwrap(),
            deadline: outside.clock.now().plus_seconds(50),
        };
        redriver.redrive_jobs().await
    }

    /// Shows what the invocations of dispatch have told of their deliveries.
    pub(crate) fn deliveries(&self) -> Vec<DeliveryFact> {
        let reports = self.reports.borrow();
        reports.iter().flat_map(|report| report.deliveries.clone()).collect()
    }

    fn next_invocation(&self) -> u64 {
        self.invocations.set(self.invocations.get() + 1);
        self.invocations.get()
    }

    /// Asks for another shard count from now on, as a deployment does.
    pub(crate) fn want_shards(&self, count: u16) {
        self.wanted_shards.set(count);
    }

    /// Releases overdue jobs at another pace from now on.
    pub(crate) fn set_pace(&self, jobs_per_second: u32) {
        self.pace.set(Pace::from_jobs_per_second(jobs_per_second).unwrap());
    }

    /// Takes a batch as Lambda lets an invocation do: at its time-out it is stopped where it stands,
    /// and the whole batch comes back.
    async fn dispatch_or_be_stopped(
        &self,
        lane: Lane,
        skew_millis: i64,
        batch: Vec<ReceivedMessage>,
    ) -> Vec<String> {
        let ids = batch.iter().map(|message| message.id.clone()).collect();
        let timeout_seconds = if lane == Lane::Exact { 15 } else { 60 };
        let clock = &self.outside.clock;
        let stopped_at = clock.now().plus_seconds(timeout_seconds);
        let run = pin!(self.dispatch(lane, skew_millis, batch));
        match select(run, pin!(clock.sleep_until(stopped_at))).await {
            Either::Left((failed_ids, _)) => failed_ids,
            Either::Right(_) => {
                self.stopped.set(self.stopped.get() + 1);
                ids
            }
        }
    }

    /// Counts the invocations that ran into their time-out.
    pub(crate) fn stopped_count(&self) -> u64 {
        self.stopped.get()
    }

    /// Takes a batch as an invocation of a dispatch deployment; the ids of what must come back.
    pub(crate) async fn dispatch(
        &self,
        lane: Lane,
        skew_millis: i64,
        batch: Vec<ReceivedMessage>,
    ) -> Vec<String> {
        self.dispatch_over(&self.outside.channel, lane, skew_millis, batch).await
    }

    /// As [`Self::dispatch`], with channels of the test's own.
    pub(crate) async fn dispatch_over<H: ChannelSender>(
        &self,
        channels: &H,
        lane: Lane,
        skew_millis: i64,
        batch: Vec<ReceivedMessage>,
    ) -> Vec<String> {
        let number = self.next_invocation();
        let timeout_millis = if lane == Lane::Exact { 14_500 } else { 59_500 };
        let clock = self.outside.clock.skewed_by(skew_millis);
        let deadline = clock.now().plus_millis(timeout_millis);
        let dispatcher = Dispatcher::<Ports<H>> {
            claims: &self.outside.store,
            limiter: &self.outside.store,
            queue: &self.outside.queue,
            dead_letters: &self.outside.dead_letters.of(lane),
            channels,
            clock: &clock,
            circuits: &self.circuits,
            settings: &self.settings(),
            lane,
            lookahead: self.lookahead,
            retention_seconds: RETENTION_SECONDS,
            invocation: &format!("invocation-{number}"),
            began_at: clock.now(),
            deadline,
        };
        let messages: Vec<_> = batch
            .into_iter()
            .map(|received| IncomingMessage { id: received.id, message: received.message })
            .collect();
        let report = dispatcher.dispatch_jobs(&messages).await;
        let failed_ids = report.failed_message_ids.clone();
        self.reports.borrow_mut().push(report);
        failed_ids
    }

    /// Hands jobs in, as intake does.
    pub(crate) async fn accept(&self, jobs: Vec<(String, JobSpec)>) -> Vec<Answer> {
        let outside = &self.outside;
        let settings = self.kept_settings.at(outside.clock.now()).await.unwrap();
        let acceptor = Acceptor {
            store: &outside.store,
            queue: &outside.queue,
            clock: &outside.clock,
            lookahead: self.lookahead,
            shards: settings.shards.writers,
            until: outside.clock.now().plus_seconds(15),
        };
        let policy = self.policy.borrow().clone();
        let submissions = jobs
            .into_iter()
            .map(|(id, spec)| Submission {
                id: job_id(id),
                contract: policy.contract(&spec),
                spec,
                rendered: None,
                on_difference: OnDifference::Reschedule,
            })
            .collect();
        acceptor.accept(submissions).await
    }

    /// Cancels a job, as intake does.
    pub(crate) async fn cancel(&self, id: &str) -> CancelAnswer {
        let outside = &self.outside;
        cancel_job(&outside.store, &outside.clock, &job_id(id), RETENTION_SECONDS).await
    }

    /// Puts jobs into the table and the queue as if they had been accepted and staged.
    pub(crate) fn put_staged(&self, jobs: impl IntoIterator<Item = Job>) {
        let jobs: Vec<_> = jobs.into_iter().collect();
        for job in &jobs {
            self.outside.store.put(job.clone());
        }
        for pack in packs(jobs.iter().map(DueJob::of)) {
            let lane = pack.key.lane;
            let message = QueueMessage::Release(pack);
            self.outside.queue.put(lane, message, 0);
        }
    }

    /// Shows the packs that a lane was sent, in order.
    pub(crate) fn sent_packs(&self, lane: Lane) -> Vec<Pack> {
        let sent = self.outside.queue.sent(lane).into_iter();
        sent.filter_map(|sent| match sent.outgoing.message {
            QueueMessage::Release(pack) => Some(pack),
            QueueMessage::Record(_) => None,
        })
        .collect()
    }

    /// Counts the jobs that were put into messages, each time anew.
    pub(crate) fn sent_jobs_count(&self) -> usize {
        let packs = Lane::ALL.into_iter().flat_map(|lane| self.sent_packs(lane));
        packs.map(|pack| pack.entries.len()).sum()
    }

    /// Tells how often entries ended in a way.
    pub(crate) fn ended(&self, ending: Ending) -> u64 {
        self.reports.borrow().iter().filter_map(|report| report.endings.get(&ending)).sum()
    }

    /// Tells the state of a job.
    ///
    /// # Panics
    /// When there is no such job.
    pub(crate) fn state(&self, id: &str) -> State {
        self.outside.store.job(id).unwrap_or_else(|| panic!("no job {id}")).state
    }

    /// Counts how often each job arrived at its channel.
    pub(crate) fn arrivals(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for arrival in self.outside.channel.arrivals() {
            *counts.entry(arrival.delivery.job_id.to_string()).or_default() += 1;
        }
        counts
    }

    /// Checks that every stored job was delivered, once, and never before its release.
    ///
    /// # Panics
    /// Naming the first job for which that is not so.
    pub(crate) fn assert_each_delivered_once(&self) {
        let arrivals = self.arrivals();
        for job in self.outside.store.jobs() {
            assert_eq!(job.state, State::Delivered, "{job:?}");
            assert_eq!(arrivals.get(job.id.as_str()), Some(&1), "{job:?}");
        }
        self.assert_none_early();
    }

    /// Checks that nothing was sent before its job's due time, by the sender's clock.
    ///
    /// # Panics
    /// Naming the first delivery for which that is not so.
    pub(crate) fn assert_none_early(&self) {
        for arrival in self.outside.channel.arrivals() {
            let delivery = arrival.delivery;
            assert!(delivery.sent_at >= delivery.due_at, "early: {delivery:?}");
        }
    }
}
