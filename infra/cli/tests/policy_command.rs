//! `spillway policy`, as a person or a script calls it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn spillway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spillway"));
    command.args(arguments).env_remove("SPILLWAY_CONTROL_TABLE").env_remove("SPILLWAY_JOBS_TABLE");
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file that is gone when the test is.
struct PolicyFile(PathBuf);

impl PolicyFile {
    fn new(name: &str, text: &str) -> Self {
        let file = format!("spillway-{name}-{}.toml", std::process::id());
        let path = std::env::temp_dir().join(file);
        assert!(std::fs::write(&path, text).is_ok());
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

impl Drop for PolicyFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

#[test]
fn a_policy_in_order_is_counted_and_has_status_0() {
    let file = PolicyFile::new("in-order", spillway_policy::DEFAULT);
    let output = spillway(&["policy", "check", file.path()]).output().unwrap();
    let expected = format!("{}: in order, with 9 classes and 1 channel\n", file.path());
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), expected));
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_broken_policy_is_told_line_by_line_and_has_status_1() {
    let text = "[classes.otp]\nearly_seconds = -1\nlate_seconds = 0\npriority = 12\n\
                lateness_budget_seconds = 2\n";
    let file = PolicyFile::new("broken", text);
    let output = spillway(&["policy", "check", file.path()]).output().unwrap();
    let expected = format!(
        "{0}:2: classes.otp.early_seconds must not be negative\n\
         {0}:4: classes.otp.priority must be 0 to 9\n",
        file.path()
    );
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), expected));
    assert_eq!(stdout(&output), "");
}

#[test]
fn a_policy_that_is_not_in_order_is_not_applied() {
    let file = PolicyFile::new("applied", "[classes.otp]\npriority = 12\n");
    let tables = ["--control-table", "c", "--jobs-table", "j"];
    let command = [&["policy", "apply", file.path()][..], &tables[..]].concat();
    let output = spillway(&command).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(":2: classes.otp.priority must be 0 to 9\n"));
}

#[test]
fn a_file_that_is_not_there_is_named_in_one_line() {
    let output = spillway(&["policy", "check", "no/such.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let line = stderr(&output);
    assert!(line.starts_with("error: no/such.toml: ") && line.lines().count() == 1, "{line}");
}

#[test]
fn a_file_that_is_not_utf_8_is_named_in_one_line() {
    let file = PolicyFile::new("bytes", "");
    std::fs::write(&file.0, [0xFF, 0xFE]).unwrap();
    let output = spillway(&["policy", "check", file.path()]).output().unwrap();
    let line = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(line.contains(file.path()) && line.lines().count() == 1, "{line}");
}

#[test]
fn a_policy_is_read_from_standard_input() {
    let mut command = spillway(&["policy", "check", "-"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(spillway_policy::DEFAULT.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout(&output), "-: in order, with 9 classes and 1 channel\n");
}

#[test]
fn a_reader_that_has_gone_away_is_no_failure() {
    let file = PolicyFile::new("pipe", spillway_policy::DEFAULT);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = spillway(&["policy", "check", file.path()]);
    let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

#[test]
fn errors_that_nobody_reads_are_no_panic() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = spillway(&["policy", "check", "no/such.toml"]).stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_command_that_is_not_understood_has_status_2() {
    let commands: [&[&str]; 4] =
        [&[], &["policy", "mend"], &["policy", "check"], &["policy", "show"]];
    for command in commands {
        let output = spillway(command).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert!(!stderr(&output).is_empty(), "{command:?}");
    }
}

#[test]
fn help_tells_the_exit_statuses_and_is_plain_when_no_colour_is_wanted() {
    let commands: [&[&str]; 5] = [
        &["--help"],
        &["demo", "--help"],
        &["policy", "check", "--help"],
        &["policy", "show", "--help"],
        &["policy", "apply", "--help"],
    ];
    for command in commands {
        let output = spillway(command).env("NO_COLOR", "1").output().unwrap();
        let help = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        for status in ["Exit status:", "  0  ", "  1  ", "  2  "] {
            assert!(help.contains(status), "{command:?} without {status:?}");
        }
        assert!(!help.contains('\u{1b}'), "{command:?}");
        let has_example = help.contains("Examples:\n  spillway");
        assert!(has_example || command.len() == 1, "{command:?}");
    }
}

#[test]
fn tables_that_cannot_be_reached_are_told_in_one_line() {
    let tables = ["--control-table", "c", "--jobs-table", "j"];
    let command = [&["policy", "show"][..], &tables[..]].concat();
    let output = spillway(&command)
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .output()
        .unwrap();
    let line = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()));
    assert!(line.starts_with("error: ") && line.lines().count() == 1, "{line}");
}
