//! `outage`: hours without a tick, and the backlog after them.

use std::process::ExitCode;

use clap::Args;
use spillway_domain::pace::{PACE_JOBS_PER_SECOND_MAX, Pace};
use spillway_domain::precision::Contract;
use spillway_domain::spec::JobSpec;
use spillway_domain::time::Instant;
use spillway_testkit::build::{at, class, job_spec};

use super::command::{Usage, jobs, print, rate, whole};
use super::report::Report;
use super::run::{Plan, run};
use super::workload::{IntakeCall, JOBS_OF_A_CALL, Workload, id_of};
use crate::world::Stack;

/// When the ticks fail.
const BEGINS_AT: &str = "2026-12-01T09:00:00Z";
/// How long before that the last job is accepted, in seconds.
const AHEAD_SECONDS: i64 = 3_600;
/// What is left for each call to intake, in milliseconds.
const CALL_MILLIS: i64 = 100;
/// One job of so many is not worth sending after a minute.
const EXPIRING_PART: u64 = 10;
const EXPIRING: &str = "expiring";
const KEPT: &str = "kept";

/// Lets hours go by without a tick, and takes the backlog through the service, in virtual time.
///
/// The jobs are exact, requested evenly over the hours, one of ten with an expiry of a minute, and
/// accepted before. Then no tick comes until the hours are over: all of them are overdue, and are
/// released in due order at the pace that the stack is set to.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// How many jobs are due in the hours.
    #[arg(long, default_value_t = 3_000_000, allow_negative_numbers = true, value_parser = jobs)]
    pub jobs: u64,
    /// How many hours there is no tick, 1 to 24.
    #[arg(long, default_value_t = 2, allow_negative_numbers = true, value_parser = hours)]
    pub hours: u64,
    /// How many overdue jobs are released a second.
    #[arg(long, default_value_t = 5_000, allow_negative_numbers = true, value_parser = pace)]
    pub pace: u32,
    /// How many jobs a second the workers of both lanes take together.
    #[arg(long, default_value_t = 20_000, allow_negative_numbers = true, value_parser = rate)]
    pub rate: u64,
    /// The seed of ids: the same seed, the same run.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// Prints one line of JSON.
    #[arg(long)]
    pub json: bool,
}

fn hours(text: &str) -> Result<u64, String> {
    whole(text, 1, 24)
}

fn pace(text: &str) -> Result<u32, String> {
    let jobs = whole(text, 1, u64::from(PACE_JOBS_PER_SECOND_MAX))?;
    u32::try_from(jobs).map_err(|error| error.to_string())
}

/// Runs the command.
pub fn command(arguments: &Arguments, usage: impl FnOnce() -> Usage) -> ExitCode {
    print(&report(arguments, usage), arguments.json)
}

/// Runs an outage and tells what came out.
pub fn report(arguments: &Arguments, usage: impl FnOnce() -> Usage) -> Report {
    run(plan(arguments), usage)
}

fn plan(arguments: &Arguments) -> Plan {
    let Arguments { jobs, hours, pace, rate, seed, .. } = *arguments;
    let begins_at = at(BEGINS_AT);
    let ends_at = begins_at.plus_seconds(as_i64(hours) * 3_600);
    let calls = as_i64(jobs.div_ceil(JOBS_OF_A_CALL as u64));
    let handed_in_at = begins_at.plus_seconds(-AHEAD_SECONDS).plus_millis(-calls * CALL_MILLIS);
    let drain_seconds = as_i64(jobs / rate.min(u64::from(pace)));
    Plan {
        jobs,
        seed,
        rate,
        stack: stack(pace),
        begins_at: handed_in_at,
        gives_up_at: ends_at.plus_seconds(86_400 + 2 * drain_seconds),
        // The ticks before have staged all minutes before the first job's.
        without_ticks: Some((begins_at.plus_seconds(-600), ends_at)),
        watched: None,
        workload: workload(arguments, begins_at, handed_in_at),
    }
}

fn stack(pace: u32) -> Stack {
    let mut stack = Stack::deployed();
    stack.pace = Pace::from_jobs_per_second(pace).unwrap_or(stack.pace);
    let expiring = Contract { expires_after_seconds: Some(60), ..Contract::EXACT };
    stack.policy.classes.extend([(class(EXPIRING), expiring), (class(KEPT), Contract::EXACT)]);
    stack
}

fn workload(arguments: &Arguments, begins_at: Instant, handed_in_at: Instant) -> Workload {
    let Arguments { jobs, hours, seed, .. } = *arguments;
    let seconds = hours * 3_600;
    let spec = move |number: u64| {
        let is_expiring = number.is_multiple_of(EXPIRING_PART);
        let second = u128::from(number) * u128::from(seconds) / u128::from(jobs);
        let requested_at = begins_at.plus_seconds(i64::try_from(second).unwrap_or(0));
        let class = Some(class(if is_expiring { EXPIRING } else { KEPT }));
        JobSpec { class, ..job_spec(requested_at) }
    };
    let calls = (0..jobs).step_by(JOBS_OF_A_CALL).map(move |first| {
        let numbers = first..jobs.min(first + JOBS_OF_A_CALL as u64);
        let jobs = numbers.map(|number| (id_of(seed, number), spec(number))).collect();
        IntakeCall { at: handed_in_at, jobs }
    });
    Box::new(calls)
}

fn as_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
