//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// A text file, its path as it is written from the root.
#[derive(Debug)]
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    /// The lines that are code, with their numbers: neither empty nor a comment.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered =
            self.text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
        numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with("//"))
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every Rust file of the workspace.
pub(crate) fn sources() -> Vec<TextFile> {
    ["shared", "functions", "infra", "tests"]
        .iter()
        .flat_map(|folder| files(folder, "rs"))
        .collect()
}

/// Every file below a folder whose name ends so, in order of their paths.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<TextFile> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder);
        for entry in entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.push(TextFile { path, text });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}
