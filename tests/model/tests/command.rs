//! The program: what it prints, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

fn run(options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spillway-model")).args(options).output().unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_search_without_a_broken_promise_ends_well_and_tells_its_states_and_time() {
    let output = run(&["--faults", "0", "--calls", "0"]);
    assert_eq!(output.status.code(), Some(0));
    let text = printed(&output);
    assert!(text.starts_with("every promise is kept\n"), "{text}");
    assert!(text.contains(" states, ") && text.ends_with(" s\n"), "{text}");
}

#[test]
fn a_broken_promise_ends_with_status_1_and_the_trace() {
    let output = run(&["--without", "5", "--faults", "0", "--calls", "0"]);
    assert_eq!(output.status.code(), Some(1));
    let text = printed(&output);
    assert!(text.contains("\n   1. caller: submits"), "{text}");
    assert!(text.contains("\nbroken: never early"), "{text}");
}

#[test]
fn too_many_states_end_with_status_3_and_prove_nothing() {
    let output = run(&["--states", "50"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(printed(&output).contains("nothing is proved"));
}

#[test]
fn options_that_say_nothing_sensible_are_refused_with_what_is_possible() {
    for (options, hint) in [
        (["--jobs", "3"], "3 is not in 1..=2"),
        (["--faults", "many"], "invalid digit"),
        (["--only", "storm"], "possible values: crash, stall"),
        (["--without", "13"], "13 is not in 1..=12"),
        (["--callers", "0"], "0 is not in 1..=3"),
    ] {
        let output = run(&options);
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(hint), "{options:?}: {told}");
    }
}
