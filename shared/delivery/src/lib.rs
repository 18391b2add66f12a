//! What every channel gets of a job, as JSON (R21).

#![deny(missing_docs)]

use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use spillway_app::ports::Delivery;
use spillway_domain::name::{ClassName, JobId};
use spillway_domain::time::Instant;

#[derive(Serialize)]
struct Body<'a> {
    job_id: &'a str,
    delivery_id: String,
    requested_at: String,
    due_at: String,
    sent_at: String,
    class: Option<&'a str>,
    attempt: u32,
    payload: &'a RawValue,
}

/// Writes the body of a delivery: instants in RFC 3339, UTC, to the millisecond, the payload as it
/// is stored.
///
/// # Errors
/// When the payload is no JSON.
pub fn body(delivery: &Delivery) -> Result<String, serde_json::Error> {
    let payload = serde_json::from_str(delivery.payload.as_json())?;
    Ok(to_json(&Body {
        job_id: delivery.job_id.as_str(),
        delivery_id: delivery_id(&delivery.job_id, delivery.created_at),
        requested_at: rfc_3339(delivery.requested_at),
        due_at: rfc_3339(delivery.due_at),
        sent_at: rfc_3339(delivery.sent_at),
        class: delivery.class.as_ref().map(ClassName::as_str),
        attempt: delivery.attempt,
        payload,
    }))
}

/// Gives the id that a channel can tell doubles by, the same over all attempts of a job: SHA-256
/// in lower-case hex of the job's id, a newline, and the creation in decimal milliseconds.
///
/// ```
/// use spillway_delivery::delivery_id;
/// use spillway_domain::{name::JobId, time::Instant};
/// let id = delivery_id(&JobId::new("a").unwrap(), Instant::from_millis(5));
/// assert_eq!(id, "174cb05550857e9518dbc4d5112ad5370c3c023b93cf126170e66d5e9bcaa11a");
/// ```
pub fn delivery_id(job_id: &JobId, created_at: Instant) -> String {
    let digest = Sha256::digest(format!("{job_id}\n{}", created_at.as_millis()));
    let nibbles = digest.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    nibbles.filter_map(|nibble| char::from_digit(nibble.into(), 16)).collect()
}

/// Writes an instant as `2026-12-01T09:00:00.000Z`. What lies beyond the year 9999 is written as
/// its last instant; no job can ask for it.
pub fn rfc_3339(at: Instant) -> String {
    let timestamp = Timestamp::from_millisecond(at.as_millis()).unwrap_or(Timestamp::MAX);
    format!("{timestamp:.3}")
}

/// Writes JSON that every SQS message may hold. U+FFFE and U+FFFF are legal in JSON, and so in a
/// job's id, but SQS refuses a message that holds one; both stand only inside strings, where they
/// can be written as escapes.
///
/// # Panics
/// For what is no JSON, such as a map whose keys are no strings; a delivery and a message are.
#[expect(clippy::expect_used, reason = "structs of strings and numbers are always JSON")]
pub fn to_json<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).expect("a value that is JSON");
    if json.contains(['\u{fffe}', '\u{ffff}']) {
        json.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")
    } else {
        json
    }
}
