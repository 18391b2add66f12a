//! The stored form of a message: what travels in the queues.
//!
//! ```json
//! {"kind":"release","release_at":1796115600000,"channel":"inbox","lane":"exact","hops":0,
//!  "jobs":[["birthday:42",1796100000123]]}
//! {"kind":"record","job_id":"birthday:42","generation":1796100000123,"attempts":1,
//!  "sent_at":1796115600003,"delivered_at":1796115600021,"ttl_at":1796720400000}
//! ```
//!
//! Instants are milliseconds since the epoch.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use spillway_app::ports::{DeadLetter, QueueMessage};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::job::Generation;
use spillway_domain::name::{ChannelName, ClassName, JobId};
use spillway_domain::pack::{Pack, PackEntry, PackKey};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

/// Says why a message's body is none of ours.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// It is not JSON, or of no known kind, or a field is missing or of another type.
    #[error("the message is of no known kind and shape")]
    Shape(#[source] serde_json::Error),
    /// A field holds what it cannot.
    #[error("{field} of the message {problem}")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Body<'a> {
    Release {
        release_at: i64,
        #[serde(borrow)]
        channel: Cow<'a, str>,
        #[serde(borrow)]
        lane: Cow<'a, str>,
        hops: u32,
        #[serde(borrow)]
        jobs: Vec<(Cow<'a, str>, i64)>,
    },
    Record {
        #[serde(borrow)]
        job_id: Cow<'a, str>,
        generation: i64,
        attempts: u32,
        sent_at: i64,
        delivered_at: i64,
        ttl_at: i64,
    },
}

/// Writes a message's body.
pub fn to_json(message: &QueueMessage) -> String {
    let body = match message {
        QueueMessage::Release(pack) => release_body(pack),
        QueueMessage::Record(record) => Body::Record {
            job_id: record.job_id.as_str().into(),
            generation: record.generation.number(),
            attempts: record.attempts,
            sent_at: record.sent_at.as_millis(),
            delivered_at: record.delivered_at.as_millis(),
            ttl_at: record.ttl_at.as_millis(),
        },
    };
    spillway_delivery::to_json(&body)
}

fn release_body(pack: &Pack) -> Body<'_> {
    let entries = pack.entries.iter();
    Body::Release {
        release_at: pack.key.release_at.as_millis(),
        channel: pack.key.channel.as_str().into(),
        lane: pack.key.lane.as_str().into(),
        hops: pack.hops,
        jobs: entries.map(|it| (it.job_id.as_str().into(), it.generation.number())).collect(),
    }
}

/// Reads a message's body.
pub fn from_json(body: &str) -> Result<QueueMessage, MessageError> {
    match serde_json::from_str(body).map_err(MessageError::Shape)? {
        Body::Release { release_at, channel, lane, hops, jobs } => {
            let key = PackKey {
                release_at: Instant::from_millis(release_at),
                channel: field("channel", ChannelName::new(channel))?,
                lane: field("lane", Lane::parse(&lane).ok_or("names no lane"))?,
            };
            let entries = jobs.into_iter().map(entry).collect::<Result<_, _>>()?;
            Ok(QueueMessage::Release(Pack { key, hops, entries }))
        }
        Body::Record { job_id, generation, attempts, sent_at, delivered_at, ttl_at } => {
            Ok(QueueMessage::Record(DeliveryRecord {
                job_id: field("job_id", JobId::new(job_id))?,
                generation: Generation::from_number(generation),
                attempts,
                sent_at: Instant::from_millis(sent_at),
                delivered_at: Instant::from_millis(delivered_at),
                ttl_at: Instant::from_millis(ttl_at),
            }))
        }
    }
}

fn entry((id, generation): (Cow<'_, str>, i64)) -> Result<PackEntry, MessageError> {
    let job_id = field("jobs", JobId::new(id))?;
    Ok(PackEntry { job_id, generation: Generation::from_number(generation) })
}

fn field<T, E: ToString>(field: &'static str, value: Result<T, E>) -> Result<T, MessageError> {
    value.map_err(|problem| MessageError::Field { field, problem: problem.to_string() })
}

#[derive(Serialize, Deserialize)]
struct DeadLetterBody<'a> {
    #[serde(borrow)]
    job_id: Cow<'a, str>,
    generation: i64,
    #[serde(borrow)]
    channel: Cow<'a, str>,
    #[serde(borrow)]
    class: Option<Cow<'a, str>>,
    attempts: u32,
    #[serde(borrow)]
    reason: Cow<'a, str>,
    failed_at: i64,
}

/// Writes a dead-letter entry's body.
pub fn dead_letter_to_json(letter: &DeadLetter) -> String {
    let body = DeadLetterBody {
        job_id: letter.job_id.as_str().into(),
        generation: letter.generation.number(),
        channel: letter.channel.as_str().into(),
        class: letter.class.as_ref().map(|class| class.as_str().into()),
        attempts: letter.attempts,
        reason: letter.reason.as_str().into(),
        failed_at: letter.failed_at.as_millis(),
    };
    spillway_delivery::to_json(&body)
}

/// Reads a dead-letter entry's body.
pub fn dead_letter_from_json(body: &str) -> Result<DeadLetter, MessageError> {
    let body: DeadLetterBody<'_> = serde_json::from_str(body).map_err(MessageError::Shape)?;
    Ok(DeadLetter {
        job_id: field("job_id", JobId::new(body.job_id))?,
        generation: Generation::from_number(body.generation),
        channel: field("channel", ChannelName::new(body.channel))?,
        class: body.class.map(|class| field("class", ClassName::new(class))).transpose()?,
        attempts: body.attempts,
        reason: body.reason.into_owned(),
        failed_at: Instant::from_millis(body.failed_at),
    })
}
