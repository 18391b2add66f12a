//! A job as its caller wrote it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::value::RawValue;
use spillway_domain::acceptance::{OnDifference, contract_at};
use spillway_domain::name::{ChannelName, ClassName, JobId};
use spillway_domain::policy::Policy;
use spillway_domain::precision::{EXPIRY_SECONDS_MAX, PRIORITY_MAX, WINDOW_SECONDS_MAX};
use spillway_domain::problem::FieldProblem;
use spillway_domain::spec::{JobSpec, Overrides, Payload};
use spillway_domain::time::Instant;

use super::instant::read_instant;
use super::json::{Members, canonical};
use crate::problem::{Kind, PROBLEMS_MAX, Problem, unknown_field};
use crate::submission::submission;

/// What stands where bytes were not UTF-8.
const REPLACEMENT: char = '\u{fffd}';

/// The fields of a job. One that is `null` is one that was left out.
const FIELDS: [&str; 8] = [
    "requested_at",
    "channel",
    "class",
    "early_seconds",
    "late_seconds",
    "priority",
    "expires_after_seconds",
    "payload",
];

/// Reads a job's id.
///
/// Besides what `domain` refuses, U+FFFD is: the gateway puts it in the place of whatever is not
/// UTF-8, so that two different broken ids would be one job.
///
/// # Errors
/// What is wrong with the id.
pub(crate) fn checked_id(id: &str) -> Result<JobId, String> {
    if id.contains(REPLACEMENT) {
        return Err("must be UTF-8 and not hold U+FFFD, which stands for what was not".into());
    }
    JobId::new(id).map_err(|error| error.to_string())
}

/// What was read of a job, field by field, and everything that is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    requested_at: Option<Instant>,
    channel: Option<ChannelName>,
    class: Option<ClassName>,
    overrides: Overrides,
    payload: Option<Payload>,
    job_id: Option<JobId>,
    is_payload_too_large: bool,
    is_id_bad: bool,
    problems: Vec<FieldProblem>,
}

impl Draft {
    /// Reads a job's members. Only an entry of a bulk call may have a `job_id`; elsewhere it is an
    /// unknown field like any other.
    pub(crate) fn read(members: &Members<'_>, may_have_id: bool) -> Self {
        let mut draft = Self::default();
        let mut seen = BTreeSet::new();
        let mut unknown = Vec::new();
        for (name, value) in &members.0 {
            let is_known = FIELDS.contains(&name.as_ref()) || (may_have_id && name == "job_id");
            if !is_known && unknown.len() < PROBLEMS_MAX {
                unknown.push(unknown_field(name, "a job"));
            } else if is_known && !seen.insert(name.as_ref()) {
                draft.problem(name, "must be given once");
            } else if is_known && !is_null(value) {
                draft.read_member(name, value);
            }
        }
        for required in ["requested_at", "channel"] {
            let is_given =
                members.0.iter().any(|(name, value)| name == required && !is_null(value));
            if !is_given {
                draft.problem(required, "is required");
            }
        }
        draft.problems.append(&mut unknown);
        draft.problems.truncate(PROBLEMS_MAX);
        draft
    }

    /// Tells the id that an entry of a bulk call names, if it is one.
    pub(crate) fn job_id(&self) -> Option<&JobId> {
        self.job_id.as_ref()
    }

    /// Gives the spec.
    ///
    /// # Errors
    /// 422 with every field at fault, also of those that only the policy or the clock can judge, or
    /// 413 when the payload is too large.
    pub(crate) fn into_spec(mut self, policy: &Policy, now: Instant) -> Result<JobSpec, Problem> {
        if self.problems.is_empty()
            && let (Some(requested_at), Some(channel)) = (self.requested_at, self.channel.clone())
        {
            let payload = self.payload.map_or_else(no_payload, Ok)?;
            let Self { class, overrides, .. } = self;
            return Ok(JobSpec { requested_at, channel, class, overrides, payload });
        }
        for problem in self.judged(policy, now).unwrap_or_default() {
            if !self.problems.iter().any(|named| named.field == problem.field) {
                self.problems.push(problem);
            }
        }
        Err(self.into_problem())
    }

    fn into_problem(self) -> Problem {
        let kind = if self.is_payload_too_large {
            Kind::PayloadTooLarge
        } else if self.is_id_bad {
            Kind::InvalidJobId
        } else {
            Kind::InvalidFields
        };
        Problem::of_fields(kind, self.problems)
    }

    /// Lists what the policy and the clock have against what could be read, with what can stand in
    /// for the rest.
    fn judged(&self, policy: &Policy, now: Instant) -> Option<Vec<FieldProblem>> {
        let spec = JobSpec {
            requested_at: self.requested_at.unwrap_or(now),
            channel: self.channel.clone().or_else(|| policy.channels.keys().next().cloned())?,
            class: self.class.clone(),
            overrides: self.overrides,
            payload: self.payload.clone().or_else(|| no_payload().ok())?,
        };
        let id = JobId::new("-").ok()?;
        contract_at(&submission(policy, id, spec, OnDifference::Refuse), now).err()
    }

    fn read_member(&mut self, name: &str, value: &RawValue) {
        let read = match name {
            "requested_at" => self.read_requested_at(value),
            "channel" => self.read_channel(value),
            "class" => self.read_class(value),
            "payload" => self.read_payload(value),
            "job_id" => self.read_job_id(value),
            _ => self.read_number(name, value),
        };
        if let Err(message) = read {
            self.problem(name, message);
        }
    }

    fn read_requested_at(&mut self, value: &RawValue) -> Result<(), Cow<'static, str>> {
        self.requested_at = Some(read_instant(&string(value)?)?);
        Ok(())
    }

    fn read_channel(&mut self, value: &RawValue) -> Result<(), Cow<'static, str>> {
        let channel = ChannelName::new(string(value)?).map_err(|error| error.to_string())?;
        self.channel = Some(channel);
        Ok(())
    }

    fn read_class(&mut self, value: &RawValue) -> Result<(), Cow<'static, str>> {
        self.class = Some(ClassName::new(string(value)?).map_err(|error| error.to_string())?);
        Ok(())
    }

    fn read_job_id(&mut self, value: &RawValue) -> Result<(), Cow<'static, str>> {
        // Until it is found to be good.
        self.is_id_bad = true;
        self.job_id = Some(checked_id(&string(value)?)?);
        self.is_id_bad = false;
        Ok(())
    }

    fn read_payload(&mut self, value: &RawValue) -> Result<(), Cow<'static, str>> {
        let text = canonical(value).map_err(|error| error.to_string())?;
        let payload = Payload::from_canonical_json(text).map_err(|error| {
            self.is_payload_too_large = true;
            error.to_string()
        })?;
        self.payload = Some(payload);
        Ok(())
    }

    fn read_number(&mut self, name: &str, value: &RawValue) -> Result<(), Cow<'static, str>> {
        let overrides = &mut self.overrides;
        match name {
            "early_seconds" => overrides.early_seconds = Some(whole(value, &WINDOW_SECONDS_MAX)?),
            "late_seconds" => overrides.late_seconds = Some(whole(value, &WINDOW_SECONDS_MAX)?),
            "priority" => overrides.priority = Some(whole(value, &PRIORITY_MAX)?),
            _ => overrides.expires_after_seconds = Some(whole(value, &EXPIRY_SECONDS_MAX)?),
        }
        Ok(())
    }

    fn problem(&mut self, field: &str, message: impl Into<String>) {
        let problem = FieldProblem::new(field, message);
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

fn no_payload() -> Result<Payload, Problem> {
    Payload::from_canonical_json("null").map_err(Problem::internal)
}

fn string(value: &RawValue) -> Result<String, &'static str> {
    serde_json::from_str(value.get()).map_err(|_| {
        if value.get().starts_with('"') {
            "must be Unicode text without lone surrogates"
        } else {
            "must be a string"
        }
    })
}

/// Reads a whole number from 0 to `max`, written in digits alone: `1.0`, `1e3` and `-0` are
/// refused, so that a bound is read the same way by everyone.
fn whole<N>(value: &RawValue, max: &N) -> Result<N, String>
where
    N: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let text = value.get();
    let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<N>().ok());
    number
        .flatten()
        .filter(|number| number <= max)
        .ok_or_else(|| format!("must be a whole number from 0 to {max}, in digits"))
}
