//! What is asked of the service.

use spillway_domain::name::JobId;
use spillway_domain::spec::JobSpec;
use spillway_domain::time::Instant;
use spillway_testkit::build::job_id;

/// The most jobs of one call to intake.
pub(super) const JOBS_OF_A_CALL: usize = 500;

/// One call to intake.
#[derive(Clone, Debug)]
pub struct IntakeCall {
    /// When it is made; later when the one before it is still being answered.
    pub at: Instant,
    /// Its jobs.
    pub jobs: Vec<(JobId, JobSpec)>,
}

/// All calls to intake of a run, in order of time, made as they are needed.
pub type Workload = Box<dyn Iterator<Item = IntakeCall>>;

/// Names the `number`th job of a seed: other seeds have other ids, and so other offsets.
pub(super) fn id_of(seed: u64, number: u64) -> JobId {
    job_id(format!("{seed:x}-{number}"))
}
