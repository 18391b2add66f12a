//! What `deny.toml` says of licences and sources, held without cargo-deny.

use cargo_metadata::Package;
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

use crate::repository;
use crate::workspace::{METADATA, TARGETS};

#[derive(Debug, Deserialize)]
struct Deny {
    graph: Graph,
    licenses: Licenses,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    unknown_registry: String,
    unknown_git: String,
    #[serde(default)]
    allow_registry: Vec<String>,
    #[serde(default)]
    allow_git: Vec<String>,
}

fn deny() -> Deny {
    toml::from_str(&repository::read("deny.toml")).unwrap()
}

/// Tells whether one of the allowed licences satisfies the expression. The old way of writing it
/// with a slash is read as well.
fn is_allowed(expression: &str, allowed: &[Licensee]) -> bool {
    Expression::parse_mode(expression, ParseMode::LAX).is_ok_and(|expression| {
        expression
            .evaluate(|requirement| allowed.iter().any(|licence| licence.satisfies(requirement)))
    })
}

fn allowed() -> Vec<Licensee> {
    deny().licenses.allow.iter().map(|name| Licensee::parse(name).expect(name)).collect()
}

fn refused<'a>(packages: impl IntoIterator<Item = &'a Package>) -> Vec<String> {
    let allowed = allowed();
    let is_refused = |package: &&Package| {
        !package.license.as_deref().is_some_and(|licence| is_allowed(licence, &allowed))
    };
    let name = |package: &Package| format!("{}: {:?}", package.name, package.license);
    packages.into_iter().filter(is_refused).map(name).collect()
}

/// The crates of the workspace have no source; every other comes from the public registry.
fn has_known_source(package: &Package) -> bool {
    let is_member = METADATA.workspace_members.contains(&package.id);
    package.source.as_ref().map_or(is_member, cargo_metadata::Source::is_crates_io)
}

#[test]
fn every_package_has_a_licence_that_is_allowed() {
    assert!(METADATA.packages.len() > 100, "all packages are listed");
    assert_eq!(refused(&METADATA.packages), Vec::<String>::new());
}

#[test]
fn every_allowed_licence_is_needed_by_some_package() {
    let allowed = allowed();
    for (index, licence) in allowed.iter().enumerate() {
        let mut others = allowed.clone();
        others.remove(index);
        let is_needed = METADATA.packages.iter().any(|package| {
            package.license.as_deref().is_some_and(|expression| !is_allowed(expression, &others))
        });
        assert!(is_needed, "{licence} is allowed and not needed");
    }
}

#[test]
fn a_licence_that_is_not_allowed_is_found() {
    let allowed = allowed();
    for refused in ["GPL-3.0-only", "MIT AND AGPL-3.0-only", "SSPL-1.0", "no licence at all"] {
        assert!(!is_allowed(refused, &allowed), "{refused}");
    }
    for accepted in ["MIT", "GPL-3.0-only OR MIT", "MIT/Apache-2.0", "ISC AND (MIT OR SSPL-1.0)"] {
        assert!(is_allowed(accepted, &allowed), "{accepted}");
    }
    let mut package = METADATA.packages[0].clone();
    package.license = None;
    assert_eq!(refused([&package]).len(), 1);
}

#[test]
fn every_package_comes_from_the_workspace_or_the_public_registry() {
    let sources = deny().sources;
    let denied = Sources {
        unknown_registry: "deny".into(),
        unknown_git: "deny".into(),
        allow_registry: Vec::new(),
        allow_git: Vec::new(),
    };
    assert_eq!(sources, denied);
    let unknown = METADATA.packages.iter().filter(|package| !has_known_source(package));
    assert_eq!(
        unknown.map(|package| package.name.as_str()).collect::<Vec<_>>(),
        Vec::<&str>::new()
    );
}

#[test]
fn a_package_from_elsewhere_is_found() {
    let mut package =
        METADATA.packages.iter().find(|package| package.source.is_some()).unwrap().clone();
    assert!(has_known_source(&package));
    let elsewhere = r#""git+https://example.org/crate#0123456789abcdef""#;
    package.source = serde_json::from_str(elsewhere).unwrap();
    assert!(!has_known_source(&package));
    package.source = None;
    assert!(!has_known_source(&package), "a path outside the workspace");
}

#[test]
fn the_targets_are_those_that_the_service_is_built_for() {
    assert_eq!(deny().graph.targets, TARGETS);
}
