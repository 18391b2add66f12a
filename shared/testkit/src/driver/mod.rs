//! Runs futures on one thread, and moves a manual clock when all of them wait.

mod tasks;

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use spillway_app::ports::Clock as _;
use spillway_domain::time::Instant;

pub use tasks::TaskId;
use tasks::{MAIN, Ready, Tasks};

use crate::clock::ManualClock;
use crate::dice::Dice;
use crate::fault::FaultPlan;

/// More polls than any test makes while the time stands still.
const POLLS_MAX: u64 = 50_000_000;

/// What has become of a future that [`Driver::try_run`] was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended<T> {
    /// It gave its value.
    Finished(T),
    /// A scripted crash ended it.
    Crashed,
    /// It waits for what will never come, and nobody sleeps any more.
    Stuck,
}

/// Runs futures in virtual time: whatever is ready is polled, in the order in which it was woken;
/// when all wait, the clock moves to the next sleeper. The same futures, the same run, every time.
///
/// ```
/// use spillway_app::ports::Clock;
/// use spillway_testkit::{Driver, FaultPlan, ManualClock, build::at};
///
/// let clock = ManualClock::at(at("2026-12-01T09:00:00Z"));
/// let mut driver = Driver::new(&clock, &FaultPlan::new(&clock));
/// let (first, second) = (clock.clone(), clock.clone());
/// driver.spawn(async move { first.sleep_until(at("2026-12-01T09:00:05Z")).await });
/// driver.run(async { second.sleep_until(at("2026-12-01T09:30:00Z")).await }); // takes no time
/// assert_eq!(clock.now(), at("2026-12-01T09:30:00Z"));
/// assert_eq!(driver.task_count(), 0);
/// ```
pub struct Driver<'a> {
    clock: ManualClock,
    faults: FaultPlan,
    tasks: Tasks<'a>,
    ready: Ready,
    spawner: Spawner<'a>,
}

impl<'a> Driver<'a> {
    /// Builds a driver without tasks. It drops the task in which a scripted crash happens.
    pub fn new(clock: &ManualClock, faults: &FaultPlan) -> Self {
        Self {
            clock: clock.clone(),
            faults: faults.clone(),
            tasks: Tasks::default(),
            ready: Ready::default(),
            spawner: Spawner::default(),
        }
    }

    /// Lets the dice choose which of the ready tasks is polled next: other seeds, other
    /// interleavings.
    #[must_use]
    pub fn shuffled(mut self, dice: Dice) -> Self {
        self.ready.shuffle(dice);
        self
    }

    /// Adds a task; it runs with the next call that runs anything.
    pub fn spawn(&mut self, task: impl Future<Output = ()> + 'a) -> TaskId {
        self.spawner.spawn(task)
    }

    /// Gives a handle by which tasks add tasks.
    pub fn spawner(&self) -> Spawner<'a> {
        self.spawner.clone()
    }

    /// Ends a task as a crash does: it is dropped where it stands. A task that is over stays over.
    pub fn crash(&mut self, id: TaskId) {
        self.take_in();
        self.tasks.remove(id);
    }

    /// Ends a task as a crash does after its `number`th poll from its beginning, which is at one of
    /// its awaits: with every number from 1 on, a test crashes it everywhere.
    pub fn crash_after_polls(&mut self, id: TaskId, number: u64) {
        self.take_in();
        self.tasks.crash_after_polls(id, number);
    }

    /// Counts the tasks that are not over.
    pub fn task_count(&mut self) -> usize {
        self.take_in();
        self.tasks.count()
    }

    /// Tells whether a task is not over.
    pub fn is_running(&mut self, id: TaskId) -> bool {
        self.take_in();
        self.tasks.contains(id)
    }

    /// Runs a future to its end, and the tasks beside it.
    ///
    /// # Panics
    /// When it crashes, or waits for what will never come.
    pub fn run<T>(&mut self, future: impl Future<Output = T>) -> T {
        match self.try_run(future) {
            Ended::Finished(value) => value,
            Ended::Crashed => panic!("the future crashed, as scripted"),
            Ended::Stuck => panic!("the future waits, and nobody will ever wake it"),
        }
    }

    /// Runs a future until it ends in one way or another, and the tasks beside it.
    pub fn try_run<T>(&mut self, future: impl Future<Output = T>) -> Ended<T> {
        let mut future = pin!(future);
        let waker = self.ready.waker(MAIN);
        self.ready.push(MAIN);
        loop {
            while let Some(id) = self.next_ready() {
                if id != MAIN {
                    self.poll(id);
                    continue;
                }
                let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
                if self.faults.take_crash() {
                    return Ended::Crashed;
                }
                if let Poll::Ready(value) = polled {
                    return Ended::Finished(value);
                }
            }
            match self.clock.next_wake_at() {
                None => return Ended::Stuck,
                Some(at) => self.move_to(at),
            }
        }
    }

    /// Runs the tasks until all of them wait, without moving the clock.
    pub fn settle(&mut self) {
        while let Some(id) = self.next_ready() {
            self.poll(id);
        }
    }

    /// Runs the tasks until `at`, and leaves the clock there.
    pub fn run_until(&mut self, at: Instant) {
        self.settle();
        while let Some(next) = self.clock.next_wake_at().filter(|next| *next <= at) {
            self.move_to(next);
            self.settle();
        }
        self.move_to(at);
        self.settle();
    }

    /// Runs the tasks for so many seconds, as [`run_until`](Self::run_until) does.
    pub fn run_for_seconds(&mut self, seconds: i64) {
        self.run_until(self.clock.now().plus_seconds(seconds));
    }

    /// Runs the tasks until nobody sleeps any more; what still waits then waits for ever.
    pub fn run_to_rest(&mut self) {
        self.settle();
        while let Some(next) = self.clock.next_wake_at() {
            self.move_to(next);
            self.settle();
        }
    }

    fn move_to(&mut self, at: Instant) {
        self.clock.move_to(at);
        self.ready.restart_count();
    }

    fn next_ready(&mut self) -> Option<TaskId> {
        self.take_in();
        let id = self.ready.pop();
        assert!(self.ready.count() < POLLS_MAX, "a task spins: it is woken, and no time passes");
        id
    }

    /// Polls a task, and drops it when it is over or crashed.
    fn poll(&mut self, id: TaskId) {
        let is_over = self.tasks.poll(id);
        if self.faults.take_crash() || is_over {
            self.tasks.remove(id);
        }
    }

    fn take_in(&mut self) {
        for (id, task) in self.spawner.taken() {
            self.tasks.insert(id, task, self.ready.waker(id));
            self.ready.push(id);
        }
    }
}

impl std::fmt::Debug for Driver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// Adds tasks to a [`Driver`], also from inside a task.
#[derive(Clone, Default)]
pub struct Spawner<'a> {
    added: Rc<RefCell<Added<'a>>>,
}

#[derive(Default)]
struct Added<'a> {
    last: u64,
    waiting: Vec<(TaskId, tasks::Task<'a>)>,
}

impl<'a> Spawner<'a> {
    /// Adds a task.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'a) -> TaskId {
        let mut added = self.added.borrow_mut();
        added.last += 1;
        let id = TaskId::from_number(added.last);
        added.waiting.push((id, Box::pin(task)));
        id
    }

    fn taken(&self) -> Vec<(TaskId, tasks::Task<'a>)> {
        std::mem::take(&mut self.added.borrow_mut().waiting)
    }
}

impl std::fmt::Debug for Spawner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spawner").finish_non_exhaustive()
    }
}
