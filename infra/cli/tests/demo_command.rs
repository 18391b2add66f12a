//! `spillway demo`, against a stack that makes mistakes. Its jobs are due at once, whatever they
//! ask for.

mod stub;

use std::process::{Command, Output};

use serde_json::Value;
use stub::{Manner, StubStack};

#[expect(clippy::unwrap_used, reason = "a test of a program that cannot be run")]
fn demo(stub: &StubStack, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spillway"));
    // Only where jobs are lost is the patience used up; it must outlast a busy machine.
    command.arg("demo").args(arguments).args(["--patience-seconds", "30"]);
    command.envs(stub.environment()).output().unwrap()
}

/// Runs a demonstration; answers its status and its JSON.
fn counted(manner: Manner) -> (Option<i32>, Value) {
    let output = demo(&StubStack::start(manner), &["--json"]);
    let json = serde_json::from_slice(&output.stdout);
    assert!(json.is_ok(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), json.unwrap_or_default())
}

/// The counts of all jobs: accepted, delivered, lost, twice, early.
fn counts(report: &Value) -> [u64; 5] {
    ["accepted", "delivered", "lost", "twice", "early"]
        .map(|name| report["total"][name].as_u64().unwrap_or(u64::MAX))
}

#[test]
fn a_stack_that_delivers_each_job_once_has_status_0() {
    let (status, report) = counted(Manner::Faithful);
    assert_eq!(counts(&report), [2_300, 2_300, 0, 0, 0]);
    assert_eq!((status, &report["is_clean"]), (Some(0), &Value::Bool(true)));
    assert_eq!(report["peak_requested"], 2_000);
    assert_eq!(report["total"]["sent_after_due"]["max_millis"], 0);
    assert_eq!(report["total"]["arrived_after_due"]["p99_millis"], 3);
    assert_eq!(report["classes"].as_array().map(Vec::len), Some(10));
}

// Each mistake is made once a call, and there are five calls.

#[test]
fn jobs_that_come_twice_or_early_or_are_not_accepted_are_counted_and_have_status_1() {
    // Its queue also hands deliveries out again, which are no second ones, and its first call
    // fails, which is made again.
    let (status, report) = counted(Manner::Clumsy);
    assert_eq!(counts(&report), [2_295, 2_295, 0, 5, 5]);
    assert_eq!((status, &report["is_clean"]), (Some(1), &Value::Bool(false)));
    let reasons = report["not_accepted_because"].as_array().unwrap();
    assert_eq!(reasons, &["rejected: {\"type\":\"invalid\"}"]);
}

#[test]
fn lost_jobs_are_counted_in_plain_text_and_looked_up_and_have_status_1() {
    let output = demo(&StubStack::start(Manner::Loses), &[]);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(table.contains("\n0 not accepted, 5 lost, 0 twice, 0 early\n"), "{table}");
    assert!(table.contains("\nthe busiest second: 2,000 asked for, "), "{table}");
    assert!(!table.contains('\u{1b}') && !told.contains('\u{1b}'));
    assert_eq!(told.matches("\nlost: demo-").count(), 5, "{told}");
    assert!(told.contains(": scheduled after 2 attempts\n"), "{told}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_stack_that_is_not_there_is_told_in_lines() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spillway"));
    let stub = StubStack::start(Manner::Faithful);
    command.arg("demo").envs(stub.environment()).env_remove("INBOX_QUEUE_URL");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: INBOX_QUEUE_URL is not set\n");
}

#[test]
fn an_environment_file_goes_before_the_environment() {
    let path = std::env::temp_dir().join(format!("spillway-stack-{}.env", std::process::id()));
    std::fs::write(&path, "SPILLWAY_URL='https://elsewhere'\n").unwrap();
    let stub = StubStack::start(Manner::Faithful);
    let output = demo(&stub, &["--env-file", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected = "error: SPILLWAY_URL must begin with http://: a local stack's\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
}
