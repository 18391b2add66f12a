//! Intake's writes.

use spillway_app::ports::{ConditionalResult, Intake, PortError};
use spillway_domain::job::{Generation, Job, State};
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;
use spillway_domain::time::Instant;

use super::InMemoryStore;
use super::rows::{Write, of_life};
use crate::fault::Operation;

impl Intake for InMemoryStore {
    async fn read(&self, id: &JobId) -> Result<Option<Job>, PortError> {
        let read = async {
            let job = self.job(id.as_str());
            self.observers.row_read(job.as_ref());
            Ok(job)
        };
        self.faults.call(Operation::Read, [id.as_str()], read).await
    }

    async fn create(&self, job: &Job) -> ConditionalResult {
        self.write(Operation::Create, &job.id, |row| create(row, job)).await
    }

    async fn reschedule(&self, job: &Job, seen: Generation) -> ConditionalResult {
        self.write(Operation::Reschedule, &job.id, |row| reschedule(row, job, seen)).await
    }

    async fn cancel(
        &self,
        entry: &PackEntry,
        finished_at: Instant,
        ttl_at: Instant,
    ) -> ConditionalResult {
        let write = |row: Option<&Job>| cancel(row, entry, finished_at, ttl_at);
        self.write(Operation::Cancel, &entry.job_id, write).await
    }
}

/// No row → the new row.
fn create(row: Option<&Job>, job: &Job) -> Option<Write> {
    row.is_none().then(|| Write::waiting(job.clone()))
}

/// `scheduled`, generation as read, not `maybe_sent` → the new row.
fn reschedule(row: Option<&Job>, job: &Job, seen: Generation) -> Option<Write> {
    let row = of_life(row, seen)?;
    let holds = row.state == State::Scheduled && !row.maybe_sent;
    holds.then(|| Write::waiting(job.clone()))
}

/// `scheduled`, generation → `cancelled`.
fn cancel(
    row: Option<&Job>,
    entry: &PackEntry,
    finished_at: Instant,
    ttl_at: Instant,
) -> Option<Write> {
    let row = of_life(row, entry.generation)?;
    let cancelled =
        || Job { state: State::Cancelled, finished_at: Some(finished_at), ..row.clone() };
    (row.state == State::Scheduled).then(|| Write::finished(cancelled(), ttl_at))
}
