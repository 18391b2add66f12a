//! The driver's tasks, and the order in which they are polled.

use std::collections::{HashMap, HashSet, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use crate::dice::Dice;
use crate::lock::locked;

/// A task of a [`Driver`](crate::Driver).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(u64);

impl TaskId {
    pub(super) const fn from_number(number: u64) -> Self {
        Self(number)
    }
}

/// The future that the driver was called with; tasks are counted from 1.
pub(super) const MAIN: TaskId = TaskId(0);

pub(super) type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

struct Running<'a> {
    task: Task<'a>,
    waker: Waker,
    polls: u64,
    polls_max: Option<u64>,
}

/// The tasks that are not over.
#[derive(Default)]
pub(super) struct Tasks<'a> {
    running: HashMap<TaskId, Running<'a>>,
}

impl<'a> Tasks<'a> {
    pub(super) fn insert(&mut self, id: TaskId, task: Task<'a>, waker: Waker) {
        self.running.insert(id, Running { task, waker, polls: 0, polls_max: None });
    }

    pub(super) fn remove(&mut self, id: TaskId) {
        self.running.remove(&id);
    }

    pub(super) fn crash_after_polls(&mut self, id: TaskId, number: u64) {
        if let Some(running) = self.running.get_mut(&id) {
            running.polls_max = Some(number);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.running.len()
    }

    pub(super) fn contains(&self, id: TaskId) -> bool {
        self.running.contains_key(&id)
    }

    /// Polls a task; tells whether it is over, by itself or by the crash that was asked for.
    pub(super) fn poll(&mut self, id: TaskId) -> bool {
        let Some(running) = self.running.get_mut(&id) else { return true };
        running.polls += 1;
        let context = &mut Context::from_waker(&running.waker);
        let is_ready = running.task.as_mut().poll(context).is_ready();
        is_ready || running.polls_max.is_some_and(|max| running.polls >= max)
    }
}

/// The woken tasks, in the order of their waking, and how many were polled since the clock moved.
#[derive(Default)]
pub(super) struct Ready {
    woken: Arc<Mutex<Woken>>,
    dice: Option<Dice>,
    polls: u64,
}

impl Ready {
    pub(super) fn shuffle(&mut self, dice: Dice) {
        self.dice = Some(dice);
    }

    pub(super) fn push(&self, id: TaskId) {
        locked(&self.woken).push(id);
    }

    pub(super) fn waker(&self, id: TaskId) -> Waker {
        Waker::from(Arc::new(TaskWaker { id, woken: Arc::clone(&self.woken) }))
    }

    pub(super) fn pop(&mut self) -> Option<TaskId> {
        self.polls += 1;
        locked(&self.woken).pop(self.dice.as_mut())
    }

    pub(super) const fn count(&self) -> u64 {
        self.polls
    }

    pub(super) const fn restart_count(&mut self) {
        self.polls = 0;
    }
}

/// A task that is woken twice before it is polled is polled once.
#[derive(Default)]
struct Woken {
    order: VecDeque<TaskId>,
    members: HashSet<TaskId>,
}

impl Woken {
    fn push(&mut self, id: TaskId) {
        if self.members.insert(id) {
            self.order.push_back(id);
        }
    }

    fn pop(&mut self, dice: Option<&mut Dice>) -> Option<TaskId> {
        let place = dice.map_or(0, |dice| dice.place(self.order.len()));
        let id = self.order.remove(place)?;
        self.members.remove(&id);
        Some(id)
    }
}

struct TaskWaker {
    id: TaskId,
    woken: Arc<Mutex<Woken>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        locked(&self.woken).push(self.id);
    }
}
