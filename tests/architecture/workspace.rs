//! What `cargo metadata` tells of the workspace.

use std::sync::LazyLock;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use crate::repository;

/// The targets that the service is built for; others' crates are never compiled.
pub(crate) const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

pub(crate) static METADATA: LazyLock<Metadata> = LazyLock::new(|| {
    let of_targets = TARGETS.iter().flat_map(|target| ["--filter-platform", target]);
    let options = ["--locked"].into_iter().chain(of_targets).map(str::to_owned);
    let mut command = MetadataCommand::new();
    command.manifest_path(repository::root().join("Cargo.toml"));
    command.other_options(options.collect::<Vec<_>>()).exec().unwrap()
});

/// A crate of the workspace and the crates that its manifest names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// What it is built with, build scripts' included.
    pub(crate) normal: Vec<String>,
    /// What only its tests are built with.
    pub(crate) dev: Vec<String>,
}

pub(crate) fn members() -> Vec<Member> {
    let member = |package: &cargo_metadata::Package| {
        let (dev, normal): (Vec<_>, Vec<_>) = package
            .dependencies
            .iter()
            .partition(|dependency| dependency.kind == DependencyKind::Development);
        let names = |dependencies: Vec<&cargo_metadata::Dependency>| {
            dependencies.into_iter().map(|dependency| dependency.name.clone()).collect()
        };
        Member { name: package.name.to_string(), normal: names(normal), dev: names(dev) }
    };
    METADATA.workspace_packages().into_iter().map(member).collect()
}
