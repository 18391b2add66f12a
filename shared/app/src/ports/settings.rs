use spillway_domain::bucket::ShardCounts;
use spillway_domain::name::JobId;
use spillway_domain::policy::Removed;

use super::PortError;

/// A policy in the control table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPolicy {
    /// Counts the policies that were stored, from 1.
    pub version: u64,
    /// The policy's TOML.
    pub text: String,
}

/// The settings in the control table, for every function.
pub trait SettingsSource: Send + Sync {
    /// Reads the stored policy; none when the compiled-in one is in force.
    fn stored_policy(&self)
    -> impl Future<Output = Result<Option<StoredPolicy>, PortError>> + Send;

    /// Reads the shard counts; none before the first tick of a new stack.
    fn shard_counts(&self) -> impl Future<Output = Result<Option<ShardCounts>, PortError>> + Send;
}

/// Replacing the stored policy, for the operator's tool.
pub trait PolicyStore: SettingsSource {
    /// Stores `text` as the version after `seen` (none: the first), unless another was stored in
    /// between: then `false`.
    fn store_policy(
        &self,
        text: &str,
        seen: Option<u64>,
    ) -> impl Future<Output = Result<bool, PortError>> + Send;

    /// Looks through the unfinished jobs for one whose class or channel is among `names`.
    fn waiting_job_of(
        &self,
        names: &Removed,
    ) -> impl Future<Output = Result<Option<JobId>, PortError>> + Send;
}
