//! Redrive's write.

use spillway_app::ports::{ConditionalResult, PortError, Redrives};
use spillway_domain::job::{Job, State};
use spillway_domain::name::JobId;

use super::InMemoryStore;
use super::rows::{Write, of_life};
use crate::fault::Operation;

impl Redrives for InMemoryStore {
    async fn row(&self, id: &JobId) -> Result<Option<Job>, PortError> {
        let read = async { Ok(self.job(id.as_str())) };
        self.faults.call(Operation::Row, [id.as_str()], read).await
    }

    async fn redrive(&self, job: &Job) -> ConditionalResult {
        self.write(Operation::Redrive, &job.id, |row| redrive(row, job)).await
    }
}

/// `failed`, generation → `scheduled`, with the new release, bucket and expiry; no attempts, no
/// token.
fn redrive(row: Option<&Job>, job: &Job) -> Option<Write> {
    let row = of_life(row, job.generation).filter(|row| row.state == State::Failed)?;
    Some(Write::waiting(Job {
        state: State::Scheduled,
        release_at: job.release_at,
        bucket: job.bucket,
        expires_at: job.expires_at,
        redriven_at: job.redriven_at,
        attempts: 0,
        claim: None,
        finished_at: None,
        ..row.clone()
    }))
}
