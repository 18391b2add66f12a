//! Intake's side of the jobs table.

use aws_sdk_dynamodb::Client;
use spillway_app::ports::{ConditionalResult, Intake, PortError};
use spillway_domain::job::{Generation, Job};
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;
use spillway_domain::time::Instant;

use crate::attributes::{instant, number, ttl};
use crate::dynamodb_row as row;
use crate::expression::Expression;
use crate::item;

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

    async fn put(&self, job: &Job, condition: Expression<'_>) -> ConditionalResult {
        let item = item::to_item(job);
        row::outcome(condition.run_put(&self.client, &self.table, item).await?)
    }
}

impl Intake for DynamoDbIntake {
    async fn read(&self, id: &JobId) -> Result<Option<Job>, PortError> {
        row::read(&self.client, &self.table, id).await
    }

    async fn create(&self, job: &Job) -> ConditionalResult {
        self.put(job, Expression::condition("attribute_not_exists(#job_id)")).await
    }

    async fn reschedule(&self, job: &Job, seen: Generation) -> ConditionalResult {
        // `maybe_sent` is there only when it is true.
        let condition = "#state = :scheduled AND #generation = :seen \
            AND attribute_not_exists(#maybe_sent)";
        self.put(job, Expression::condition(condition).with("seen", number(seen.number()))).await
    }

    async fn cancel(
        &self,
        entry: &PackEntry,
        finished_at: Instant,
        ttl_at: Instant,
    ) -> ConditionalResult {
        let update = Expression::update(
            "SET #state = :cancelled, #finished_at = :finished_at, #ttl = :ttl \
             REMOVE #bucket, #claim_token, #claim_until",
            "#state = :scheduled AND #generation = :generation",
        )
        .with("finished_at", instant(finished_at))
        .with("ttl", ttl(ttl_at))
        .with("generation", number(entry.generation.number()));
        row::change(&self.client, &self.table, &entry.job_id, update).await
    }
}
