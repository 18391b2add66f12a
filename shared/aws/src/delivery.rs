//! What a channel gets of a job.

use spillway_domain::name::JobId;
use spillway_domain::time::Instant;

/// Gives the id that a channel can tell doubles by: the same over all attempts of a job.
pub fn delivery_id(_job_id: &JobId, _created_at: Instant) -> String {
    todo!()
}
