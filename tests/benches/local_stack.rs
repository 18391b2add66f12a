//! How punctual a running stack is. Prints a line of JSON for each measurement; fails only when a
//! job is not accepted, lost, delivered twice or early, never for a time.
//!
//! The stack is found by its environment, or by the file that `SPILLWAY_STACK_ENV` names.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use spillway_app::ports::Clock;
use spillway_aws::system_clock::SystemClock;
use spillway_cli::Failure;
use spillway_cli::arrivals::Arrivals;
use spillway_cli::report::{Report, Row};
use spillway_cli::schedule::JobRequest;
use spillway_cli::stack::Stack;
use spillway_cli::trial::Trial;
use spillway_domain::time::Instant;

/// One job at a time: this many, each in a second of its own, with an idle one between them.
const SINGLE_JOBS: i64 = 50;
const SINGLE_APART_SECONDS: i64 = 2;
/// As many jobs in one second.
const JOBS_OF_ONE_SECOND: i64 = 1_000;
/// How far ahead the first job is: time for the calls to intake and for its message to mature.
const AHEAD_SECONDS: i64 = 15;
/// How long a job is waited for after the last was due.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Serialize)]
struct Measurement<'r> {
    measurement: &'r str,
    #[serde(flatten)]
    total: &'r Row,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(measure_all()),
        Err(error) => Err(Failure::of(&error)),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            spillway_cli::tell(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Takes all measurements; `false` when one of them lost a job, or the like.
async fn measure_all() -> Result<bool, Failure> {
    let env_file = std::env::var_os("SPILLWAY_STACK_ENV").map(PathBuf::from);
    let stack = Stack::load(env_file.as_deref()).await?;
    let single = measure(&stack, "exact jobs, one at a time", SINGLE_JOBS, |number| {
        number * SINGLE_APART_SECONDS
    });
    let is_single_clean = single.await?;
    let together = measure(&stack, "exact jobs of one second", JOBS_OF_ONE_SECOND, |_| 0);
    Ok(together.await? && is_single_clean)
}

/// Takes one measurement: jobs whose seconds, counted from the first, are told by `second`.
async fn measure(
    stack: &Stack,
    name: &str,
    job_count: i64,
    second: impl Fn(i64) -> i64,
) -> Result<bool, Failure> {
    let now = SystemClock.now();
    let prefix = format!("bench-{}-", now.as_millis());
    let first_at = now.ceil_to_second().plus_seconds(AHEAD_SECONDS);
    let jobs = (0..job_count)
        .map(|number| job(format!("{prefix}{number}"), first_at.plus_seconds(second(number))))
        .collect();
    let mut arrivals = Arrivals::of(stack, &prefix);
    let mut trial = Trial::scheduled(stack, jobs).await?;
    trial.read(&mut arrivals, PATIENCE, |_| {}).await?;
    let report = Report::of(&trial);
    let measurement = Measurement { measurement: name, total: &report.total };
    let line = serde_json::to_string(&measurement).map_err(|error| Failure::of(&error))?;
    spillway_cli::print(&(line + "\n"))?;
    for reason in &report.not_accepted_because {
        spillway_cli::tell(&format!("not accepted: {reason}"));
    }
    Ok(report.is_clean())
}

fn job(job_id: String, requested_at: Instant) -> JobRequest {
    JobRequest {
        job_id,
        class: None,
        requested_at,
        channel: "inbox".to_owned(),
        early_seconds: None,
        late_seconds: None,
        payload: json!({ "greeting": "hello" }),
    }
}
