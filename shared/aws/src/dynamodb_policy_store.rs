//! Replacing the stored policy.

use aws_sdk_dynamodb::Client;
use spillway_app::ports::{PolicyStore, PortError, SettingsSource, StoredPolicy};
use spillway_domain::bucket::ShardCounts;
use spillway_domain::name::JobId;
use spillway_domain::policy::Removed;

use crate::config::Tables;
use crate::dynamodb_control::DynamoDbControl;

/// The stored policy, and the index that tells who still needs the old one.
#[derive(Clone, Debug)]
pub struct DynamoDbPolicyStore {
    client: Client,
    control: DynamoDbControl,
    tables: Tables,
}

impl DynamoDbPolicyStore {
    /// Reaches both tables.
    pub fn new(client: Client, tables: Tables) -> Self {
        let control = DynamoDbControl::new(client.clone(), tables.control.clone());
        Self { client, control, tables }
    }
}

impl SettingsSource for DynamoDbPolicyStore {
    async fn stored_policy(&self) -> Result<Option<StoredPolicy>, PortError> {
        self.control.stored_policy().await
    }

    async fn shard_counts(&self) -> Result<Option<ShardCounts>, PortError> {
        self.control.shard_counts().await
    }
}

impl PolicyStore for DynamoDbPolicyStore {
    async fn store_policy(&self, _text: &str, _seen: Option<u64>) -> Result<bool, PortError> {
        todo!()
    }

    async fn waiting_job_of(&self, _names: &Removed) -> Result<Option<JobId>, PortError> {
        todo!()
    }
}
