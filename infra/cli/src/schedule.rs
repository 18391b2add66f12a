//! Scheduling jobs through the HTTP API, in bulk calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spillway_domain::time::Instant;

/// The most jobs of one call.
pub const BULK_JOBS_MAX: usize = 500;

/// How often a call is made in all when its answer is that trying again may help.
const TRIES: u32 = 5;
const WAIT_BETWEEN_TRIES: Duration = Duration::from_millis(500);
/// Longer than the intake function may run.
const CALL_TIMEOUT: Duration = Duration::from_secs(40);

/// A job as it is asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobRequest {
    /// Its id.
    pub job_id: String,
    /// Its class; none makes it exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// When it is to be delivered.
    #[serde(serialize_with = "as_rfc_3339")]
    pub requested_at: Instant,
    /// Where to.
    pub channel: String,
    /// The window before `requested_at`, in place of the class's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_seconds: Option<u32>,
    /// The window after it, in place of the class's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_seconds: Option<u32>,
    /// What is delivered.
    pub payload: Value,
}

/// The times of a job that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// It may not leave before this.
    pub earliest_at: Instant,
    /// When it is to leave.
    pub due_at: Instant,
    /// When its acceptance had been answered, by the clock of this machine.
    pub answered_at: Instant,
}

/// The answer to one job: its times, or why it was not accepted.
pub type Answer = Result<Times, String>;

/// The HTTP API of a stack.
#[derive(Clone, Debug)]
pub struct Api {
    agent: ureq::Agent,
    jobs_url: String,
}

impl Api {
    /// Reaches the API at `url`.
    pub fn new(url: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(CALL_TIMEOUT))
            .http_status_as_error(false)
            // The stack runs on this machine; a proxy does not know it.
            .proxy(None)
            .build();
        Self { agent: config.into(), jobs_url: format!("{url}/v1/jobs") }
    }

    /// Schedules jobs, in calls of at most [`BULK_JOBS_MAX`], and answers for each, in order. What
    /// is unavailable is tried again, which is safe. Blocks; `now` reads the clock.
    pub fn schedule(&self, jobs: &[JobRequest], now: impl Fn() -> Instant) -> Vec<Answer> {
        jobs.chunks(BULK_JOBS_MAX).flat_map(|chunk| self.schedule_chunk(chunk, &now)).collect()
    }

    /// Reads what has become of a job, in words; or why that cannot be told. Blocks.
    pub fn whereabouts(&self, job_id: &str) -> String {
        let call = self.agent.get(format!("{}/{job_id}", self.jobs_url)).call();
        let read = call.and_then(|mut response| {
            let status = response.status().as_u16();
            response.body_mut().read_json::<JobState>().map(|job| (status, job))
        });
        match read {
            Ok((_, JobState { state: Some(state), attempts, reason })) => {
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                format!("{state} after {} attempts{reason}", attempts.unwrap_or(0))
            }
            Ok((status, _)) => format!("status {status}"),
            Err(error) => error.to_string(),
        }
    }

    fn schedule_chunk(&self, jobs: &[JobRequest], now: &impl Fn() -> Instant) -> Vec<Answer> {
        let mut tries_left = TRIES;
        loop {
            tries_left -= 1;
            let answers = self.call(jobs, now);
            let may_help = answers.iter().any(|answer| matches!(answer, Err(e) if e.may_help));
            if !may_help || tries_left == 0 {
                return answers.into_iter().map(|it| it.map_err(|e| e.reason)).collect();
            }
            std::thread::sleep(WAIT_BETWEEN_TRIES);
        }
    }

    fn call(&self, jobs: &[JobRequest], now: &impl Fn() -> Instant) -> Vec<Result<Times, Refused>> {
        match self.post(jobs) {
            Ok(results) => {
                let answered_at = now();
                let mut results = results.into_iter();
                let answer = |_| match results.next() {
                    Some(result) => result.answer(answered_at),
                    None => Err(Refused::for_good("the answer is too short")),
                };
                jobs.iter().map(answer).collect()
            }
            Err(refused) => jobs.iter().map(|_| Err(refused.clone())).collect(),
        }
    }

    fn post(&self, jobs: &[JobRequest]) -> Result<Vec<BulkResult>, Refused> {
        let sent = self.agent.post(&self.jobs_url).send_json(Bulk { jobs });
        let mut response = sent.map_err(|error| Refused::for_now(error.to_string()))?;
        let status = response.status();
        if status.is_success() {
            let read = response.body_mut().read_json::<BulkAnswer>();
            return match read {
                Ok(answer) => Ok(answer.results),
                Err(error) => Err(Refused::for_good(format!("an odd answer: {error}"))),
            };
        }
        let body = response.body_mut().read_to_string().unwrap_or_default();
        let reason = format!("status {}: {}", status.as_u16(), body.trim());
        let may_help = status.as_u16() == 429 || status.is_server_error();
        Err(Refused { reason, may_help })
    }
}

#[derive(Clone, Debug)]
struct Refused {
    reason: String,
    /// Trying again may help.
    may_help: bool,
}

impl Refused {
    fn for_now(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), may_help: true }
    }

    fn for_good(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), may_help: false }
    }
}

#[derive(Serialize)]
struct Bulk<'j> {
    jobs: &'j [JobRequest],
}

#[derive(Deserialize)]
struct BulkAnswer {
    results: Vec<BulkResult>,
}

#[derive(Deserialize)]
struct BulkResult {
    status: String,
    job: Option<JobAnswer>,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
struct JobAnswer {
    earliest_at: String,
    due_at: String,
}

#[derive(Deserialize)]
struct JobState {
    state: Option<String>,
    attempts: Option<u32>,
    reason: Option<String>,
}

impl BulkResult {
    fn answer(self, answered_at: Instant) -> Result<Times, Refused> {
        let is_accepted = matches!(self.status.as_str(), "created" | "unchanged" | "rescheduled");
        let reason = format!("{}: {}", self.status, self.error);
        match self.job {
            Some(job) if is_accepted => {
                let times = instant(&job.earliest_at).zip(instant(&job.due_at));
                let (earliest_at, due_at) =
                    times.ok_or_else(|| Refused::for_good("its times cannot be read"))?;
                Ok(Times { earliest_at, due_at, answered_at })
            }
            _ => Err(Refused { reason, may_help: self.status == "unavailable" }),
        }
    }
}

/// Reads an instant of RFC 3339.
pub(crate) fn instant(text: &str) -> Option<Instant> {
    let timestamp: jiff::Timestamp = text.parse().ok()?;
    Some(Instant::from_millis(timestamp.as_millisecond()))
}

/// Writes an instant as RFC 3339 in UTC; one beyond the year 9999 as the epoch.
pub(crate) fn rfc_3339(at: Instant) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default().to_string()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn as_rfc_3339<S: serde::Serializer>(at: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc_3339(*at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Instant = Instant::from_millis(0);

    fn answer(result: Value) -> Result<Times, Refused> {
        serde_json::from_value::<BulkResult>(result).unwrap().answer(NOW)
    }

    #[test]
    fn a_job_that_was_accepted_has_its_times() {
        let job =
            json!({"earliest_at": "1970-01-01T00:00:01Z", "due_at": "1970-01-01T00:00:02.5Z"});
        for status in ["created", "unchanged", "rescheduled"] {
            let times = answer(json!({"job_id": "a", "status": status, "job": job})).unwrap();
            assert_eq!(times.earliest_at, Instant::from_millis(1_000));
            assert_eq!(times.due_at, Instant::from_millis(2_500));
        }
    }

    #[test]
    fn a_job_that_is_unavailable_is_tried_again_and_a_rejected_one_is_not() {
        let unavailable = answer(json!({"job_id": "a", "status": "unavailable"})).unwrap_err();
        assert!(unavailable.may_help);
        let error = json!({"type": "invalid"});
        let rejected = json!({"job_id": "a", "status": "rejected", "error": error});
        let rejected = answer(rejected).unwrap_err();
        assert!(!rejected.may_help);
        assert_eq!(rejected.reason, "rejected: {\"type\":\"invalid\"}");
    }

    #[test]
    fn a_request_leaves_out_what_it_does_not_ask() {
        let request = JobRequest {
            job_id: "a".to_owned(),
            class: None,
            requested_at: Instant::from_millis(1_500),
            channel: "inbox".to_owned(),
            early_seconds: None,
            late_seconds: Some(60),
            payload: Value::Null,
        };
        let expected = json!({
            "job_id": "a",
            "requested_at": "1970-01-01T00:00:01.5Z",
            "channel": "inbox",
            "late_seconds": 60,
            "payload": null,
        });
        assert_eq!(serde_json::to_value(request).unwrap(), expected);
    }
}
