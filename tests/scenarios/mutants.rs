//! The known mistakes: a fault run finds each, at the seed that the documentation names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use spillway_simulator::faults::{Case, run};
use spillway_simulator::mutants::Mutant;

/// How soon a mistake must be found.
const SEEDS_MAX: u64 = 2_000;

/// The documented mistakes: the first seed that found each, and the promise that it broke.
fn documented() -> BTreeMap<String, (u64, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/simulation.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, table) = text.split_once("| `--mutant` |").expect("the table of mistakes");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [_, name, _, seed, promise, _] = cells[..] else { panic!("a row of four: {row}") };
        (name.trim_matches('`').to_owned(), (seed.parse().unwrap(), promise.to_owned()))
    })
    .collect()
}

#[test]
fn every_known_mistake_breaks_its_promise_at_its_documented_seed() {
    let documented = documented();
    assert_eq!(documented.len(), Mutant::ALL.len());
    for mutant in Mutant::ALL {
        let (seed, promise) = &documented[mutant.as_str()];
        assert!((1..=SEEDS_MAX).contains(seed), "{}", mutant.as_str());
        let outcome = run(&Case { seed: *seed, mutant: Some(*mutant), ..Case::default() });
        let broken = outcome.broken.unwrap_or_else(|| panic!("{} is found", mutant.as_str()));
        assert_eq!(broken.invariant.as_str(), promise, "{}: {}", mutant.as_str(), broken.text);
    }
}

#[test]
fn without_the_mistake_the_same_seed_breaks_no_promise() {
    for (name, (seed, _)) in documented() {
        let outcome = run(&Case { seed, ..Case::default() });
        assert_eq!(outcome.broken, None, "{name}, seed {seed}");
    }
}
