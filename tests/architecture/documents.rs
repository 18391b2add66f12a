//! The documents name what is there.

use std::collections::BTreeSet;
use std::path::Path;

use crate::repository::{TextFile, files, read, root, sources};

/// The documents of the root and of `docs/`.
fn documents() -> Vec<TextFile> {
    let of_root = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let of_root = of_root.map(|path| TextFile { path: path.into(), text: read(path) });
    of_root.into_iter().chain(files("docs", "md")).collect()
}

/// The targets of a document's links that lie in this repository.
fn links(document: &TextFile) -> Vec<&str> {
    let targets = document.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.filter_map(|target| target.split('#').next());
    files.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

/// The names between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The links of a document that lead nowhere.
fn broken_links(document: &TextFile) -> Vec<String> {
    let folder = root().join(Path::new(&document.path).parent().unwrap());
    let broken = links(document).into_iter().filter(|link| !folder.join(link).exists());
    broken.map(|link| format!("{} links to {link}", document.path)).collect()
}

#[test]
fn every_link_of_a_document_leads_to_a_file() {
    let broken: Vec<_> = documents().iter().flat_map(broken_links).collect();
    assert_eq!(broken, Vec::<String>::new());
    let text = "[a](b.md#c), [d](https://e), [f](README.md)".into();
    let document = TextFile { path: "a.md".into(), text };
    assert_eq!(broken_links(&document), ["a.md links to b.md"]);
}

/// The test that a clause must have: `## 5. Late means never early` has
/// `clause_5_late_means_never_early`.
fn clause_test(heading: &str) -> String {
    let words = heading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    format!("clause_{}", words.collect::<Vec<_>>().join("_").to_lowercase())
}

#[test]
fn every_clause_of_the_precision_contract_has_its_test_and_every_test_its_clause() {
    let contract = read("docs/precision-contract.md");
    let headings = contract.lines().filter_map(|line| line.strip_prefix("## "));
    let numbered = headings.filter(|heading| heading.starts_with(|c: char| c.is_ascii_digit()));
    let clauses: BTreeSet<_> = numbered.map(clause_test).collect();
    let tests = read("shared/domain/tests/precision_contract.rs");
    let named = tests.lines().filter_map(|line| line.strip_prefix("fn clause_"));
    let tests: BTreeSet<_> =
        named.map(|name| format!("clause_{}", name.split('(').next().unwrap())).collect();
    assert!(clauses.len() >= 10);
    assert_eq!(clauses, tests);
}

/// Tells whether a quoted name is that of a test: a sentence of four words or more.
fn is_test_name(name: &str) -> bool {
    let is_snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(is_snake) && name.split('_').count() >= 4
}

#[test]
fn every_test_that_a_document_names_is_there() {
    let sources = sources();
    let is_there = |name: &str| {
        let definition = format!("fn {name}(");
        sources.iter().any(|file| file.text.contains(&definition))
    };
    for (document, least_count) in [("docs/protocol.md", 50), ("ARCHITECTURE.md", 15)] {
        let text = read(document);
        let named: Vec<_> = quoted(&text).filter(|name| is_test_name(name)).collect();
        assert!(named.len() > least_count, "{document} names its tests");
        let missing: Vec<_> = named.into_iter().filter(|name| !is_there(name)).collect();
        assert_eq!(missing, Vec::<&str>::new(), "{document}");
    }
}

#[test]
fn every_rule_of_the_protocol_names_a_test() {
    let protocol = read("docs/protocol.md");
    let rules = protocol.split("\n### ").skip(1);
    let without: Vec<_> = rules
        .filter(|rule| !rule.contains("Held by `"))
        .filter_map(|rule| rule.lines().next())
        .collect();
    assert_eq!(without, Vec::<&str>::new());
}

/// The folder of a crate's sources.
fn folder_of(name: &str) -> String {
    let is_function = ["intake", "prefetch", "dispatch"].contains(&name);
    format!("{}/{name}/src", if is_function { "functions" } else { "shared" })
}

/// Tells whether a path such as `domain::bucket::Bucket` leads to code: its first parts to a file,
/// the others to names that the file declares.
fn leads_to_code(path: &str) -> bool {
    let parts: Vec<_> = path.split("::").collect();
    let [krate, inner @ ..] = &parts[..] else { return false };
    let file_of = |modules: &[&str]| {
        let folder = folder_of(krate);
        let module = if modules.is_empty() { "lib".to_owned() } else { modules.join("/") };
        let candidates = [format!("{folder}/{module}.rs"), format!("{folder}/{module}/mod.rs")];
        candidates.into_iter().find(|candidate| root().join(candidate).is_file())
    };
    (0..=inner.len()).rev().any(|count| {
        let (modules, items) = inner.split_at(count);
        file_of(modules).is_some_and(|file| {
            let text = read(&file);
            items.iter().all(|item| declares(&text, item))
        })
    })
}

fn declares(text: &str, item: &str) -> bool {
    let kinds = ["fn", "struct", "enum", "trait", "const", "type"];
    let is_declared = |kind: &str| {
        let declaration = format!("{kind} {item}");
        text.match_indices(&declaration).any(|(at, _)| {
            !text[at + declaration.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    };
    // The names of classes and channels are declared by a macro.
    let of_macro = text.contains("name_type!(") && text.contains(&format!("    {item}\n);"));
    of_macro || kinds.into_iter().any(is_declared)
}

#[test]
fn every_word_of_the_glossary_lives_where_it_says() {
    let glossary = read("docs/glossary.md");
    let rows = glossary.lines().filter(|line| line.starts_with("| ") && line.contains("::"));
    let paths: Vec<_> = rows.filter_map(|row| quoted(row).last()).collect();
    assert!(paths.len() > 40);
    let lost: Vec<_> = paths.into_iter().filter(|path| !leads_to_code(path)).collect();
    assert_eq!(lost, Vec::<&str>::new());
    assert!(!leads_to_code("domain::bucket::Basket"));
    assert!(!leads_to_code("domain::basket"));
}
