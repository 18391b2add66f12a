//! One function a route: read the request, call the use case, write the answer.

use std::sync::Arc;

use axum::Extension;
use axum::body::{self, Body};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use spillway_app::accept_jobs::{Answer, Change};
use spillway_app::cancel_job::{CancelAnswer, cancel_job};
use spillway_app::ports::{Intake, PortError};
use spillway_domain::acceptance::OnDifference;
use spillway_domain::job::Job;
use spillway_domain::name::JobId;

use crate::bulk;
use crate::gateway::Call;
use crate::problem::{Kind, Problem};
use crate::router::{IntakeState, JOBS, Ports};
use crate::submission::submission;
use crate::tally::Tally;
use crate::wire::{Draft, IdempotencyKey, JobAnswer, With, body_json, checked_id, members};

/// The most bytes of a body, decoded: 4 MiB (R8).
const BODY_BYTES_MAX: usize = 4_194_304;

/// A handler's answer.
pub(crate) type Handled = Result<Response, Problem>;

/// `PUT /v1/jobs/{job_id}`: schedules a job under the caller's id.
pub(crate) async fn put_job<P: Ports>(
    State(state): State<Arc<IntakeState<P>>>,
    Extension(call): Extension<Call>,
    body: Body,
) -> Handled {
    let id = job_id(&call)?;
    let body = body_bytes(body).await?;
    let members = members(body_json(&body)?, "the body")?;
    let (now, settings) = state.now().await?;
    let spec = Draft::read(&members, false).into_spec(&settings.policy, now)?;
    let submission = submission(&settings.policy, id, spec, OnDifference::Reschedule);
    let answer = state.accept_one(&settings, now, submission).await;
    Ok(single(answer, None))
}

/// `POST /v1/jobs`: schedules one job under an id of the service's, or up to 500 jobs.
pub(crate) async fn post_jobs<P: Ports>(
    State(state): State<Arc<IntakeState<P>>>,
    headers: HeaderMap,
    body: Body,
) -> Handled {
    let key = IdempotencyKey::read(&headers)?;
    let body = body_bytes(body).await?;
    let members = members(body_json(&body)?, "the body")?;
    let (now, settings) = state.now().await?;
    if members.value("jobs").is_some() {
        return bulk::post_bulk(&state, &settings, now, &members, key.as_ref()).await;
    }
    let spec = Draft::read(&members, false).into_spec(&settings.policy, now)?;
    let (id, new_id) = match key {
        Some(key) => (key.job_id()?, None),
        None => state.new_id().map(|id| (id.clone(), Some(id)))?,
    };
    let submission = submission(&settings.policy, id, spec, OnDifference::Refuse);
    let answer = state.accept_one(&settings, now, submission).await;
    Ok(single(answer, new_id))
}

/// `GET /v1/jobs/{job_id}`: shows a job.
pub(crate) async fn get_job<P: Ports>(
    State(state): State<Arc<IntakeState<P>>>,
    Extension(call): Extension<Call>,
) -> Handled {
    let id = job_id(&call)?;
    match state.jobs.read(&id).await {
        Ok(Some(job)) => Ok(shown(StatusCode::OK, &job, None)),
        Ok(None) => Err(unknown(&id)),
        Err(error) => {
            match error {
                PortError::Transient(_) => tracing::debug!(%id, ?error, "a job was not read"),
                PortError::Permanent(_) => tracing::error!(%id, ?error, "a job was not read"),
            }
            Err(Problem::unavailable(None))
        }
    }
}

/// `DELETE /v1/jobs/{job_id}`: cancels a job.
pub(crate) async fn delete_job<P: Ports>(
    State(state): State<Arc<IntakeState<P>>>,
    Extension(call): Extension<Call>,
) -> Handled {
    let id = job_id(&call)?;
    let cancelling = cancel_job(&state.jobs, &state.clock, &id, state.retention_seconds);
    match state.in_time(cancelling).await? {
        CancelAnswer::Cancelled(job) => {
            Ok(Tally::of_cancel().onto(shown(StatusCode::OK, &job, None)))
        }
        CancelAnswer::TooLate(job) => Err(Problem::too_late(job)),
        CancelAnswer::Unknown => Err(unknown(&id)),
        CancelAnswer::Unavailable => Err(Problem::unavailable(None)),
    }
}

/// Whatever the gateway found no route for.
pub(crate) async fn no_route(method: Method, Extension(call): Extension<Call>) -> Problem {
    let one_job = || call.path.strip_prefix(JOBS)?.strip_prefix('/');
    let allow = if call.path == JOBS {
        Some("POST")
    } else if one_job().is_some_and(|id| !id.is_empty() && !id.contains('/')) {
        Some("DELETE, GET, PUT")
    } else {
        None
    };
    match allow {
        Some(allow) if !allow.split(", ").any(|one| one == method) => Problem::of_method(allow),
        _ => Problem::new(Kind::NoSuchRoute, "see docs/http-api.md for the routes"),
    }
}

/// Answers a call about one job. `new_id` is the id that the service has just chosen for it.
fn single(answer: Answer, new_id: Option<JobId>) -> Response {
    let tally = Tally::of([&answer]);
    let answered: Handled = match answer {
        Answer::Accepted(change, job) => {
            // An id that nobody had before this call can only be unchanged by the call itself,
            // whose first answer was lost.
            let change = if new_id.is_some() { Change::Created } else { change };
            Ok(shown(status(change), &job, Some(name(change))))
        }
        Answer::Refused(refusal) => Err(Problem::of_refusal(refusal)),
        Answer::Unavailable => Err(Problem::unavailable(new_id)),
    };
    tally.onto(answered.into_response())
}

/// Names what a write changed, as it is answered.
pub(crate) const fn name(change: Change) -> &'static str {
    match change {
        Change::Created => "created",
        Change::Unchanged => "unchanged",
        Change::Rescheduled => "rescheduled",
    }
}

const fn status(change: Change) -> StatusCode {
    match change {
        Change::Created => StatusCode::CREATED,
        Change::Unchanged | Change::Rescheduled => StatusCode::OK,
    }
}

fn shown(status: StatusCode, job: &Job, change: Option<&'static str>) -> Response {
    json(status, &JobAnswer::of(job, With::Payload).with_status(change))
}

fn unknown(id: &JobId) -> Problem {
    Problem::new(Kind::NotFound, format!("no job has the id {id}"))
}

/// Writes a JSON answer.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => {
            let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            (status, [json], text).into_response()
        }
        Err(error) => Problem::internal(error).into_response(),
    }
}

fn job_id(call: &Call) -> Result<JobId, Problem> {
    checked_id(call.job_id.as_deref().unwrap_or_default()).map_err(Problem::of_job_id)
}

async fn body_bytes(body: Body) -> Result<body::Bytes, Problem> {
    body::to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| {
        // The body is in memory: that it is too long is all that can be wrong.
        let detail = format!("the body must have at most {BODY_BYTES_MAX} bytes");
        Problem::new(Kind::RequestTooLarge, detail)
    })
}
