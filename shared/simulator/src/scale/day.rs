//! `day`: a day's jobs, at the times of day that people choose.

use std::collections::HashMap;
use std::process::ExitCode;

use clap::Args;
use spillway_domain::time::{Instant, Minute};
use spillway_testkit::Dice;
use spillway_testkit::build::{at, class, job_spec};

use spillway_domain::spec::JobSpec;

use super::command::{Usage, jobs, print, rate};
use super::report::Report;
use super::run::{Plan, run};
use super::times_of_day::TimesOfDay;
use super::workload::{IntakeCall, JOBS_OF_A_CALL, Workload, id_of};
use crate::world::Stack;

/// The day.
const MIDNIGHT: &str = "2026-12-01T00:00:00Z";

/// The classes of the default policy, and how many of 100 jobs are of each: more of what people
/// send in masses than of what machines do among themselves.
const CLASSES: [(&str, u64); 9] = [
    ("otp", 10),
    ("alert", 5),
    ("deadline", 5),
    ("reminder", 25),
    ("birthday", 5),
    ("transactional", 20),
    ("marketing", 15),
    ("digest", 10),
    ("sync", 5),
];

/// The shortest time that a job is accepted ahead of its instant, in seconds: shorter than what
/// prefetch is left to stage, so that intake stages some itself.
const AHEAD_SECONDS_MIN: u64 = 120;
/// How often that time doubles: up to 34 hours.
const AHEAD_DOUBLINGS: u64 = 10;
/// No job is accepted longer ahead than this, in seconds.
const AHEAD_SECONDS_MAX: i64 = 122_880;
/// After the day: the longest tolerance, and time to drain.
const AFTER_SECONDS: i64 = 86_400;

/// Takes a day's jobs through the service, in virtual time.
///
/// Their times of day are shaped as public schedules are: 71 % at minute :00, a busiest minute of
/// about 100 times the mean. Their classes are those of the default policy, mixed. Each is accepted
/// two minutes to 34 hours ahead. The rest is as in `spike`, --rate too. The busiest minute is told
/// by itself: the jobs that were requested for it, and what was sent in it.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// How many jobs the day has.
    #[arg(long, default_value_t = 5_000_000, allow_negative_numbers = true, value_parser = jobs)]
    pub jobs: u64,
    /// How many jobs a second the workers of both lanes take together.
    #[arg(long, default_value_t = 20_000, allow_negative_numbers = true, value_parser = rate)]
    pub rate: u64,
    /// The seed of ids, times and classes: the same seed, the same run.
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

/// Runs a day and tells what came out.
pub fn report(arguments: &Arguments, usage: impl FnOnce() -> Usage) -> Report {
    run(plan(arguments), usage)
}

fn plan(arguments: &Arguments) -> Plan {
    let Arguments { jobs, rate, seed, .. } = *arguments;
    let midnight = at(MIDNIGHT);
    let asked = all_asked(jobs, seed);
    let drain_seconds = i64::try_from(2 * jobs / rate).unwrap_or(i64::MAX);
    Plan {
        jobs,
        seed,
        rate,
        stack: Stack::deployed(),
        begins_at: midnight.plus_seconds(-AHEAD_SECONDS_MAX),
        gives_up_at: midnight.plus_seconds(2 * AFTER_SECONDS).plus_seconds(drain_seconds),
        without_ticks: None,
        watched: busiest_minute(&asked, midnight),
        workload: workload(asked, seed, midnight),
    }
}

/// One job of the day, as small as it can be: there are millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    /// When it is accepted, in seconds from midnight.
    accepted: i32,
    /// Which job it is.
    number: u32,
    /// When it is requested for, in seconds from midnight.
    requested: u32,
    /// Its class's place in [`CLASSES`].
    class: u8,
}

/// Draws all jobs, in the order of their acceptance.
fn all_asked(jobs: u64, seed: u64) -> Vec<Asked> {
    let (mut dice, times) = (Dice::from_seed(seed), TimesOfDay::found());
    let mut asked: Vec<_> = (0..u32::try_from(jobs).unwrap_or(u32::MAX))
        .map(|number| {
            let requested = times.draw(&mut dice);
            let ahead = AHEAD_SECONDS_MIN << dice.below(AHEAD_DOUBLINGS);
            let ahead = i32::try_from(ahead + dice.below(ahead)).unwrap_or(i32::MAX);
            let accepted = i32::try_from(requested).unwrap_or(0) - ahead;
            Asked { accepted, number, requested, class: draw_class(&mut dice) }
        })
        .collect();
    asked.sort_unstable();
    asked
}

fn draw_class(dice: &mut Dice) -> u8 {
    let total = CLASSES.iter().map(|(_, weight)| weight).sum();
    let mut left = dice.below(total);
    let place = CLASSES.iter().position(|(_, weight)| {
        let is_here = left < *weight;
        left = left.saturating_sub(*weight);
        is_here
    });
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(0)
}

/// Tells the minute that most jobs are requested for, the first of equals.
fn busiest_minute(asked: &[Asked], midnight: Instant) -> Option<Minute> {
    let mut jobs: HashMap<u32, u64> = HashMap::new();
    for asked in asked {
        *jobs.entry(asked.requested / 60).or_default() += 1;
    }
    let (minute, _) = jobs.into_iter().max_by_key(|(minute, jobs)| (*jobs, u32::MAX - minute))?;
    Some(midnight.minute().plus(i64::from(minute)))
}

/// Makes the calls: the jobs of a second share them.
fn workload(asked: Vec<Asked>, seed: u64, midnight: Instant) -> Workload {
    let mut asked = asked.into_iter().peekable();
    let classes = CLASSES.map(|(name, _)| class(name));
    Box::new(std::iter::from_fn(move || {
        let accepted = asked.peek()?.accepted;
        let of_call = std::iter::from_fn(|| asked.next_if(|it| it.accepted == accepted));
        let jobs = of_call.take(JOBS_OF_A_CALL).map(|it| {
            let class = classes.get(usize::from(it.class)).cloned();
            let requested_at = midnight.plus_seconds(i64::from(it.requested));
            (id_of(seed, u64::from(it.number)), JobSpec { class, ..job_spec(requested_at) })
        });
        Some(IntakeCall { at: midnight.plus_seconds(i64::from(accepted)), jobs: jobs.collect() })
    }))
}
