//! The tables, in memory: the executable reference of every write and its condition.

mod claims;
mod control;
mod index;
mod intake;
mod limiter;
mod redrives;
mod rows;
mod units;

use std::sync::{Arc, Mutex};

use spillway_app::ports::{Clock as _, Conditional, ConditionalResult, PortError};
use spillway_domain::job::Job;
use spillway_domain::name::JobId;
use spillway_domain::time::Instant;

use control::Control;
use limiter::Slices;
use rows::{Row, Rows, Write};
use units::Units;

use crate::clock::ManualClock;
use crate::fault::{FaultPlan, Operation};
use crate::lock::locked;
use crate::observer::{Observer, Observers, RowWrite};

/// The jobs table with its index, and the control table. Clones share both.
///
/// It is every port of the tables at once: `Intake`, `Claims`, `Redrives`, `DueIndex`,
/// `SettingsSource`, `PolicyStore`, `StagingState`, `StagingUnits`, `CatchUp` and `Limiter`. Calls are counted
/// and go wrong as its [`FaultPlan`] says.
///
/// ```
/// use spillway_app::ports::{Conditional, Intake};
/// use spillway_testkit::build::{at, exact_job};
/// use spillway_testkit::{Driver, FaultPlan, InMemoryStore, ManualClock};
///
/// let clock = ManualClock::at(at("2026-12-01T08:00:00Z"));
/// let faults = FaultPlan::new(&clock);
/// let store = InMemoryStore::new(&clock, &faults);
/// let job = exact_job("a", at("2026-12-01T09:00:00Z"), at("2026-12-01T08:00:00Z"));
/// Driver::new(&clock, &faults).run(async {
///     assert!(matches!(store.create(&job).await, Ok(Conditional::Done(()))));
///     assert!(matches!(store.create(&job).await, Ok(Conditional::Refused(Some(_)))));
/// });
/// assert_eq!(store.job("a"), Some(job));
/// ```
#[derive(Clone, Debug)]
pub struct InMemoryStore {
    clock: ManualClock,
    faults: FaultPlan,
    tables: Arc<Mutex<Tables>>,
    observers: Observers,
}

#[derive(Debug, Default)]
struct Tables {
    jobs: Rows,
    control: Control,
    units: Units,
    slices: Slices,
}

impl InMemoryStore {
    /// Builds empty tables. Their index is up to date at once and answers 4,000 jobs a page, about
    /// what a page of 1 MB holds.
    pub fn new(clock: &ManualClock, faults: &FaultPlan) -> Self {
        Self {
            clock: clock.clone(),
            faults: faults.clone(),
            tables: Arc::default(),
            observers: Observers::default(),
        }
    }

    /// Lets somebody look on, from now on.
    ///
    /// # Panics
    /// When somebody does already.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.observers.set(observer);
    }

    /// Lets the index show every write so many milliseconds late, those to come alone.
    pub fn set_index_lag_millis(&self, millis: i64) {
        locked(&self.tables).jobs.index.lag_millis = millis;
    }

    /// Lets a page of the index hold at most so many jobs.
    ///
    /// # Panics
    /// When it is 0: no read would ever end.
    pub fn set_page_jobs_max(&self, jobs: usize) {
        assert!(jobs > 0, "a page holds one job at least");
        locked(&self.tables).jobs.index.page_jobs_max = jobs;
    }

    /// Lets every `number`th page of the index be empty although it has a next one.
    ///
    /// # Panics
    /// When it is below 2: no read would ever end.
    pub fn set_every_nth_page_empty(&self, number: u64) {
        assert!(number > 1, "some pages hold jobs");
        locked(&self.tables).jobs.index.empty_page_every = Some(number);
    }

    /// Shows a row as it is, past all ports and faults.
    pub fn job(&self, id: &str) -> Option<Job> {
        locked(&self.tables).jobs.row(id).map(|row| row.job.clone())
    }

    /// Shows all rows, in order of their ids.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs: Vec<_> = locked(&self.tables).jobs.all().map(|row| row.job.clone()).collect();
        jobs.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        jobs
    }

    /// Tells when a finished row may be deleted.
    pub fn ttl_at(&self, id: &str) -> Option<Instant> {
        locked(&self.tables).jobs.row(id)?.ttl_at
    }

    /// Writes a row as it is, past all conditions: to begin a test in the middle of a job's life.
    pub fn put(&self, job: Job) {
        let (now, before) = (self.clock.now(), self.job(job.id.as_str()));
        let lag_millis = self.follow(before.as_ref(), &job, now);
        locked(&self.tables).jobs.write(Row { job, ttl_at: None }, lag_millis, now);
    }

    /// Deletes the rows whose TTL has passed, as the table does within days.
    pub fn delete_outlived(&self) {
        let now = self.clock.now();
        locked(&self.tables).jobs.delete_outlived(now);
    }

    /// Carries out a write to a row: `write` is given the row, and tells what is set when its
    /// condition holds.
    async fn write<T: Send>(
        &self,
        operation: Operation,
        id: &JobId,
        write: impl FnOnce(Option<&Job>) -> Option<Write<T>> + Send,
    ) -> ConditionalResult<T> {
        let effect = async {
            let jobs = &mut locked(&self.tables).jobs;
            let before = jobs.row(id.as_str()).map(|row| &row.job);
            let (written, at) = (write(before), self.clock.now());
            let after = written.as_ref().map(|written| &written.row.job);
            self.observers.row_written(RowWrite { operation, before, after, at });
            match written {
                None => Ok(Conditional::Refused(before.cloned().map(Box::new))),
                Some(Write { row, answer }) => {
                    let lag_millis = self.follow(before, &row.job, at);
                    jobs.write(row, lag_millis, at);
                    Ok(Conditional::Done(answer))
                }
            }
        };
        self.faults.call(operation, [id.as_str()], effect).await
    }

    /// Shows a write to the fate, and asks how late the index shows it.
    fn follow(&self, before: Option<&Job>, after: &Job, now: Instant) -> Option<i64> {
        self.faults.fate(|fate| {
            fate.wrote(before, after, now);
            fate.of_index_entry(after)
        })
    }

    /// Carries out a call to the control table.
    async fn control<T: Send>(
        &self,
        operation: Operation,
        effect: impl FnOnce(&mut Tables) -> T + Send,
    ) -> Result<T, PortError> {
        self.faults.call(operation, [], async { Ok(effect(&mut locked(&self.tables))) }).await
    }
}
