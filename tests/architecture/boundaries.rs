//! Which crate may depend on which.

use crate::workspace::{METADATA, Member, members};

/// What one crate's manifest may name. A name that ends in `*` stands for all that begin so.
struct Boundary {
    of: &'static str,
    /// All that it may be built with.
    normal: &'static [&'static str],
    /// What not even its tests may be built with.
    never: &'static [&'static str],
}

const TABLE: [Boundary; 15] = [
    Boundary {
        of: "spillway-domain",
        normal: &["thiserror", "xxhash-rust"],
        never: &["spillway-*", "serde", "tokio", "aws-*", "lambda_*"],
    },
    Boundary {
        of: "spillway-policy",
        normal: &["spillway-domain", "serde", "toml", "thiserror"],
        never: &["spillway-app", "spillway-aws", "tokio", "aws-*", "lambda_*"],
    },
    Boundary {
        of: "spillway-app",
        normal: &["spillway-domain", "futures", "thiserror", "tracing"],
        never: &["spillway-aws", "tokio", "aws-*", "lambda_*"],
    },
    Boundary {
        of: "spillway-template",
        normal: &["spillway-domain", "minijinja", "serde_json", "thiserror"],
        never: &["spillway-app", "spillway-aws", "tokio", "aws-*", "lambda_*"],
    },
    Boundary {
        of: "spillway-delivery",
        normal: &["spillway-app", "spillway-domain", "jiff", "serde", "serde_json", "sha2"],
        never: &["spillway-aws", "tokio", "aws-*", "lambda_*"],
    },
    Boundary {
        of: "spillway-webhook",
        normal: &[
            "spillway-app",
            "spillway-delivery",
            "spillway-domain",
            "base64",
            "hmac",
            "http",
            "http-body-util",
            "hyper",
            "hyper-rustls",
            "hyper-util",
            "jiff",
            "rustls",
            "sha2",
            "thiserror",
            "tokio",
            "tower",
            "tracing",
        ],
        never: &["spillway-aws", "spillway-testkit", "aws-*", "lambda_*"],
    },
    Boundary {
        of: "spillway-aws",
        normal: &[
            "spillway-app",
            "spillway-delivery",
            "spillway-domain",
            "aws-config",
            "aws-sdk-*",
            "aws-smithy-*",
            "futures",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tracing",
        ],
        never: &["lambda_*", "spillway-testkit"],
    },
    Boundary {
        of: "spillway-telemetry",
        normal: &["spillway-domain", "serde", "serde_json", "tracing", "tracing-subscriber"],
        never: &["spillway-app", "spillway-aws", "tokio", "aws-*", "lambda_*"],
    },
    Boundary {
        of: "spillway-testkit",
        normal: &["spillway-app", "spillway-domain", "futures"],
        never: &["spillway-aws", "aws-*", "lambda_*"],
    },
    Boundary {
        of: "spillway-model",
        normal: &["spillway-domain", "clap", "xxhash-rust"],
        never: &["spillway-app", "spillway-testkit", "tokio", "aws-*", "lambda_*"],
    },
    Boundary {
        of: "spillway-simulator",
        normal: &[
            "spillway-app",
            "spillway-domain",
            "spillway-policy",
            "spillway-testkit",
            "clap",
            "futures",
            "hdrhistogram",
            "mimalloc",
            "serde",
            "serde_json",
        ],
        never: &["spillway-aws", "tokio", "aws-*", "lambda_*"],
    },
    function(
        "spillway-intake",
        &["spillway-prefetch", "spillway-dispatch", "spillway-webhook", "aws-*"],
    ),
    function(
        "spillway-prefetch",
        &["spillway-intake", "spillway-dispatch", "spillway-template", "spillway-webhook", "aws-*"],
    ),
    function(
        "spillway-dispatch",
        &["spillway-intake", "spillway-prefetch", "spillway-template", "aws-*"],
    ),
    Boundary {
        of: "spillway-cli",
        normal: &[
            "spillway-app",
            "spillway-aws",
            "spillway-domain",
            "spillway-policy",
            "spillway-template",
            "aws-config",
            "aws-sdk-*",
            "clap",
            "hdrhistogram",
            "indicatif",
            "jiff",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "ureq",
        ],
        never: &["lambda_*", "spillway-intake", "spillway-prefetch", "spillway-dispatch"],
    },
];

/// The crate of the tests, which may name everything and is named by nothing.
const TESTS: &str = "spillway-tests";

const fn function(of: &'static str, never: &'static [&'static str]) -> Boundary {
    let normal = &[
        "spillway-app",
        "spillway-aws",
        "spillway-domain",
        "spillway-policy",
        "spillway-telemetry",
        "spillway-template",
        "spillway-webhook",
        "aws_lambda_events",
        "axum",
        "jiff",
        "lambda_*",
        "serde",
        "serde_json",
        "sha2",
        "thiserror",
        "tokio",
        "tower",
        "tracing",
        "ulid",
    ];
    Boundary { of, normal, never }
}

fn is_among(name: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *pattern,
    })
}

/// Lists what the manifests name and may not, and the crates that the table does not know.
fn violations(members: &[Member]) -> Vec<String> {
    members.iter().flat_map(violations_of).collect()
}

fn violations_of(member: &Member) -> Vec<String> {
    let name = &member.name;
    if name == TESTS {
        let normal = member.normal.iter();
        return normal.map(|dependency| format!("{name} is built with {dependency}")).collect();
    }
    let Some(boundary) = TABLE.iter().find(|boundary| boundary.of == name) else {
        return vec![format!("{name} has no row in the table")];
    };
    let normal = member.normal.iter().filter(|dependency| !is_among(dependency, boundary.normal));
    let dev = member.dev.iter().filter(|dependency| is_among(dependency, boundary.never));
    normal
        .map(|dependency| format!("{name} is built with {dependency}"))
        .chain(dev.map(|dependency| format!("{name} is tested with {dependency}")))
        .collect()
}

fn named(name: &str) -> Member {
    Member { name: name.into(), ..Member::default() }
}

#[test]
fn every_crate_depends_only_on_what_its_boundary_allows() {
    assert_eq!(violations(&members()), Vec::<String>::new());
}

#[test]
fn every_row_of_the_table_is_about_a_crate_of_the_workspace() {
    let members = members();
    for boundary in TABLE {
        assert!(members.iter().any(|member| member.name == boundary.of), "{}", boundary.of);
    }
}

#[test]
fn a_forbidden_dependency_is_found_in_every_row() {
    let forbidden = [
        ("spillway-domain", "serde"),
        ("spillway-domain", "spillway-app"),
        ("spillway-policy", "tokio"),
        ("spillway-app", "spillway-aws"),
        ("spillway-app", "aws-sdk-sqs"),
        ("spillway-app", "lambda_runtime"),
        ("spillway-app", "tokio"),
        ("spillway-aws", "lambda_runtime"),
        ("spillway-aws", "spillway-testkit"),
        ("spillway-delivery", "spillway-aws"),
        ("spillway-template", "tokio"),
        ("spillway-webhook", "spillway-aws"),
        ("spillway-webhook", "lambda_runtime"),
        ("spillway-telemetry", "spillway-app"),
        ("spillway-testkit", "spillway-aws"),
        ("spillway-testkit", "lambda_http"),
        ("spillway-model", "spillway-app"),
        ("spillway-model", "spillway-testkit"),
        ("spillway-simulator", "spillway-aws"),
        ("spillway-simulator", "lambda_runtime"),
        ("spillway-simulator", "tokio"),
        ("spillway-intake", "spillway-dispatch"),
        ("spillway-intake", "spillway-testkit"),
        ("spillway-prefetch", "spillway-intake"),
        ("spillway-prefetch", "aws-sdk-dynamodb"),
        ("spillway-prefetch", "spillway-testkit"),
        ("spillway-dispatch", "spillway-prefetch"),
        ("spillway-dispatch", "aws-sdk-sqs"),
        ("spillway-dispatch", "spillway-testkit"),
        ("spillway-cli", "lambda_runtime"),
        ("spillway-cli", "spillway-testkit"),
        ("spillway-tests", "serde"),
    ];
    for (name, dependency) in forbidden {
        let broken = Member { normal: vec![dependency.into()], ..named(name) };
        assert_eq!(violations(&[broken]), [format!("{name} is built with {dependency}")]);
    }
    for boundary in TABLE {
        assert!(forbidden.iter().any(|(name, _)| *name == boundary.of), "{}", boundary.of);
    }
}

#[test]
fn what_is_never_allowed_is_found_among_the_tests_dependencies_too() {
    for boundary in TABLE {
        for pattern in boundary.never {
            let dependency = pattern.replace('*', "something");
            let broken = Member { dev: vec![dependency.clone()], ..named(boundary.of) };
            let expected = format!("{} is tested with {dependency}", boundary.of);
            assert_eq!(violations(&[broken]), [expected]);
        }
    }
}

#[test]
fn a_crate_that_the_table_does_not_know_is_found() {
    let stranger = named("spillway-common");
    assert_eq!(violations(&[stranger]), ["spillway-common has no row in the table"]);
}

#[test]
fn the_domain_is_built_with_two_crates_that_need_no_standard_library() {
    let packages = METADATA.workspace_packages();
    let domain = packages.iter().find(|package| package.name == "spillway-domain").unwrap();
    let normal: Vec<_> = domain
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind == cargo_metadata::DependencyKind::Normal)
        .collect();
    let mut names: Vec<_> = normal.iter().map(|dependency| dependency.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["thiserror", "xxhash-rust"]);
    for dependency in normal {
        assert!(!dependency.uses_default_features, "{}", dependency.name);
        assert!(!dependency.features.iter().any(|feature| feature == "std"), "{}", dependency.name);
    }
}
