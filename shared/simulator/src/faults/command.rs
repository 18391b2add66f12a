//! The command `faults`.

use std::panic;
use std::process::ExitCode;

use serde_json::json;

use super::ledger::Counts;
use super::run::{Case, Outcome, present_seed, run};
use super::search::{Found, Searched, search};
use super::shrink::shrunk;
use crate::mutants::Mutant;

/// What `faults` is called with.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// How many seeds are run.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    pub first: u64,
    /// Make a known mistake, to see whether it is found.
    #[arg(long)]
    pub mutant: Option<Mutant>,
    /// Print what happened in the failing run, or in the first one.
    #[arg(long)]
    pub trace: bool,
    /// Show the failing run as it was, with all its jobs and faults.
    #[arg(long)]
    pub whole: bool,
    /// Write the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Carries `faults` out: fails when a promise was broken.
pub fn command(arguments: &Arguments) -> ExitCode {
    let mutant = arguments.mutant;
    let otherwise = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        otherwise(about);
        eprintln!("repeat: {}", repeat_command(present_seed(), mutant));
    }));
    let searched = search(arguments.first, arguments.seeds, mutant);
    let failure = searched.found.clone().map(|found| Failure::of(arguments, found));
    if arguments.json {
        println!("{}", as_json(arguments, &searched, failure.as_ref()));
    } else {
        println!("{}", as_text(&searched, failure.as_ref()));
    }
    if arguments.trace {
        let only = Case { seed: arguments.first, mutant, ..Case::default() };
        let case = failure.as_ref().map_or(&only, |failure| &failure.case);
        for line in traced(case) {
            eprintln!("{line}");
        }
    }
    if failure.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn traced(case: &Case) -> Vec<String> {
    run(&Case { is_traced: true, ..case.clone() }).trace
}

/// A failing run, as small as it was made.
struct Failure {
    case: Case,
    outcome: Outcome,
    job_count: usize,
    command: String,
}

impl Failure {
    fn of(arguments: &Arguments, found: Found) -> Self {
        let mutant = arguments.mutant;
        let case = Case { seed: found.seed, mutant, ..Case::default() };
        let all = found.outcome.job_count;
        let (case, outcome) =
            if arguments.whole { (case, found.outcome) } else { shrunk(&case, found.outcome) };
        let job_count = case.filter.jobs.as_ref().map_or(all, std::collections::BTreeSet::len);
        let command = repeat_command(case.seed, mutant);
        Self { case, outcome, job_count, command }
    }
}

/// Gives the command that repeats one run.
pub fn repeat_command(seed: u64, mutant: Option<Mutant>) -> String {
    let mutant = mutant.map_or(String::new(), |mutant| format!(" --mutant {}", mutant.as_str()));
    format!(
        "cargo run --release -p spillway-simulator -- faults --first {seed} --seeds 1{mutant} --trace"
    )
}

fn as_text(searched: &Searched, failure: Option<&Failure>) -> String {
    let Counts { accepted, delivered, cancelled, expired, failed, redriven, twice, faults } =
        searched.counts;
    let mut lines = vec![format!(
        "{} runs, {faults} faults: {accepted} jobs accepted = {delivered} delivered + {cancelled} \
         cancelled + {expired} expired + {failed} failed; {redriven} redriven; {twice} arrived twice, \
         with a cause",
        searched.runs
    )];
    match failure {
        None => lines.push("no promise was broken".to_owned()),
        Some(failure) => lines.extend(failure.lines()),
    }
    lines.join("\n")
}

impl Failure {
    fn lines(&self) -> Vec<String> {
        let (invariant, text) = self.broken();
        let mut lines = vec![
            format!("seed {}: BROKEN: {invariant}", self.case.seed),
            format!("  {text}"),
            format!("  with {} jobs and these faults:", self.job_count),
        ];
        lines.extend(self.outcome.fired.iter().map(|fired| format!("    {}", fired.text)));
        lines.push(format!("repeat: {}", self.command));
        lines
    }

    fn broken(&self) -> (&str, &str) {
        let broken = self.outcome.broken.as_ref();
        broken.map_or(("", ""), |broken| (broken.invariant.as_str(), broken.text.as_str()))
    }
}

fn as_json(
    arguments: &Arguments,
    searched: &Searched,
    failure: Option<&Failure>,
) -> serde_json::Value {
    let counts = searched.counts;
    let failure = failure.map(|failure| {
        let (invariant, text) = failure.broken();
        let faults: Vec<_> = failure.outcome.fired.iter().map(|fired| &fired.text).collect();
        json!({
            "seed": failure.case.seed,
            "invariant": invariant,
            "text": text,
            "jobs": failure.job_count,
            "faults": faults,
            "repeat": failure.command,
        })
    });
    json!({
        "first": arguments.first,
        "seeds": arguments.seeds,
        "runs": searched.runs,
        "faults": counts.faults,
        "accepted": counts.accepted,
        "delivered": counts.delivered,
        "cancelled": counts.cancelled,
        "expired": counts.expired,
        "failed": counts.failed,
        "redriven": counts.redriven,
        "arrived_twice": counts.twice,
        "failure": failure,
    })
}
