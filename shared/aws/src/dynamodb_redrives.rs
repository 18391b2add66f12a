//! Redrive's side of the jobs table.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use spillway_app::ports::{ConditionalResult, PortError, Redrives};
use spillway_domain::job::Job;
use spillway_domain::name::JobId;

use crate::attributes::{instant, number, text};
use crate::dynamodb_row as row;
use crate::expression::Expression;
use crate::schema::job as name;

/// The jobs table, as redrive uses it.
#[derive(Clone, Debug)]
pub struct DynamoDbRedrives {
    client: Client,
    table: String,
}

impl DynamoDbRedrives {
    /// Reaches the jobs table.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }
}

impl Redrives for DynamoDbRedrives {
    async fn row(&self, id: &JobId) -> Result<Option<Job>, PortError> {
        row::read(&self.client, &self.table, id).await
    }

    async fn redrive(&self, job: &Job) -> ConditionalResult {
        let placed = placed(job);
        let sets: Vec<_> = placed.iter().map(|(name, _)| format!("#{name} = :{name}")).collect();
        let changes = format!(
            "SET #state = :scheduled, #attempts = :none, {} \
             REMOVE #claim_token, #claim_until, #finished_at, #ttl",
            sets.join(", ")
        );
        let update = Expression::update(&changes, "#state = :failed AND #generation = :generation")
            .with("generation", number(job.generation.number()))
            .with("none", number(0));
        let update = placed.into_iter().fold(update, |update, (name, it)| update.with(name, it));
        row::change(&self.client, &self.table, &job.id, update).await
    }
}

/// The attributes that say when and where a job waits again. One without an expiry never had one.
fn placed(job: &Job) -> Vec<(&'static str, AttributeValue)> {
    let attributes = [
        (name::RELEASE_AT, Some(instant(job.release_at))),
        (name::BUCKET, job.bucket.map(|bucket| text(bucket.to_string()))),
        (name::EXPIRES_AT, job.expires_at.map(instant)),
        (name::REDRIVEN_AT, job.redriven_at.map(instant)),
    ];
    attributes.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
