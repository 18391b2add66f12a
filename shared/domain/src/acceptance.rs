//! What a call to schedule a job changes, given the row that is stored (R6, R29).

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::bucket::ShardCount;
use crate::job::{Generation, Job, State};
use crate::name::JobId;
use crate::precision::Contract;
use crate::problem::FieldProblem;
use crate::spec::{JobSpec, Payload};
use crate::time::Instant;

/// How far back `requested_at` may lie, in seconds (R29).
pub const PAST_SECONDS_MAX: i64 = 60;
/// How far ahead `requested_at` may lie, in seconds: two years, one of them a leap year (R29).
pub const AHEAD_SECONDS_MAX: i64 = 731 * 86_400;

/// What a different spec under a known id means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDifference {
    /// A waiting job takes the new spec.
    Reschedule,
    /// The id came from an idempotency key, which stands for one spec alone.
    Refuse,
}

/// One job as a call hands it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Its id.
    pub id: JobId,
    /// What is asked.
    pub spec: JobSpec,
    /// The policy's contract for it, or what the policy has against it.
    pub contract: Result<Contract, Vec<FieldProblem>>,
    /// What the channel's template makes of the payload; none without one. When it makes nothing
    /// of it, that is among what the policy has against the job.
    pub rendered: Option<Payload>,
    /// What to do when the id is known with another spec.
    pub on_difference: OnDifference,
}

/// What has to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// The id is new: write this row where there is none.
    Create(Box<Job>),
    /// The stored job is what was asked; write nothing.
    Unchanged(Box<Job>),
    /// The stored job takes a new spec: write this row in place of generation `seen`.
    Reschedule {
        /// The new row.
        job: Box<Job>,
        /// The generation that it replaces.
        seen: Generation,
    },
    /// Nothing is written.
    Refuse(Refusal),
}

/// Why a submission is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Fields are at fault.
    Invalid(Vec<FieldProblem>),
    /// The job is claimed or finished.
    TooLate(Box<Job>),
    /// A send of the waiting job stayed unanswered: other content would share its `delivery_id`.
    MaybeSent(Box<Job>),
    /// The idempotency key stands for another spec.
    KeyReused(Box<Job>),
    /// Another writer was faster; what it stored.
    Conflict(Box<Job>),
}

/// Decides what a submission changes. Bounds of time and policy count only for what would be
/// created or changed, so that an import can be replayed at any time.
///
/// ```
/// use spillway_domain::{acceptance::*, bucket::ShardCount, name::*, precision::Contract};
/// use spillway_domain::{spec::*, time::Instant};
/// let spec = JobSpec {
///     requested_at: Instant::from_millis(60_000),
///     channel: ChannelName::new("inbox").unwrap(),
///     class: None,
///     overrides: Overrides::default(),
///     payload: Payload::from_canonical_json("null").unwrap(),
/// };
/// let submission = Submission {
///     id: JobId::new("a").unwrap(),
///     spec,
///     contract: Ok(Contract::EXACT),
///     rendered: None,
///     on_difference: OnDifference::Reschedule,
/// };
/// let shards = ShardCount::new(8).unwrap();
/// let now = Instant::from_millis(0);
/// let Acceptance::Create(job) = acceptance(&submission, None, now, shards) else { panic!() };
/// let much_later = Instant::from_millis(900_000);
/// let again = acceptance(&submission, Some(&job), much_later, shards);
/// assert_eq!(again, Acceptance::Unchanged(job));
/// ```
pub fn acceptance(
    submission: &Submission,
    stored: Option<&Job>,
    now: Instant,
    shards: ShardCount,
) -> Acceptance {
    if let Some(job) = stored
        && let Some(settled) = settled_by(job, submission)
    {
        return settled;
    }
    let contract = match contract_at(submission, now) {
        Ok(contract) => contract,
        Err(problems) => return Acceptance::Refuse(Refusal::Invalid(problems)),
    };
    let (spec, rendered) = (submission.spec.clone(), submission.rendered.clone());
    match stored {
        None => {
            let job = Job::accepted(submission.id.clone(), spec, contract, now, shards);
            Acceptance::Create(Box::new(Job { rendered, ..job }))
        }
        Some(old) => {
            let job = old.rescheduled(spec, contract, now, shards);
            Acceptance::Reschedule { job: Box::new(Job { rendered, ..job }), seen: old.generation }
        }
    }
}

/// Tells what the stored row alone decides; `None` when the submission would change it.
fn settled_by(stored: &Job, submission: &Submission) -> Option<Acceptance> {
    let row = || Box::new(stored.clone());
    if stored.spec == submission.spec {
        Some(Acceptance::Unchanged(row()))
    } else if submission.on_difference == OnDifference::Refuse {
        Some(Acceptance::Refuse(Refusal::KeyReused(row())))
    } else if stored.state != State::Scheduled {
        Some(Acceptance::Refuse(Refusal::TooLate(row())))
    } else if stored.maybe_sent {
        Some(Acceptance::Refuse(Refusal::MaybeSent(row())))
    } else {
        None
    }
}

/// Tells the contract of what would be written at `now`.
///
/// # Errors
/// The policy's problems, and `requested_at` when it is more than [`PAST_SECONDS_MAX`] in the past
/// or [`AHEAD_SECONDS_MAX`] ahead.
///
/// ```
/// # use spillway_domain::{acceptance::*, name::*, precision::Contract, spec::*, time::Instant};
/// # let spec = JobSpec {
/// #     requested_at: Instant::from_millis(0),
/// #     channel: ChannelName::new("inbox").unwrap(),
/// #     class: None,
/// #     overrides: Overrides::default(),
/// #     payload: Payload::from_canonical_json("null").unwrap(),
/// # };
/// # let submission = Submission {
/// #     id: JobId::new("a").unwrap(),
/// #     spec,
/// #     contract: Ok(Contract::EXACT),
/// #     rendered: None,
/// #     on_difference: OnDifference::Reschedule,
/// # };
/// assert!(contract_at(&submission, Instant::from_millis(60_000)).is_ok());
/// assert!(contract_at(&submission, Instant::from_millis(60_001)).is_err());
/// ```
pub fn contract_at(submission: &Submission, now: Instant) -> Result<Contract, Vec<FieldProblem>> {
    let ahead = submission.spec.requested_at.millis_since(now);
    let of_time = if ahead < -PAST_SECONDS_MAX * 1_000 {
        Some("must be at most 60 s in the past")
    } else if ahead > AHEAD_SECONDS_MAX * 1_000 {
        Some("must be at most 2 years ahead")
    } else {
        None
    };
    match (of_time, submission.contract.clone()) {
        (None, contract) => contract,
        (Some(message), contract) => {
            let mut problems = contract.err().unwrap_or_default();
            problems.push(FieldProblem::new("requested_at", message));
            Err(problems)
        }
    }
}

/// What a call to cancel a job changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// The job waits: cancel it.
    Cancel(Box<Job>),
    /// It was cancelled before.
    Already(Box<Job>),
    /// It is claimed or finished.
    TooLate(Box<Job>),
    /// There is no such job.
    Unknown,
}

/// Decides what a cancel changes (R7).
///
/// ```
/// use spillway_domain::acceptance::{cancellation, Cancellation};
/// assert_eq!(cancellation(None), Cancellation::Unknown);
/// ```
pub fn cancellation(stored: Option<Job>) -> Cancellation {
    match stored.map(Box::new) {
        None => Cancellation::Unknown,
        Some(job) if job.state == State::Scheduled => Cancellation::Cancel(job),
        Some(job) if job.state == State::Cancelled => Cancellation::Already(job),
        Some(job) => Cancellation::TooLate(job),
    }
}
