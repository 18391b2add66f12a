//! Dispatch's side of the jobs table.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use spillway_app::ports::{
    Claims, Conditional, ConditionalResult, FailedBy, Failure, NextAttempt, PortError,
};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::bucket::Bucket;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{Claim, ClaimToken, Job};
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;
use spillway_domain::staging::HOLD_MILLIS_MAX;
use spillway_domain::time::Instant;

use crate::attributes::{instant, number, text, ttl};
use crate::call_error::CallError;
use crate::dynamodb_row as row;
use crate::expression::{Expression, Written};
use crate::schema::job::JOB_ID;

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

    async fn change(&self, id: &JobId, update: Expression<'_>) -> ConditionalResult {
        row::change(&self.client, &self.table, id, update).await
    }

    async fn take(
        &self,
        request: &ClaimRequest,
        update: Expression<'_>,
    ) -> ConditionalResult<Box<Job>> {
        let key = (JOB_ID, request.entry.job_id.as_str());
        let update = with_request(update, request);
        match update.run_update(&self.client, &self.table, key, ReturnValue::AllNew).await? {
            Written::Done(Some(item)) => Ok(Conditional::Done(row::job(item)?)),
            Written::Done(None) => Err(no_row_answered()),
            Written::Refused(item) => row::refused(item),
        }
    }
}

/// What every claim stands under beside the state.
const CLAIMABLE: &str =
    "#generation = :generation AND #attempts < :attempts_max AND #release_at <= :release_at_max";

fn with_request<'a>(update: Expression<'a>, request: &ClaimRequest) -> Expression<'a> {
    update
        .with("generation", number(request.entry.generation.number()))
        .with("attempts_max", number(request.attempts_max))
        .with("release_at_max", instant(request.now.plus_millis(HOLD_MILLIS_MAX)))
        .with("token", text(request.token.as_str()))
        .with("until", instant(request.until))
        .with("one", number(1))
}

fn no_row_answered() -> PortError {
    CallError::permanent("UpdateItem", "a claim was answered without its row").into()
}

/// Tells the claim that stands in the way of `request` but has run out.
fn run_out_claim<'a>(row: Option<&'a Job>, request: &ClaimRequest) -> Option<&'a Claim> {
    let claim = row?.claim.as_ref()?;
    (claim.until < request.now && claim.token != request.token).then_some(claim)
}

impl Claims for DynamoDbClaims {
    /// Tries the row as one that waits, and when a run-out claim refuses that, as one to take over.
    /// Only a take-over may set `maybe_sent`, and an update cannot look at the old state to choose;
    /// the token of the old claim in the second condition makes sure that it is that one.
    async fn claim(&self, request: &ClaimRequest) -> ConditionalResult<Box<Job>> {
        let changes = "SET #state = :claimed, #claim_token = :token, #claim_until = :until, \
            #attempts = #attempts + :one";
        let condition = format!("#state = :scheduled AND {CLAIMABLE}");
        let refused = match self.take(request, Expression::update(changes, &condition)).await? {
            Conditional::Refused(row) => row,
            done @ Conditional::Done(_) => return Ok(done),
        };
        let Some(old) = run_out_claim(refused.as_deref(), request) else {
            return Ok(Conditional::Refused(refused));
        };
        let changes = format!("{changes}, #maybe_sent = :true");
        let condition = format!(
            "#state = :claimed AND #claim_until < :now AND #claim_token = :old_token \
             AND {CLAIMABLE}"
        );
        let update = Expression::update(&changes, &condition)
            .with("true", AttributeValue::Bool(true))
            .with("now", instant(request.now))
            .with("old_token", text(old.token.as_str()));
        self.take(request, update).await
    }

    async fn give_back(&self, entry: &PackEntry, token: &ClaimToken) -> ConditionalResult {
        let update = Expression::update(
            "SET #state = :scheduled, #attempts = #attempts - :one \
             REMOVE #claim_token, #claim_until",
            HELD,
        )
        .with("one", number(1));
        self.change(&entry.job_id, with_holder(update, entry, token)).await
    }

    async fn retry(
        &self,
        entry: &PackEntry,
        token: &ClaimToken,
        next: &NextAttempt,
    ) -> ConditionalResult {
        // `maybe_sent` is never taken away: what may have arrived stays so.
        let changes = if next.maybe_sent {
            "SET #state = :scheduled, #release_at = :release_at, #bucket = :bucket, \
             #reason = :reason, #maybe_sent = :true REMOVE #claim_token, #claim_until"
        } else {
            "SET #state = :scheduled, #release_at = :release_at, #bucket = :bucket, \
             #reason = :reason REMOVE #claim_token, #claim_until"
        };
        let mut update = Expression::update(changes, HELD)
            .with("release_at", instant(next.release_at))
            .with("bucket", text(next.bucket.to_string()))
            .with("reason", text(&next.reason));
        if next.maybe_sent {
            update = update.with("true", AttributeValue::Bool(true));
        }
        self.change(&entry.job_id, with_holder(update, entry, token)).await
    }

    async fn record_delivered(&self, record: &DeliveryRecord) -> ConditionalResult {
        let update = Expression::update(
            "SET #state = :delivered, #attempts = :attempts, #sent_at = :sent_at, \
             #delivered_at = :delivered_at, #finished_at = :delivered_at, #ttl = :ttl \
             REMOVE #bucket, #claim_token, #claim_until",
            "#generation = :generation AND #state <> :delivered AND #state <> :cancelled",
        )
        .with("generation", number(record.generation.number()))
        .with("attempts", number(record.attempts))
        .with("sent_at", instant(record.sent_at))
        .with("delivered_at", instant(record.delivered_at))
        .with("ttl", ttl(record.ttl_at));
        self.change(&record.job_id, update).await
    }

    async fn record_failed(&self, entry: &PackEntry, failure: &Failure) -> ConditionalResult {
        // `maybe_sent` is never taken away, as in a retry.
        let changes = if failure.maybe_sent {
            "SET #state = :failed, #reason = :reason, #finished_at = :finished_at, #ttl = :ttl, \
             #maybe_sent = :true REMOVE #bucket, #claim_token, #claim_until"
        } else {
            "SET #state = :failed, #reason = :reason, #finished_at = :finished_at, #ttl = :ttl \
             REMOVE #bucket, #claim_token, #claim_until"
        };
        let update = match &failure.by {
            FailedBy::Holder(token) => with_holder(Expression::update(changes, HELD), entry, token),
            FailedBy::RunOut { now, attempts_max } => Expression::update(
                changes,
                "#state = :claimed AND #generation = :generation AND #claim_until < :now \
                 AND #attempts >= :attempts_max",
            )
            .with("generation", number(entry.generation.number()))
            .with("now", instant(*now))
            .with("attempts_max", number(*attempts_max)),
        };
        let mut update = update
            .with("reason", text(&failure.reason))
            .with("finished_at", instant(failure.finished_at))
            .with("ttl", ttl(failure.ttl_at));
        if failure.maybe_sent {
            update = update.with("true", AttributeValue::Bool(true));
        }
        self.change(&entry.job_id, update).await
    }

    async fn record_expired(
        &self,
        entry: &PackEntry,
        now: Instant,
        ttl_at: Instant,
    ) -> ConditionalResult {
        let update = Expression::update(
            "SET #state = :expired, #finished_at = :now, #ttl = :ttl \
             REMOVE #bucket, #claim_token, #claim_until",
            "#generation = :generation AND #expires_at < :now \
             AND (#state = :scheduled OR (#state = :claimed AND #claim_until < :now))",
        )
        .with("generation", number(entry.generation.number()))
        .with("now", instant(now))
        .with("ttl", ttl(ttl_at));
        self.change(&entry.job_id, update).await
    }

    async fn return_to_table(
        &self,
        entry: &PackEntry,
        release_at: Instant,
        bucket: Bucket,
    ) -> ConditionalResult {
        let update = Expression::update(
            "SET #release_at = :release_at, #bucket = :bucket",
            "#generation = :generation AND #state = :scheduled AND #release_at <= :release_at",
        )
        .with("generation", number(entry.generation.number()))
        .with("release_at", instant(release_at))
        .with("bucket", text(bucket.to_string()));
        self.change(&entry.job_id, update).await
    }
}

/// What every write of a holder names: state, token and generation (rule 2 of the protocol).
const HELD: &str = "#state = :claimed AND #claim_token = :token AND #generation = :generation";

fn with_holder<'a>(
    update: Expression<'a>,
    entry: &PackEntry,
    token: &ClaimToken,
) -> Expression<'a> {
    update.with("generation", number(entry.generation.number())).with("token", text(token.as_str()))
}
