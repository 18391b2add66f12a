//! `spike`: very many jobs for one second.

use std::process::ExitCode;

use clap::Args;
use spillway_domain::name::ClassName;
use spillway_domain::precision::Contract;
use spillway_domain::rate::{RATE_PER_SECOND_MAX, Rate};
use spillway_domain::spec::JobSpec;
use spillway_domain::time::Instant;
use spillway_testkit::Dice;
use spillway_testkit::build::{at, class, job_spec};

use super::command::{Usage, codes, jobs, print, rate, share, window};
use super::report::Report;
use super::run::{Plan, run};
use super::workload::{IntakeCall, JOBS_OF_A_CALL, Workload, id_of};
use crate::world::Stack;

/// The second that all jobs are requested for.
const REQUESTED_AT: &str = "2026-12-01T09:00:00Z";
/// How long before the first job may be due the last one is accepted, in seconds at least.
const AHEAD_SECONDS: i64 = 3_600;
/// What is left for each call to intake, in milliseconds: eight rounds of writes and some more.
const CALL_MILLIS: i64 = 100;

const EXACT: &str = "exact";
const MOVABLE: &str = "movable";

/// Takes very many jobs for one second through the service, in virtual time.
///
/// All jobs are requested for 09:00:00. They are accepted by the real intake use case more than an
/// hour ahead, staged by the real prefetch use case with a tick a minute, delivered by the real
/// dispatch use case and recorded, over ports in memory. All that is reported was counted on the
/// way.
///
/// --rate is the rate of the channel, by which staging plans the releases, and also what the workers
/// of both lanes take together: the event source hands out messages no faster than that many jobs a
/// second, those of the exact lane first.
///
/// A job is late when it is delivered after the last second of its window. Lateness is counted
/// from its due time, which its tolerance and its id's hash give it. The bill holds write and read
/// units of the tables, SQS and Lambda requests and Lambda's GB-seconds in virtual time, at the
/// prices of us-east-1 on demand; it leaves out the channel, the gateway, logs and storage.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// How many jobs are requested for 09:00:00.
    #[arg(long, default_value_t = 3_000_000, allow_negative_numbers = true, value_parser = jobs)]
    pub jobs: u64,
    /// How many seconds later than requested a movable job may be due.
    #[arg(long, default_value_t = 300, allow_negative_numbers = true, value_parser = window)]
    pub late: u32,
    /// How many seconds earlier than requested a movable job may be due.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = window)]
    pub early: u32,
    /// How many jobs a second the workers of both lanes take together.
    #[arg(long, default_value_t = 20_000, allow_negative_numbers = true, value_parser = rate)]
    pub rate: u64,
    /// Which part of the jobs is exact, 0 to 1.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, value_parser = share)]
    pub exact_share: f64,
    /// How many one-time codes are requested for 09:01:00 beside them, on the same channel.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = codes)]
    pub otp: u64,
    /// The seed of ids and order: the same seed, the same run.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// Prints one line of JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn command(arguments: &Arguments, usage: impl FnOnce() -> Usage) -> ExitCode {
    print(&report(arguments, usage), arguments.json)
}

/// Runs a spike and tells what came out.
pub fn report(arguments: &Arguments, usage: impl FnOnce() -> Usage) -> Report {
    run(plan(arguments), usage)
}

fn plan(arguments: &Arguments) -> Plan {
    let Arguments { jobs, early, late, rate, otp, seed, .. } = *arguments;
    let requested_at = at(REQUESTED_AT);
    let calls = as_seconds((jobs + otp).div_ceil(JOBS_OF_A_CALL as u64));
    let first_due_at = requested_at.plus_seconds(-i64::from(early));
    let begins_at = first_due_at.plus_seconds(-AHEAD_SECONDS).plus_millis(-calls * CALL_MILLIS);
    let drained_at = requested_at.plus_seconds(i64::from(late) + 2 * as_seconds(jobs / rate));
    Plan {
        jobs: jobs + otp,
        seed,
        rate,
        stack: stack(arguments),
        begins_at,
        gives_up_at: drained_at.plus_seconds(86_400),
        without_ticks: None,
        watched: None,
        workload: workload(arguments, begins_at),
    }
}

/// Tells the policy's default with two classes beside it, of exact jobs and of movable ones, and
/// with the workers' rate as that of each channel, as far as a channel may have it.
fn stack(arguments: &Arguments) -> Stack {
    let Arguments { early: early_seconds, late: late_seconds, rate, .. } = *arguments;
    let mut stack = Stack::deployed();
    let per_second = u32::try_from(rate).unwrap_or(u32::MAX).min(RATE_PER_SECOND_MAX);
    for channel in stack.policy.channels.values_mut() {
        channel.rate = Rate::new(per_second, None, 0).ok();
    }
    let movable = Contract { early_seconds, late_seconds, ..Contract::EXACT };
    stack.policy.classes.extend([(class(EXACT), Contract::EXACT), (class(MOVABLE), movable)]);
    stack
}

fn workload(arguments: &Arguments, begins_at: Instant) -> Workload {
    let Arguments { jobs, seed, .. } = *arguments;
    let mut exact_left = exact_count(arguments);
    let mut dice = Dice::from_seed(seed);
    let mut next_class = move |number: u64| {
        // Each job is exact with the share that is left, so that the number comes out.
        let is_exact = dice.below(jobs - number) < exact_left;
        exact_left -= u64::from(is_exact);
        class(if is_exact { EXACT } else { MOVABLE })
    };
    let calls = (0..jobs).step_by(JOBS_OF_A_CALL).map(move |first| {
        let numbers = first..jobs.min(first + JOBS_OF_A_CALL as u64);
        let jobs = numbers.map(|number| (id_of(seed, number), spec(next_class(number)))).collect();
        IntakeCall { at: begins_at, jobs }
    });
    Box::new(calls.chain(codes_of_next_minute(arguments, begins_at)))
}

/// Makes the calls that ask for the one-time codes.
fn codes_of_next_minute(
    arguments: &Arguments,
    begins_at: Instant,
) -> impl Iterator<Item = IntakeCall> + use<> {
    let Arguments { jobs, otp, seed, .. } = *arguments;
    let requested_at = at(REQUESTED_AT).minute().next().start();
    (jobs..jobs + otp).step_by(JOBS_OF_A_CALL).map(move |first| {
        let numbers = first..(jobs + otp).min(first + JOBS_OF_A_CALL as u64);
        let code = JobSpec { class: Some(class("otp")), ..job_spec(requested_at) };
        let jobs = numbers.map(|number| (id_of(seed, number), code.clone())).collect();
        IntakeCall { at: begins_at, jobs }
    })
}

fn spec(class: ClassName) -> JobSpec {
    JobSpec { class: Some(class), ..job_spec(at(REQUESTED_AT)) }
}

/// Tells how many jobs are exact: all of them when none may move.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a count below 2^53 is between 0 and the count"
)]
fn exact_count(arguments: &Arguments) -> u64 {
    if arguments.early == 0 && arguments.late == 0 {
        return arguments.jobs;
    }
    ((arguments.jobs as f64 * arguments.exact_share).round() as u64).min(arguments.jobs)
}

fn as_seconds(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
