//! How far a search goes, and which rule it goes without.

use crate::fault::Fault;
use crate::rule::Rule;

/// The most jobs of a search.
pub const JOBS_MAX: usize = 2;

/// The attempts that a channel allows.
pub const ATTEMPTS_MAX: u8 = 2;
/// How often a claim that is not answered is asked for.
pub const CLAIM_TRIES_MAX: u8 = 2;
/// How often an entry may be passed on before its job goes back to the table.
pub const HOPS_MAX: u8 = 2;

/// The bounds of a search.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// How many jobs there are, 1 or [`JOBS_MAX`]; two travel in one pack.
    pub jobs: usize,
    /// How many faults happen at most.
    pub faults: u8,
    /// The faults that may happen.
    pub kinds: Vec<Fault>,
    /// How many calls follow the creation at most.
    pub calls: u8,
    /// How many calls are under way at once.
    pub callers: usize,
    /// Whether the jobs expire.
    pub expire: bool,
    /// The rule that is left out.
    pub without: Option<Rule>,
    /// The states after which a search gives up.
    pub states_max: usize,
}

impl Bounds {
    /// Gives bounds of so many jobs, faults and calls, with every fault and every rule.
    pub fn new(jobs: usize, faults: u8, calls: u8) -> Self {
        Self {
            jobs,
            faults,
            kinds: Fault::ALL.to_vec(),
            calls,
            callers: 1,
            expire: false,
            without: None,
            states_max: 100_000_000,
        }
    }

    /// Gives the same bounds without a rule.
    #[must_use]
    pub fn without(self, rule: Rule) -> Self {
        Self { without: Some(rule), ..self }
    }

    /// Tells whether a rule is kept.
    pub fn keeps(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}
