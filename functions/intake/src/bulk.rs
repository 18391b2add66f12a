//! A call with many jobs: each entry has its own result, and a bad one never spoils the rest (R8).

use std::collections::HashSet;

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;
use spillway_app::accept_jobs::Answer;
use spillway_app::settings::Settings;
use spillway_domain::acceptance::{OnDifference, Submission};
use spillway_domain::job::Job;
use spillway_domain::name::JobId;
use spillway_domain::problem::FieldProblem;
use spillway_domain::time::Instant;

use crate::handler::{Handled, json, name};
use crate::problem::{Kind, PROBLEMS_MAX, Problem, ProblemBody, unknown_field};
use crate::router::{IntakeState, Ports};
use crate::submission::submission;
use crate::tally::Tally;
use crate::wire::{Draft, IdempotencyKey, JobAnswer, Members, With, members};

/// The most jobs of one call (R8).
const JOBS_MAX: usize = 500;

/// Schedules the jobs of a bulk call.
pub(crate) async fn post_bulk<P: Ports>(
    state: &IntakeState<P>,
    settings: &Settings,
    now: Instant,
    members: &Members<'_>,
    key: Option<&IdempotencyKey>,
) -> Handled {
    let entries = entries(members)?;
    let mut reader = Reader { state, settings, now, key, seen: HashSet::new() };
    let mut submissions = Vec::new();
    let mut results = Vec::new();
    for (position, entry) in entries.into_iter().enumerate() {
        let (job_id, read) = reader.read(position, entry);
        results.push(match read {
            Ok(submission) => {
                submissions.push(submission);
                None
            }
            Err(problem) => Some(Settled::rejected(job_id, problem)),
        });
    }
    let rejected_count = results.iter().flatten().map(|_| 1).sum();
    let ids: Vec<_> = submissions.iter().map(|submission| submission.id.clone()).collect();
    let answers = state.accept(settings, now, submissions).await;
    let tally = Tally::of(&answers).with_rejected(rejected_count);
    let mut answered = ids.into_iter().zip(answers).map(|(id, answer)| Settled::of(&id, answer));
    let results: Vec<_> =
        results.into_iter().filter_map(|result| result.or_else(|| answered.next())).collect();
    let results = results.iter().map(Settled::body).collect();
    Ok(tally.onto(json(StatusCode::OK, &BulkAnswer { results })))
}

/// Reads the list of entries and leaves each as it was written.
fn entries<'a>(members: &Members<'a>) -> Result<Vec<&'a RawValue>, Problem> {
    let unknown = members.0.iter().filter(|(name, _)| name != "jobs").take(PROBLEMS_MAX);
    let mut problems: Vec<_> =
        unknown.map(|(name, _)| unknown_field(name, "a bulk call")).collect();
    let mut lists = members.0.iter().filter(|(name, _)| name == "jobs");
    let list = lists.next().and_then(|(_, value)| serde_json::from_str(value.get()).ok());
    if list.is_none() {
        problems.push(FieldProblem::new("jobs", "must be a list of jobs"));
    }
    if lists.next().is_some() {
        problems.push(FieldProblem::new("jobs", "must be given once"));
    }
    let entries: Vec<&'a RawValue> = match list {
        Some(entries) if problems.is_empty() => entries,
        _ => return Err(Problem::of_fields(Kind::InvalidFields, problems)),
    };
    if !(1..=JOBS_MAX).contains(&entries.len()) {
        let detail = format!("a call has 1 to {JOBS_MAX} jobs; this one has {}", entries.len());
        return Err(Problem::new(Kind::BulkSize, detail));
    }
    Ok(entries)
}

/// Reads entries, and remembers the ids that it met.
struct Reader<'a, P: Ports> {
    state: &'a IntakeState<P>,
    settings: &'a Settings,
    now: Instant,
    key: Option<&'a IdempotencyKey>,
    seen: HashSet<JobId>,
}

impl<P: Ports> Reader<'_, P> {
    /// Reads an entry, and its id as it was given, for the result.
    fn read(
        &mut self,
        position: usize,
        entry: &RawValue,
    ) -> (Option<String>, Result<Submission, Problem>) {
        match members(entry, "an entry") {
            Ok(members) => {
                let given = members.value("job_id").map(RawValue::get);
                let given = given.and_then(|id| serde_json::from_str(id).ok());
                (given, self.submission(position, &members))
            }
            Err(problem) => (None, Err(problem)),
        }
    }

    fn submission(&mut self, position: usize, entry: &Members<'_>) -> Result<Submission, Problem> {
        let draft = Draft::read(entry, true);
        let (id, on_difference) = match (draft.job_id(), self.key) {
            (Some(id), _) => (id.clone(), OnDifference::Reschedule),
            (None, Some(key)) => (key.job_id_at(position)?, OnDifference::Refuse),
            (None, None) => (self.state.new_id()?, OnDifference::Refuse),
        };
        let is_first = self.seen.insert(id.clone());
        let spec = draft.into_spec(&self.settings.policy, self.now)?;
        if !is_first {
            let detail = "an earlier entry of the call has the same id";
            return Err(Problem::new(Kind::DuplicateJobId, detail));
        }
        Ok(submission(&self.settings.policy, id, spec, on_difference))
    }
}

/// What became of an entry.
struct Settled {
    /// The job's id, as it was given when it is not one.
    job_id: Option<String>,
    status: &'static str,
    job: Option<Box<Job>>,
    problem: Option<Problem>,
}

impl Settled {
    fn rejected(job_id: Option<String>, mut problem: Problem) -> Self {
        let job = problem.take_job();
        Self { job_id, status: "rejected", job, problem: Some(problem) }
    }

    fn of(id: &JobId, answer: Answer) -> Self {
        let job_id = Some(id.as_str().to_owned());
        match answer {
            Answer::Accepted(change, job) => {
                Self { job_id, status: name(change), job: Some(job), problem: None }
            }
            Answer::Refused(refusal) => Self::rejected(job_id, Problem::of_refusal(refusal)),
            Answer::Unavailable => {
                let problem = Some(Problem::unavailable(None));
                Self { job_id, status: "unavailable", job: None, problem }
            }
        }
    }

    fn body(&self) -> EntryAnswer<'_> {
        EntryAnswer {
            job_id: self.job_id.as_deref(),
            status: self.status,
            job: self.job.as_deref().map(|job| JobAnswer::of(job, With::NoPayload)),
            error: self.problem.as_ref().map(Problem::body),
        }
    }
}

#[derive(Serialize)]
struct BulkAnswer<'a> {
    results: Vec<EntryAnswer<'a>>,
}

#[derive(Serialize)]
struct EntryAnswer<'a> {
    job_id: Option<&'a str>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobAnswer<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ProblemBody<'a>>,
}
