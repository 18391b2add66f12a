//! The control table: settings for every function, and what prefetch keeps.

use aws_sdk_dynamodb::Client;
use spillway_app::ports::{PortError, SettingsSource, StagingState, StoredPolicy, Versioned};
use spillway_domain::bucket::ShardCounts;
use spillway_domain::reconcile::Visits;
use spillway_domain::time::Minute;

/// The control table.
#[derive(Clone, Debug)]
pub struct DynamoDbControl {
    client: Client,
    table: String,
}

impl DynamoDbControl {
    /// Reaches the control table.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }
}

impl SettingsSource for DynamoDbControl {
    async fn stored_policy(&self) -> Result<Option<StoredPolicy>, PortError> {
        todo!()
    }

    async fn shard_counts(&self) -> Result<Option<ShardCounts>, PortError> {
        todo!()
    }
}

impl StagingState for DynamoDbControl {
    async fn watermark(&self) -> Result<Option<Minute>, PortError> {
        todo!()
    }

    async fn advance_watermark(&self, _minute: Minute) -> Result<(), PortError> {
        todo!()
    }

    async fn visits(&self) -> Result<Versioned<Visits>, PortError> {
        todo!()
    }

    async fn write_visits(&self, _visits: &Visits, _seen: u64) -> Result<bool, PortError> {
        todo!()
    }

    async fn write_shard_counts(
        &self,
        _counts: &ShardCounts,
        _seen: Option<&ShardCounts>,
    ) -> Result<bool, PortError> {
        todo!()
    }
}
