//! Everything outside at once.

use std::sync::Arc;

use spillway_domain::time::Instant;

use crate::channel::InMemoryChannel;
use crate::clock::ManualClock;
use crate::dead_letters::InMemoryDeadLetters;
use crate::driver::Driver;
use crate::fault::FaultPlan;
use crate::observer::Observer;
use crate::queue::InMemoryQueue;
use crate::store::InMemoryStore;

/// A clock, a plan of faults, and every port over them. Clones share all of it.
///
/// ```
/// use spillway_app::ports::Intake;
/// use spillway_testkit::{Outside, build::{at, exact_job}};
///
/// let now = at("2026-12-01T08:00:00Z");
/// let outside = Outside::at(now);
/// let job = exact_job("a", at("2026-12-01T09:00:00Z"), now);
/// outside.driver().run(outside.store.create(&job)).unwrap();
/// assert_eq!(outside.store.jobs(), [job]);
/// ```
#[derive(Clone, Debug)]
pub struct Outside {
    /// The true time.
    pub clock: ManualClock,
    /// What goes wrong, and the counts of all calls.
    pub faults: FaultPlan,
    /// The tables.
    pub store: InMemoryStore,
    /// The delay queues.
    pub queue: InMemoryQueue,
    /// The dead-letter queues.
    pub dead_letters: InMemoryDeadLetters,
    /// The channels.
    pub channel: InMemoryChannel,
}

impl Outside {
    /// Builds an empty outside at an instant, in which nothing goes wrong.
    pub fn at(now: Instant) -> Self {
        let clock = ManualClock::at(now);
        let faults = FaultPlan::new(&clock);
        Self {
            store: InMemoryStore::new(&clock, &faults),
            queue: InMemoryQueue::new(&clock, &faults),
            dead_letters: InMemoryDeadLetters::new(&clock, &faults),
            channel: InMemoryChannel::new(&clock, &faults),
            clock,
            faults,
        }
    }

    /// Lets somebody look on, and keeps no log of what was sent and what arrived: for a run of
    /// millions of jobs.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use spillway_app::ports::Intake;
    /// use spillway_testkit::{Observer, Outside, RowWrite, build::{at, exact_job}};
    ///
    /// #[derive(Debug, Default)]
    /// struct Writes(AtomicU64);
    ///
    /// impl Observer for Writes {
    ///     fn row_written(&self, _: RowWrite<'_>) {
    ///         self.0.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// }
    ///
    /// let now = at("2026-12-01T08:00:00Z");
    /// let (outside, writes) = (Outside::at(now), Arc::new(Writes::default()));
    /// outside.observe_instead_of_logs(writes.clone());
    /// let job = exact_job("a", now, now);
    /// outside.driver().run(outside.store.create(&job)).unwrap();
    /// assert_eq!(writes.0.load(Ordering::Relaxed), 1);
    /// ```
    ///
    /// # Panics
    /// When somebody looks on already.
    pub fn observe_instead_of_logs(&self, observer: Arc<dyn Observer>) {
        self.store.observe(Arc::clone(&observer));
        self.queue.observe(Arc::clone(&observer));
        self.channel.observe(observer);
        self.queue.keep_no_sent();
        self.channel.keep_no_arrivals();
    }

    /// Builds a driver over its clock and its faults.
    pub fn driver<'a>(&self) -> Driver<'a> {
        Driver::new(&self.clock, &self.faults)
    }
}
