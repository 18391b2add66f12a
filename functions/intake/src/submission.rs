//! A job as it is handed to the use case: what was asked, and what the policy makes of it.

use serde_json::value::RawValue;
use spillway_domain::acceptance::{OnDifference, Submission};
use spillway_domain::name::JobId;
use spillway_domain::policy::Policy;
use spillway_domain::problem::FieldProblem;
use spillway_domain::spec::{JobSpec, Payload};

use crate::wire::canonical;

/// Reads a policy's text and checks its templates; the error is what the operator is told.
pub fn parse_policy(text: &str) -> Result<Policy, String> {
    let read = spillway_policy::parse_with(text, spillway_template::check);
    read.map_err(|errors| errors.to_string())
}

/// Gives a spec its contract, and its payload the form that its channel wants (R22).
pub(crate) fn submission(
    policy: &Policy,
    id: JobId,
    spec: JobSpec,
    on_difference: OnDifference,
) -> Submission {
    let contract = policy.contract(&spec);
    let channel = policy.channels.get(&spec.channel);
    let template = channel.and_then(|channel| channel.template.as_deref());
    match template.map(|template| rendered(template, &spec.payload)).transpose() {
        Ok(rendered) => Submission { id, spec, contract, rendered, on_difference },
        Err(message) => {
            let mut problems = contract.err().unwrap_or_default();
            problems.push(FieldProblem::new("payload", message));
            Submission { id, spec, contract: Err(problems), rendered: None, on_difference }
        }
    }
}

fn rendered(template: &str, payload: &Payload) -> Result<Payload, String> {
    let text = spillway_template::render(template, payload.as_json());
    let text = text.map_err(|error| error.to_string())?;
    let made = |error: &dyn std::fmt::Display| {
        format!("makes the channel's template write a value that {error}")
    };
    let value: &RawValue = serde_json::from_str(&text).map_err(|error| made(&error))?;
    let text = canonical(value).map_err(|error| made(&error))?;
    Payload::from_canonical_json(text).map_err(|error| made(&error))
}
