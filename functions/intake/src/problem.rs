//! Problem details: every error answer, with a `type` that stays (R29).

use std::fmt::Display;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use spillway_domain::acceptance::Refusal;
use spillway_domain::job::{Job, State};
use spillway_domain::name::JobId;
use spillway_domain::problem::FieldProblem;

use crate::wire::{JobAnswer, With};

/// How long a caller is asked to wait before it tries again, in seconds.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// The most problems of one answer; an object of nothing but unknown fields would otherwise be
/// answered with more text than a function may answer.
pub(crate) const PROBLEMS_MAX: usize = 32;
/// The most characters that an unknown field's name is shown with.
const NAME_CHARS_SHOWN: usize = 64;

/// What kind of problem it is. Its `type` is a name for programs to compare, not an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    BodyNotUtf8,
    BodyNotJson,
    NotAnObject,
    RequestTooLarge,
    PayloadTooLarge,
    InvalidFields,
    InvalidJobId,
    DuplicateJobId,
    BulkSize,
    InvalidIdempotencyKey,
    IdempotencyKeyReused,
    Conflict,
    TooLate,
    MaybeSent,
    NotFound,
    NoSuchRoute,
    MethodNotAllowed,
    Unavailable,
    Internal,
}

impl Kind {
    const fn status(self) -> StatusCode {
        self.parts().0
    }

    /// Gives the status, the last part of the type, and the title.
    const fn parts(self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as S;
        match self {
            Self::BodyNotUtf8 => (S::BAD_REQUEST, "body-not-utf-8", "The body is not UTF-8"),
            Self::BodyNotJson => (S::BAD_REQUEST, "body-not-json", "The body is not JSON"),
            Self::InvalidIdempotencyKey => {
                (S::BAD_REQUEST, "invalid-idempotency-key", "The idempotency key is not one")
            }
            Self::NotFound => (S::NOT_FOUND, "not-found", "There is no such job"),
            Self::NoSuchRoute => (S::NOT_FOUND, "no-such-route", "There is no such route"),
            Self::MethodNotAllowed => {
                (S::METHOD_NOT_ALLOWED, "method-not-allowed", "The route has no such method")
            }
            Self::Conflict => (S::CONFLICT, "conflict", "Another writer was faster"),
            Self::TooLate => (S::CONFLICT, "too-late", "The job can no longer be changed"),
            Self::MaybeSent => (S::CONFLICT, "maybe-sent", "The job may have been sent"),
            Self::RequestTooLarge => {
                (S::PAYLOAD_TOO_LARGE, "request-too-large", "The body is too large")
            }
            Self::PayloadTooLarge => {
                (S::PAYLOAD_TOO_LARGE, "payload-too-large", "The payload is too large")
            }
            Self::NotAnObject => {
                (S::UNPROCESSABLE_ENTITY, "not-an-object", "The value is not a JSON object")
            }
            Self::InvalidFields => {
                (S::UNPROCESSABLE_ENTITY, "invalid-fields", "Fields are not as they must be")
            }
            Self::InvalidJobId => {
                (S::UNPROCESSABLE_ENTITY, "invalid-job-id", "The job's id is not one")
            }
            Self::DuplicateJobId => {
                (S::UNPROCESSABLE_ENTITY, "duplicate-job-id", "The call names the id twice")
            }
            Self::BulkSize => {
                (S::UNPROCESSABLE_ENTITY, "bulk-size", "The call has too few or too many jobs")
            }
            Self::IdempotencyKeyReused => (
                S::UNPROCESSABLE_ENTITY,
                "idempotency-key-reused",
                "The idempotency key stands for another job",
            ),
            Self::Unavailable => {
                (S::SERVICE_UNAVAILABLE, "unavailable", "The service cannot answer for now")
            }
            Self::Internal => (S::INTERNAL_SERVER_ERROR, "internal", "The service is at fault"),
        }
    }
}

/// One error answer.
#[derive(Debug)]
pub(crate) struct Problem {
    kind: Kind,
    detail: String,
    errors: Vec<FieldProblem>,
    job: Option<Box<Job>>,
    job_id: Option<JobId>,
    allow: Option<&'static str>,
}

impl Problem {
    /// Builds a problem.
    pub(crate) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { kind, detail, errors: Vec::new(), job: None, job_id: None, allow: None }
    }

    /// Builds the problem of fields.
    pub(crate) fn of_fields(kind: Kind, errors: Vec<FieldProblem>) -> Self {
        let detail = match errors.as_slice() {
            [] => String::new(),
            [only] => only.to_string(),
            [first, rest @ ..] => format!("{first}; {} more in errors", rest.len()),
        };
        Self { errors, ..Self::new(kind, detail) }
    }

    /// Builds the problem of an id that cannot be one.
    pub(crate) fn of_job_id(message: String) -> Self {
        Self::of_fields(Kind::InvalidJobId, vec![FieldProblem::new("job_id", message)])
    }

    /// Builds the answer to a known path with another method.
    pub(crate) fn of_method(allow: &'static str) -> Self {
        let detail = format!("the route has {allow}");
        Self { allow: Some(allow), ..Self::new(Kind::MethodNotAllowed, detail) }
    }

    /// Builds the answer to whatever cannot be answered now. `job_id` is the id that the service
    /// chose: the caller can then try again with `PUT`, and makes no second job.
    pub(crate) fn unavailable(job_id: Option<JobId>) -> Self {
        let detail = match job_id {
            None => "it is not known what became of the call; trying again is safe",
            Some(_) => "the job may be stored or not; PUT it under the job_id shown to try again",
        };
        Self { job_id, ..Self::new(Kind::Unavailable, detail) }
    }

    /// Logs a fault of the service's own and tells the caller no more than that.
    pub(crate) fn internal(error: impl Display) -> Self {
        tracing::error!(%error, "a request could not be answered");
        Self::new(Kind::Internal, "the fault is logged")
    }

    /// Builds the answer to a refused submission.
    pub(crate) fn of_refusal(refusal: Refusal) -> Self {
        let (kind, detail, job) = match refusal {
            Refusal::Invalid(errors) => return Self::of_fields(Kind::InvalidFields, errors),
            Refusal::TooLate(job) => return Self::too_late(job),
            Refusal::MaybeSent(job) => {
                let detail = "a send of the waiting job was not answered: it may have arrived, and \
                              other content would share its delivery id";
                (Kind::MaybeSent, detail, job)
            }
            Refusal::KeyReused(job) => {
                (Kind::IdempotencyKeyReused, "the key was used before, for the job shown", job)
            }
            Refusal::Conflict(job) => {
                (Kind::Conflict, "the job shown was stored by another call meanwhile", job)
            }
        };
        Self { job: Some(job), ..Self::new(kind, detail) }
    }

    /// Builds the answer about a job that is claimed or finished.
    pub(crate) fn too_late(job: Box<Job>) -> Self {
        let detail = match job.state {
            State::Claimed => "the job is being sent".to_owned(),
            state => format!("the job is {}", state.as_str()),
        };
        Self { job: Some(job), ..Self::new(Kind::TooLate, detail) }
    }

    /// Takes the stored job out, for answers that show it elsewhere.
    pub(crate) fn take_job(&mut self) -> Option<Box<Job>> {
        self.job.take()
    }

    /// Shows the problem as JSON.
    pub(crate) fn body(&self) -> ProblemBody<'_> {
        let (status, name, title) = self.kind.parts();
        ProblemBody {
            kind: format!("urn:spillway:problem:{name}"),
            title,
            status: status.as_u16(),
            detail: &self.detail,
            errors: self.errors.iter().map(FieldError::of).collect(),
            job_id: self.job_id.as_ref().map(JobId::as_str),
            job: self.job.as_deref().map(|job| JobAnswer::of(job, With::Payload)),
        }
    }
}

/// A problem's JSON.
#[derive(Debug, Serialize)]
pub(crate) struct ProblemBody<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobAnswer<'a>>,
}

#[derive(Debug, Serialize)]
struct FieldError<'a> {
    field: &'a str,
    detail: &'a str,
}

impl<'a> FieldError<'a> {
    fn of(problem: &'a FieldProblem) -> Self {
        Self { field: &problem.field, detail: &problem.message }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // Strings, numbers and JSON text that was read before: writing them does not fail.
        let body = serde_json::to_string(&self.body()).unwrap_or_default();
        let mut response = (self.kind.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, PROBLEM_JSON);
        if self.kind == Kind::Unavailable {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
        if let Some(allow) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        response
    }
}

/// Says that an object has a field that means nothing.
pub(crate) fn unknown_field(name: &str, of: &str) -> FieldProblem {
    let mut shown: String = name.chars().take(NAME_CHARS_SHOWN).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    FieldProblem::new(shown, format!("is not a field of {of}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Kind; 19] = [
        Kind::BodyNotUtf8,
        Kind::BodyNotJson,
        Kind::NotAnObject,
        Kind::RequestTooLarge,
        Kind::PayloadTooLarge,
        Kind::InvalidFields,
        Kind::InvalidJobId,
        Kind::DuplicateJobId,
        Kind::BulkSize,
        Kind::InvalidIdempotencyKey,
        Kind::IdempotencyKeyReused,
        Kind::Conflict,
        Kind::TooLate,
        Kind::MaybeSent,
        Kind::NotFound,
        Kind::NoSuchRoute,
        Kind::MethodNotAllowed,
        Kind::Unavailable,
        Kind::Internal,
    ];

    #[test]
    fn the_documentation_lists_exactly_the_problems_that_there_are() {
        let page = include_str!("../../../docs/http-api.md");
        let (_, table) = page.split_once("| type | status | when |").unwrap();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let mut documented: Vec<_> =
            rows.map(|row| row.splitn(4, '|').skip(1).take(2).collect::<String>()).collect();
        documented.sort_unstable();
        let mut known = ALL.map(|kind| {
            let (status, name, _) = kind.parts();
            format!(" `{name}`  {} ", status.as_u16())
        });
        known.sort_unstable();
        assert_eq!(documented, known);
    }

    #[test]
    fn a_fault_of_the_services_own_tells_the_caller_nothing_of_it() {
        let problem = Problem::internal("secret");
        let body = serde_json::to_string(&problem.body()).unwrap();
        assert!(!body.contains("secret"), "{body}");
        assert_eq!(problem.into_response().status(), 500);
    }
}
