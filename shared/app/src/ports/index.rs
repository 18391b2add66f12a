use spillway_domain::bucket::Bucket;
use spillway_domain::name::JobId;
use spillway_domain::pack::DueJob;
use spillway_domain::time::Instant;

use super::PortError;

/// Where a page of a bucket ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKey {
    /// The release of the last job of the page.
    pub release_at: Instant,
    /// The last job of the page.
    pub job_id: JobId,
}

/// A page of a bucket. It may be empty and still have a next one.
#[derive(Clone, Debug, Default)]
pub struct DuePage {
    /// The jobs, in order of release.
    pub jobs: Vec<DueJob>,
    /// Where the next page begins; none after the last.
    pub next: Option<PageKey>,
}

/// The due-minute index: exactly the unfinished jobs, read eventually consistent.
pub trait DueIndex: Send + Sync {
    /// Reads the page of a bucket that follows `after`, or the first: 1 MB at most.
    fn page(
        &self,
        bucket: Bucket,
        after: Option<&PageKey>,
    ) -> impl Future<Output = Result<DuePage, PortError>> + Send;
}
