//! The due-minute index.

use aws_sdk_dynamodb::Client;
use spillway_app::ports::{DueIndex, DuePage, PageKey, PortError};
use spillway_domain::bucket::Bucket;

/// The due-minute index of the jobs table.
#[derive(Clone, Debug)]
pub struct DynamoDbDueIndex {
    client: Client,
    table: String,
}

impl DynamoDbDueIndex {
    /// Reaches the index of the jobs table.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }
}

impl DueIndex for DynamoDbDueIndex {
    async fn page(&self, _bucket: Bucket, _after: Option<&PageKey>) -> Result<DuePage, PortError> {
        todo!()
    }
}
