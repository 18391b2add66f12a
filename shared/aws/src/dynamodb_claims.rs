//! Dispatch's side of the jobs table.

use aws_sdk_dynamodb::Client;
use spillway_app::ports::{Claims, ConditionalResult, Failure, NextAttempt};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::bucket::Bucket;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{ClaimToken, Job};
use spillway_domain::pack::PackEntry;
use spillway_domain::time::Instant;

/// The jobs table, as dispatch uses it.
#[derive(Clone, Debug)]
pub struct DynamoDbClaims {
    client: Client,
    table: String,
}

impl DynamoDbClaims {
    /// Reaches the jobs table.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }
}

impl Claims for DynamoDbClaims {
    async fn claim(&self, _request: &ClaimRequest) -> ConditionalResult<Box<Job>> {
        todo!()
    }

    async fn give_back(&self, _entry: &PackEntry, _token: &ClaimToken) -> ConditionalResult {
        todo!()
    }

    async fn retry(
        &self,
        _entry: &PackEntry,
        _token: &ClaimToken,
        _next: &NextAttempt,
    ) -> ConditionalResult {
        todo!()
    }

    async fn record_delivered(&self, _record: &DeliveryRecord) -> ConditionalResult {
        todo!()
    }

    async fn record_failed(&self, _entry: &PackEntry, _failure: &Failure) -> ConditionalResult {
        todo!()
    }

    async fn record_expired(
        &self,
        _entry: &PackEntry,
        _now: Instant,
        _ttl_at: Instant,
    ) -> ConditionalResult {
        todo!()
    }

    async fn return_to_table(
        &self,
        _entry: &PackEntry,
        _release_at: Instant,
        _bucket: Bucket,
    ) -> ConditionalResult {
        todo!()
    }
}
