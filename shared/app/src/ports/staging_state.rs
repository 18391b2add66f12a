use spillway_domain::bucket::ShardCounts;
use spillway_domain::reconcile::Visits;
use spillway_domain::time::Minute;

use super::PortError;

/// A value and the version that a later write names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The value.
    pub value: T,
    /// Counts its writes; 0 when it was never written.
    pub version: u64,
}

/// What prefetch keeps in the control table.
pub trait StagingState: Send + Sync {
    /// Reads the last minute that is completely staged; none on a new stack. Consistent.
    fn watermark(&self) -> impl Future<Output = Result<Option<Minute>, PortError>> + Send;

    /// Moves the watermark forward to `minute`; a watermark that is further already stays.
    fn advance_watermark(
        &self,
        minute: Minute,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Reads the visits that reconcile has before it. Consistent.
    fn visits(&self) -> impl Future<Output = Result<Versioned<Visits>, PortError>> + Send;

    /// Writes them in place of version `seen`; `false` when another run was faster.
    fn write_visits(
        &self,
        visits: &Visits,
        seen: u64,
    ) -> impl Future<Output = Result<bool, PortError>> + Send;

    /// Writes the shard counts in place of `seen`; `false` when another run was faster.
    fn write_shard_counts(
        &self,
        counts: &ShardCounts,
        seen: Option<&ShardCounts>,
    ) -> impl Future<Output = Result<bool, PortError>> + Send;
}
