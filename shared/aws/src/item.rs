//! The stored form of a job: its row in the jobs table.

use spillway_domain::bucket::Bucket;
use spillway_domain::job::{Claim, ClaimToken, Generation, Job, State};
use spillway_domain::name::{ChannelName, ClassName, JobId};
use spillway_domain::pack::{DueJob, PackEntry, PackKey};
use spillway_domain::precision::{Contract, Lane};
use spillway_domain::spec::{JobSpec, Overrides, Payload};

pub use crate::attributes::{Item, ItemError};
use crate::attributes::{ItemReader, ItemWriter, instant, number, text};
use crate::schema::job as name;
use aws_sdk_dynamodb::types::AttributeValue;

/// Writes a job's row. A row begins without a TTL; the write that finishes the job sets it.
pub fn to_item(job: &Job) -> Item {
    let row = ItemWriter::default()
        .put(name::JOB_ID, text(job.id.as_str()))
        .put(name::GENERATION, number(job.generation.number()))
        .put(name::STATE, text(job.state.as_str()))
        .put(name::DUE_AT, instant(job.due_at))
        .put(name::RELEASE_AT, instant(job.release_at))
        .put_some(name::BUCKET, job.bucket.map(|bucket| text(bucket.to_string())))
        .put_some(name::EXPIRES_AT, job.expires_at.map(instant))
        .put(name::LATEST_AT, instant(job.times().latest_at))
        .put(name::LATEST_AT_MAX, instant(job.latest_at_max))
        .put(name::ATTEMPTS, number(job.attempts))
        .put_some(name::MAYBE_SENT, job.maybe_sent.then_some(AttributeValue::Bool(true)))
        .put_some(name::CLAIM_TOKEN, job.claim.as_ref().map(|claim| text(claim.token.as_str())))
        .put_some(name::CLAIM_UNTIL, job.claim.as_ref().map(|claim| instant(claim.until)))
        .put(name::CREATED_AT, instant(job.created_at))
        .put(name::ACCEPTED_AT, instant(job.accepted_at))
        .put_some(name::SENT_AT, job.sent_at.map(instant))
        .put_some(name::DELIVERED_AT, job.delivered_at.map(instant))
        .put_some(name::FINISHED_AT, job.finished_at.map(instant))
        .put_some(name::REASON, job.reason.as_deref().map(text))
        .put_some(name::REDRIVEN_AT, job.redriven_at.map(instant))
        .put_some(name::RENDERED, job.rendered.as_ref().map(|payload| text(payload.as_json())));
    with_contract(with_spec(row, &job.spec), &job.contract).finish()
}

fn with_spec(row: ItemWriter, spec: &JobSpec) -> ItemWriter {
    let asked = asked_map(&spec.overrides);
    row.put(name::REQUESTED_AT, instant(spec.requested_at))
        .put(name::CHANNEL, text(spec.channel.as_str()))
        .put_some(name::CLASS, spec.class.as_ref().map(|class| text(class.as_str())))
        .put_some(name::ASKED, (!asked.is_empty()).then_some(AttributeValue::M(asked)))
        .put(name::PAYLOAD, text(spec.payload.as_json()))
}

fn asked_map(overrides: &Overrides) -> Item {
    ItemWriter::default()
        .put_some(name::EARLY_SECONDS, overrides.early_seconds.map(number))
        .put_some(name::LATE_SECONDS, overrides.late_seconds.map(number))
        .put_some(name::PRIORITY, overrides.priority.map(number))
        .put_some(name::EXPIRES_AFTER_SECONDS, overrides.expires_after_seconds.map(number))
        .finish()
}

fn with_contract(row: ItemWriter, contract: &Contract) -> ItemWriter {
    row.put(name::EARLY_SECONDS, number(contract.early_seconds))
        .put(name::LATE_SECONDS, number(contract.late_seconds))
        .put(name::PRIORITY, number(contract.priority))
        .put_some(name::EXPIRES_AFTER_SECONDS, contract.expires_after_seconds.map(number))
        .put(name::LATENESS_BUDGET_SECONDS, number(contract.lateness_budget_seconds))
        .put(name::LANE, text(contract.lane().as_str()))
}

/// Reads a job's row. What follows from the rest, `lane` and `latest_at`, is worked out again.
pub fn from_item(item: Item) -> Result<Job, ItemError> {
    let mut row = ItemReader::new(item);
    Ok(Job {
        id: row.parsed(name::JOB_ID, JobId::new)?,
        generation: generation(&mut row)?,
        state: row.parsed(name::STATE, |text| State::parse(&text).ok_or("names no state"))?,
        spec: spec(&mut row)?,
        rendered: row.optional_parsed(name::RENDERED, Payload::from_canonical_json)?,
        contract: contract(&mut row)?,
        due_at: row.instant(name::DUE_AT)?,
        release_at: row.instant(name::RELEASE_AT)?,
        bucket: bucket(&mut row)?,
        expires_at: row.optional_instant(name::EXPIRES_AT)?,
        latest_at_max: row.instant(name::LATEST_AT_MAX)?,
        attempts: row.number(name::ATTEMPTS)?,
        maybe_sent: row.flag(name::MAYBE_SENT)?,
        claim: claim(&mut row)?,
        created_at: row.instant(name::CREATED_AT)?,
        accepted_at: row.instant(name::ACCEPTED_AT)?,
        sent_at: row.optional_instant(name::SENT_AT)?,
        delivered_at: row.optional_instant(name::DELIVERED_AT)?,
        finished_at: row.optional_instant(name::FINISHED_AT)?,
        reason: row.optional_text(name::REASON)?,
        redriven_at: row.optional_instant(name::REDRIVEN_AT)?,
    })
}

fn generation(row: &mut ItemReader) -> Result<Generation, ItemError> {
    row.number(name::GENERATION).map(Generation::from_number)
}

fn spec(row: &mut ItemReader) -> Result<JobSpec, ItemError> {
    let mut asked = ItemReader::new(row.map(name::ASKED)?);
    Ok(JobSpec {
        requested_at: row.instant(name::REQUESTED_AT)?,
        channel: row.parsed(name::CHANNEL, ChannelName::new)?,
        class: row.optional_parsed(name::CLASS, ClassName::new)?,
        overrides: Overrides {
            early_seconds: asked.optional_number(name::EARLY_SECONDS)?,
            late_seconds: asked.optional_number(name::LATE_SECONDS)?,
            priority: asked.optional_number(name::PRIORITY)?,
            expires_after_seconds: asked.optional_number(name::EXPIRES_AFTER_SECONDS)?,
        },
        payload: row.parsed(name::PAYLOAD, Payload::from_canonical_json)?,
    })
}

fn contract(row: &mut ItemReader) -> Result<Contract, ItemError> {
    Ok(Contract {
        early_seconds: row.number(name::EARLY_SECONDS)?,
        late_seconds: row.number(name::LATE_SECONDS)?,
        priority: row.number(name::PRIORITY)?,
        expires_after_seconds: row.optional_number(name::EXPIRES_AFTER_SECONDS)?,
        lateness_budget_seconds: row.number(name::LATENESS_BUDGET_SECONDS)?,
    })
}

fn bucket(row: &mut ItemReader) -> Result<Option<Bucket>, ItemError> {
    row.optional_parsed(name::BUCKET, |key| Bucket::parse(&key).ok_or("is no key of a bucket"))
}

fn claim(row: &mut ItemReader) -> Result<Option<Claim>, ItemError> {
    let token = row.optional_text(name::CLAIM_TOKEN)?.map(ClaimToken::from_text);
    match (token, row.optional_instant(name::CLAIM_UNTIL)?) {
        (Some(token), Some(until)) => Ok(Some(Claim { token, until })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(ItemError::new(name::CLAIM_UNTIL, "is missing beside its token")),
        (None, Some(_)) => Err(ItemError::new(name::CLAIM_TOKEN, "is missing beside its end")),
    }
}

/// The attributes that [`due_job`] reads.
pub(crate) const DUE_JOB_ATTRIBUTES: [&str; 7] = [
    name::JOB_ID,
    name::GENERATION,
    name::RELEASE_AT,
    name::CHANNEL,
    name::LANE,
    name::CLASS,
    name::PRIORITY,
];

/// Reads a job as the due-minute index has it.
pub(crate) fn due_job(item: Item) -> Result<DueJob, ItemError> {
    let mut row = ItemReader::new(item);
    Ok(DueJob {
        key: PackKey {
            release_at: row.instant(name::RELEASE_AT)?,
            channel: row.parsed(name::CHANNEL, ChannelName::new)?,
            lane: row.parsed(name::LANE, |text| Lane::parse(&text).ok_or("names no lane"))?,
        },
        entry: PackEntry {
            job_id: row.parsed(name::JOB_ID, JobId::new)?,
            generation: generation(&mut row)?,
        },
        class: row.optional_parsed(name::CLASS, ClassName::new)?,
        priority: row.number(name::PRIORITY)?,
    })
}
