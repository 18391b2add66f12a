//! Cancelling a job (R7).

use spillway_domain::acceptance::{Cancellation, cancellation};
use spillway_domain::job::Job;
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;

use crate::ports::{Clock, Intake, PortError};

/// How often the row is looked at: a cancel loses only to a claim, which ends it, or to other
/// writers of the same id, who do not come this often in a row.
const LOOKS_MAX: usize = 5;

/// What became of a call to cancel a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelAnswer {
    /// It is cancelled, now or since an earlier call; no send starts any more.
    Cancelled(Box<Job>),
    /// It is claimed or finished.
    TooLate(Box<Job>),
    /// There is no such job.
    Unknown,
    /// It is not known. Trying again is safe.
    Unavailable,
}

/// Cancels a job, and answers with the row as it is then.
///
/// Whatever the store answers to the cancel itself, the row is read again: a cancelled one is final,
/// so that what it says of an unanswered send is what the caller must know.
pub async fn cancel_job<S: Intake, C: Clock>(
    store: &S,
    clock: &C,
    id: &JobId,
    retention_seconds: u32,
) -> CancelAnswer {
    match try_cancel(store, clock, id, retention_seconds).await {
        Ok(answer) => answer,
        Err(error @ PortError::Permanent(_)) => {
            tracing::error!(%id, ?error, "the store refused a cancel");
            CancelAnswer::Unavailable
        }
        Err(error @ PortError::Transient(_)) => {
            tracing::debug!(%id, ?error, "the store did not take a cancel");
            CancelAnswer::Unavailable
        }
    }
}

async fn try_cancel<S: Intake, C: Clock>(
    store: &S,
    clock: &C,
    id: &JobId,
    retention_seconds: u32,
) -> Result<CancelAnswer, PortError> {
    for _ in 0..LOOKS_MAX {
        let job = match cancellation(store.read(id).await?) {
            Cancellation::Unknown => return Ok(CancelAnswer::Unknown),
            Cancellation::Already(job) => return Ok(CancelAnswer::Cancelled(job)),
            Cancellation::TooLate(job) => return Ok(CancelAnswer::TooLate(job)),
            Cancellation::Cancel(job) => job,
        };
        let entry = PackEntry { job_id: job.id.clone(), generation: job.generation };
        let finished_at = clock.now();
        store.cancel(&entry, finished_at, job.ttl_at(finished_at, retention_seconds)).await?;
    }
    Ok(CancelAnswer::Unavailable)
}
