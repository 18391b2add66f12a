//! Fault runs: fixed seeds that must pass, fresh ones that are reported, and the runner itself.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeSet;
use std::process::{Command, Output};

use spillway_simulator::faults::{
    Case, Filter, Invariant, Kind, Outcome, repeat_command, run, search, shrunk,
};
use spillway_simulator::mutants::Mutant;

/// Fails with the seed, the promise and the command that repeats the run.
fn assert_nothing_found(first: u64, seeds: u64) {
    let searched = search(first, seeds, None);
    if let Some(found) = &searched.found {
        let broken = found.outcome.broken.as_ref().unwrap();
        let (promise, repeat) = (broken.invariant.as_str(), repeat_command(found.seed, None));
        panic!("seed {}: {promise}: {}\nrepeat: {repeat}", found.seed, broken.text);
    }
    assert_eq!(searched.runs, seeds);
    assert!(searched.counts.faults > 10 * seeds, "faults happen");
    assert!(searched.counts.delivered > seeds, "and jobs are delivered");
    assert!(searched.counts.failed > seeds, "and fail");
    assert!(searched.counts.redriven > seeds, "and are put back");
}

#[test]
fn five_hundred_fixed_seeds_break_no_promise() {
    assert_nothing_found(1, 500);
}

#[test]
fn a_hundred_fresh_seeds_break_no_promise() {
    // Another process, other seeds; the range lies beyond every fixed one.
    let first = 1_000_000 + u64::from(std::process::id()) * 1_000;
    println!("fresh seeds: faults --first {first} --seeds 100");
    assert_nothing_found(first, 100);
}

fn traced(seed: u64, filter: Filter) -> Outcome {
    run(&Case { seed, filter, is_traced: true, ..Case::default() })
}

#[test]
fn a_run_is_the_same_every_time() {
    for seed in 1..6 {
        let (one, other) = (traced(seed, Filter::default()), traced(seed, Filter::default()));
        assert!(one.trace.len() > 50, "seed {seed}");
        assert_eq!(one.trace, other.trace, "seed {seed}");
        assert_eq!(one.fired, other.fired, "seed {seed}");
    }
}

#[test]
fn every_kind_of_fault_happens_in_fifty_runs() {
    let fired: BTreeSet<_> = (1..=50)
        .flat_map(|seed| run(&Case { seed, ..Case::default() }).fired)
        .map(|fired| fired.kind)
        .collect();
    let never: Vec<_> = Kind::ALL
        .iter()
        .filter(|kind| **kind != Kind::Reordered && !fired.contains(kind))
        .collect();
    assert_eq!(never, Vec::<&Kind>::new());
}

#[test]
fn a_kind_that_is_left_out_does_not_happen() {
    let without: BTreeSet<_> = Kind::ALL.iter().copied().collect();
    let outcome = traced(3, Filter { without, ..Filter::default() });
    assert_eq!((outcome.fired.len(), outcome.broken), (0, None));
    assert_eq!(outcome.counts.twice, 0, "nothing is sent twice without a fault");
}

#[test]
fn a_job_that_is_left_out_is_not_handed_in() {
    let jobs = Some(BTreeSet::from([0, 2]));
    let outcome = traced(3, Filter { jobs, ..Filter::default() });
    assert!(outcome.job_count > 2 && outcome.counts.accepted <= 2);
    assert!(outcome.trace.iter().all(|line| !line.contains("s3-1 ")));
}

#[test]
fn what_is_left_of_a_shrunk_run_fails_in_the_same_way() {
    let case = Case { seed: 1, mutant: Some(Mutant::ClaimWithoutLease), ..Case::default() };
    let whole = run(&case);
    let (small_case, small) = shrunk(&case, whole.clone());
    assert_eq!(small.broken.as_ref().unwrap().invariant, Invariant::TwiceOnlyWithCause);
    assert_eq!(whole.broken.unwrap().invariant, Invariant::TwiceOnlyWithCause);
    assert!(small.fired.len() < whole.fired.len());
    assert!(small_case.filter.jobs.as_ref().unwrap().len() <= 3, "of {}", whole.job_count);
    let again = run(&small_case);
    assert_eq!(again.broken, small.broken, "it can be repeated");
}

fn faults(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_spillway-simulator");
    Command::new(program).arg("faults").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_search_that_finds_nothing_ends_well() {
    let output = faults(&["--first", "2", "--seeds", "3", "--json"]);
    assert!(output.status.success());
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["runs"], &told["failure"]), (&3.into(), &serde_json::Value::Null));
}

#[test]
fn a_broken_promise_is_told_with_its_seed_and_the_command_that_repeats_it() {
    let output = faults(&["--seeds", "50", "--mutant", "rounded-down", "--trace"]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stdout);
    assert!(told.contains("BROKEN: nothing is sent early by its sender's clock"), "{told}");
    let repeat = told.lines().find_map(|line| line.strip_prefix("repeat: ")).unwrap();
    let (_, arguments) = repeat.split_once("faults ").unwrap();
    let again = faults(&arguments.split(' ').collect::<Vec<_>>());
    let without_counts = |told: &str| told.lines().skip(1).collect::<Vec<_>>().join("\n");
    assert_eq!(without_counts(&text(&again.stdout)), without_counts(&told));
    assert_eq!(again.stderr, output.stderr, "the trace, too");
    assert!(text(&again.stderr).contains("BROKEN"));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for arguments in [
        &["--seeds", "0"][..],
        &["--seeds", "many"],
        &["--first", "-1"],
        &["--mutant", "no-such-mistake"],
        &["--sedes", "1"],
    ] {
        let output = faults(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).starts_with("error: "), "{arguments:?}");
    }
}
