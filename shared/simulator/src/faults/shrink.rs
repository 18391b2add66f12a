//! Makes a failing run small: few jobs, then few kinds of faults, then few faults.

use std::collections::BTreeSet;

use super::kind::Kind;
use super::ledger::Invariant;
use super::run::{Case, Outcome, run};

/// The most runs that shrinking makes.
const RUNS_MAX: u32 = 1_500;

/// Leaves out of a failing run whatever its failure does not need: the same promise is broken in
/// what remains. Gives the run and what it came to.
pub fn shrunk(case: &Case, outcome: Outcome) -> (Case, Outcome) {
    let Some(broken) = &outcome.broken else { return (case.clone(), outcome) };
    let invariant = broken.invariant;
    let mut small = Small { case: case.clone(), outcome, invariant, runs: 0 };
    small.drop_kinds();
    small.drop_jobs();
    small.drop_kinds();
    small.drop_faults();
    small.drop_jobs();
    (small.case, small.outcome)
}

struct Small {
    case: Case,
    outcome: Outcome,
    invariant: Invariant,
    runs: u32,
}

impl Small {
    /// Takes a smaller case when it still fails in the same way.
    fn try_case(&mut self, case: Case) -> bool {
        self.runs += 1;
        if self.runs > RUNS_MAX {
            return false;
        }
        let outcome = run(&case);
        let fails = outcome.broken.as_ref().is_some_and(|it| it.invariant == self.invariant);
        if fails {
            (self.case, self.outcome) = (case, outcome);
        }
        fails
    }

    fn drop_kinds(&mut self) {
        let fired: BTreeSet<_> = self.outcome.fired.iter().map(|fired| fired.kind).collect();
        let unused: Vec<_> = Kind::ALL.iter().filter(|kind| !fired.contains(kind)).collect();
        for kind in fired.iter().chain(unused) {
            let mut case = self.case.clone();
            if case.filter.without.insert(*kind) {
                self.try_case(case);
            }
        }
    }

    fn drop_jobs(&mut self) {
        let jobs = self.case.filter.jobs.clone();
        let jobs = jobs.unwrap_or_else(|| (0..self.outcome.job_count).collect());
        let with = |case: &Case, jobs: &BTreeSet<usize>| {
            let mut case = case.clone();
            case.filter.jobs = Some(jobs.clone());
            case
        };
        self.drop_parts(jobs, with);
    }

    fn drop_faults(&mut self) {
        let faults = self.outcome.fired.iter().map(|fired| (fired.kind, fired.place)).collect();
        self.drop_parts(faults, |case, faults| {
            let mut case = case.clone();
            case.filter.only = Some(faults.clone());
            case
        });
    }

    /// Leaves out ever smaller parts of a set, as long as the run still fails.
    fn drop_parts<T: Ord + Clone>(
        &mut self,
        mut all: BTreeSet<T>,
        with: impl Fn(&Case, &BTreeSet<T>) -> Case,
    ) {
        let mut part_len = all.len().div_ceil(2);
        while part_len > 0 {
            let members: Vec<_> = all.iter().cloned().collect();
            for part in members.chunks(part_len) {
                let rest = all.iter().filter(|it| !part.contains(it)).cloned().collect();
                if self.try_case(with(&self.case, &rest)) {
                    all = rest;
                }
            }
            part_len = if part_len == 1 { 0 } else { part_len.div_ceil(2) };
        }
    }
}
