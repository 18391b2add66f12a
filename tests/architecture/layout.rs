//! What every file and every manifest keeps to.

use serde::Deserialize;

use crate::repository::{self, TextFile, files, read, sources};
use crate::workspace::METADATA;

/// The most lines of a file.
const FILE_LINES_MAX: usize = 500;
/// A function's `main.rs` wires its parts together and is shorter than this.
const MAIN_LINES: usize = 40;

/// What reads a clock, waits or draws a random number.
const TIME_AND_CHANCE: [&str; 12] = [
    "::now(",
    ".elapsed(",
    "UNIX_EPOCH",
    "::sleep",
    "sleep(",
    "tokio::time",
    "rand::",
    "random()",
    "fastrand",
    "getrandom",
    "RandomState",
    "Ulid::new",
];

/// Where time and chance may enter: the adapters, the programs' own files, and the tools that
/// stand outside the service.
const MAY_NAME_THEM: [(&str, &str); 8] = [
    ("shared/aws/src/", "the adapters are the outside"),
    ("shared/webhook/", "so are connections, whose time-outs are tested on real ones"),
    ("functions/", "only as main.rs, see below"),
    ("infra/cli/", "the operator's tool and its tests run by the clock of their own machine"),
    ("tests/", "seeds, and the tests of real delays on the emulator"),
    ("shared/simulator/src/main.rs", "tells how long a run took, which decides nothing in it"),
    ("shared/simulator/benches/", "measures"),
    ("shared/domain/tests/laws/arbitrary.rs", "draws the seed of a run and prints it"),
];

fn may_name_time_and_chance(path: &str) -> bool {
    let is_listed = MAY_NAME_THEM.iter().any(|(beginning, _)| path.starts_with(beginning));
    is_listed && (!path.starts_with("functions/") || path.ends_with("/src/main.rs"))
}

/// Lists the lines of a file that name time or chance.
fn names_of_time_and_chance(file: &TextFile) -> Vec<String> {
    let is_found = |line: &str| TIME_AND_CHANCE.iter().any(|name| line.contains(name));
    let lines = file.code().filter(|(_, line)| is_found(line));
    lines.map(|(number, line)| format!("{}:{number}: {line}", file.path)).collect()
}

fn functions() -> Vec<TextFile> {
    let sources = files("functions", "rs").into_iter();
    sources.filter(|file| file.path.ends_with("/src/main.rs")).collect()
}

#[test]
fn time_and_chance_enter_only_through_the_adapters_and_the_programs() {
    let inside = sources().into_iter().filter(|file| !may_name_time_and_chance(&file.path));
    let found: Vec<_> = inside.flat_map(|file| names_of_time_and_chance(&file)).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_clock_a_wait_and_a_random_number_are_found() {
    for line in [
        "let now = SystemTime::now();",
        "let begin = std::time::Instant::now();",
        "let now = jiff::Timestamp::now();",
        "tokio::time::sleep(pause).await;",
        "std::thread::sleep(pause);",
        "let offset = rand::random::<u64>();",
        "let id = Ulid::new();",
    ] {
        let file = TextFile { path: "shared/app/src/new.rs".into(), text: line.into() };
        assert_eq!(names_of_time_and_chance(&file).len(), 1, "{line}");
        assert!(!may_name_time_and_chance(&file.path));
    }
    let text =
        "// SystemTime::now() would be wrong here\nclock.sleep_until(at).await;\nclock.now();";
    let file = TextFile { path: "shared/app/src/new.rs".into(), text: text.into() };
    assert_eq!(names_of_time_and_chance(&file), Vec::<String>::new());
    assert!(!may_name_time_and_chance("functions/intake/src/handler.rs"));
}

#[test]
fn only_the_adapters_the_tool_and_the_tests_name_the_sdk() {
    let may = ["shared/aws/", "infra/cli/", "tests/"];
    let others =
        sources().into_iter().filter(|file| !may.iter().any(|at| file.path.starts_with(at)));
    let names_it = |file: &TextFile| file.code().any(|(_, line)| line.contains("aws_sdk_"));
    let found: Vec<_> = others.filter(names_it).map(|file| file.path).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn no_file_is_longer_than_a_person_reads() {
    let files = sources().into_iter().map(|file| (file.text.lines().count(), file.path));
    let long: Vec<_> = files.filter(|(lines, _)| *lines > FILE_LINES_MAX).collect();
    assert_eq!(long, Vec::new());
}

#[test]
fn a_functions_main_only_wires_its_parts() {
    assert_eq!(functions().len(), 3);
    for file in functions() {
        let lines = file.text.lines().count();
        assert!(lines < MAIN_LINES, "{} has {lines} lines", file.path);
    }
}

#[test]
fn the_domain_needs_no_standard_library_and_the_inner_crates_are_documented_whole() {
    let begins = |path: &str, attribute: &str| {
        assert!(read(path).lines().any(|line| line == attribute), "{path} lacks {attribute}");
    };
    begins("shared/domain/src/lib.rs", "#![no_std]");
    begins("shared/domain/src/lib.rs", "#![deny(missing_docs)]");
    begins("shared/app/src/lib.rs", "#![deny(missing_docs)]");
}

/// Lists the public functions of a file that have no example in their documentation.
fn without_example(file: &TextFile) -> Vec<String> {
    let mut has_example = false;
    let mut found = Vec::new();
    for line in file.text.lines().map(str::trim) {
        if line.starts_with("pub fn ") || line.starts_with("pub const fn ") {
            if !has_example {
                found.push(format!("{}: {line}", file.path));
            }
            has_example = false;
        } else if line.starts_with("///") {
            has_example |= line.starts_with("/// ```");
        } else if !line.starts_with("#[") {
            has_example = false;
        }
    }
    found
}

#[test]
fn every_public_function_of_the_domain_shows_an_example() {
    let found: Vec<_> = files("shared/domain/src", "rs").iter().flat_map(without_example).collect();
    assert_eq!(found, Vec::<String>::new());
    let bare = TextFile { path: "a".into(), text: "/// Tells.\npub fn tell() {}".into() };
    assert_eq!(without_example(&bare).len(), 1);
}

#[derive(Debug, Deserialize)]
struct Manifest {
    package: toml::Table,
    lints: Option<toml::Table>,
}

#[test]
fn every_crate_inherits_what_the_workspace_says() {
    for package in METADATA.workspace_packages() {
        let text = std::fs::read_to_string(&package.manifest_path).unwrap();
        let manifest: Manifest = toml::from_str(&text).unwrap();
        let name = &package.name;
        let inherits =
            |table: &toml::Table| table.get("workspace") == Some(&toml::Value::Boolean(true));
        assert!(manifest.lints.as_ref().is_some_and(inherits), "{name}: lints");
        for field in ["version", "edition", "rust-version", "license", "publish"] {
            let value = manifest.package.get(field).and_then(toml::Value::as_table);
            assert!(value.is_some_and(inherits), "{name}: {field}");
        }
    }
}

#[test]
fn the_toolchain_is_the_one_that_the_manifests_ask_for() {
    let toolchain: toml::Table = toml::from_str(&read("rust-toolchain.toml")).unwrap();
    let channel = toolchain["toolchain"]["channel"].as_str().unwrap();
    for package in METADATA.workspace_packages() {
        let asked = package.rust_version.as_ref().unwrap();
        assert_eq!(channel, asked.to_string(), "{}", package.name);
    }
}

/// Words that say nothing of what a thing is.
const EMPTY_WORDS: [&str; 8] =
    ["util", "utils", "helper", "helpers", "manager", "common", "misc", "data"];

#[test]
fn no_file_and_no_folder_of_code_has_an_empty_name() {
    for file in sources() {
        let parts = file.path.trim_end_matches(".rs").split(['/', '_', '-']);
        let empty: Vec<_> = parts.filter(|part| EMPTY_WORDS.contains(part)).collect();
        assert!(empty.is_empty(), "{}: {empty:?}", file.path);
    }
    assert!(repository::root().join("shared/domain").is_dir());
}
