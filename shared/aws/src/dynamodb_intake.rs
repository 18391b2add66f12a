//! Intake's side of the jobs table.

use aws_sdk_dynamodb::Client;
use spillway_app::ports::{ConditionalResult, Intake, PortError};
use spillway_domain::job::{Generation, Job};
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;
use spillway_domain::time::Instant;

/// The jobs table, as intake uses it.
#[derive(Clone, Debug)]
pub struct DynamoDbIntake {
    client: Client,
    table: String,
}

impl DynamoDbIntake {
    /// Reaches the jobs table.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }
}

impl Intake for DynamoDbIntake {
    async fn read(&self, _id: &JobId) -> Result<Option<Job>, PortError> {
        todo!()
    }

    async fn create(&self, _job: &Job) -> ConditionalResult {
        todo!()
    }

    async fn reschedule(&self, _job: &Job, _seen: Generation) -> ConditionalResult {
        todo!()
    }

    async fn cancel(
        &self,
        _entry: &PackEntry,
        _finished_at: Instant,
        _ttl_at: Instant,
    ) -> ConditionalResult {
        todo!()
    }
}
