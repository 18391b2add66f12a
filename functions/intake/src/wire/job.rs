//! A job as it is answered.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use spillway_domain::job::Job;
use spillway_domain::name::ClassName;

use super::instant::written;

/// Whether an answer shows the payload: a bulk call's does not, it could exceed what a function may
/// answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum With {
    /// As stored.
    Payload,
    /// Everything else.
    NoPayload,
}

/// A job with its times, state, attempts and lateness.
#[derive(Debug, Serialize)]
pub(crate) struct JobAnswer<'a> {
    job_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    state: &'static str,
    requested_at: String,
    earliest_at: String,
    due_at: String,
    latest_at: String,
    release_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    class: Option<&'a str>,
    channel: &'a str,
    early_seconds: u32,
    late_seconds: u32,
    priority: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_after_seconds: Option<u32>,
    lateness_budget_seconds: u32,
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    maybe_sent: Option<bool>,
    created_at: String,
    accepted_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    redriven_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lateness_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a RawValue>,
}

impl<'a> JobAnswer<'a> {
    /// Shows a stored job.
    pub(crate) fn of(job: &'a Job, with: With) -> Self {
        let times = job.times();
        let payload = || serde_json::from_str(job.spec.payload.as_json()).ok();
        Self {
            job_id: job.id.as_str(),
            status: None,
            state: job.state.as_str(),
            requested_at: written(job.spec.requested_at),
            earliest_at: written(times.earliest_at),
            due_at: written(job.due_at),
            latest_at: written(times.latest_at),
            release_at: written(job.release_at),
            expires_at: job.expires_at.map(written),
            class: job.spec.class.as_ref().map(ClassName::as_str),
            channel: job.spec.channel.as_str(),
            early_seconds: job.contract.early_seconds,
            late_seconds: job.contract.late_seconds,
            priority: job.contract.priority,
            expires_after_seconds: job.contract.expires_after_seconds,
            lateness_budget_seconds: job.contract.lateness_budget_seconds,
            attempts: job.attempts,
            maybe_sent: job.maybe_sent.then_some(true),
            created_at: written(job.created_at),
            accepted_at: written(job.accepted_at),
            redriven_at: job.redriven_at.map(written),
            sent_at: job.sent_at.map(written),
            delivered_at: job.delivered_at.map(written),
            finished_at: job.finished_at.map(written),
            lateness_seconds: job.lateness_millis().map(seconds),
            reason: job.reason.as_deref(),
            payload: if with == With::Payload { payload() } else { None },
        }
    }

    /// Says what the call changed.
    pub(crate) fn with_status(self, status: Option<&'static str>) -> Self {
        Self { status, ..self }
    }
}

fn seconds(millis: i64) -> f64 {
    let seconds = Duration::from_millis(millis.unsigned_abs()).as_secs_f64();
    if millis < 0 { -seconds } else { seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lateness_keeps_its_milliseconds_and_its_sign() {
        let texts = [12, -1_250, 0, 3_600_001]
            .map(|millis| serde_json::to_string(&seconds(millis)).unwrap());
        assert_eq!(texts, ["0.012", "-1.25", "0.0", "3600.001"]);
    }
}
