//! Runs many seeds, on two threads, and keeps what the lowest failing seed showed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::ledger::Counts;
use super::run::{Case, Outcome, run};
use crate::mutants::Mutant;

/// How many threads share the seeds. A run is on one of them alone.
const THREADS: usize = 2;

/// A run that broke a promise.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its seed.
    pub seed: u64,
    /// What it came to.
    pub outcome: Outcome,
}

/// What a search came to.
#[derive(Clone, Debug, Default)]
pub struct Searched {
    /// How many runs were made.
    pub runs: u64,
    /// What all of them came to.
    pub counts: Counts,
    /// The failing run with the lowest seed.
    pub found: Option<Found>,
}

/// Runs `seeds` seeds from `first` on, and stops at the first that breaks a promise: the lowest
/// one, however the threads share them.
pub fn search(first: u64, seeds: u64, mutant: Option<Mutant>) -> Searched {
    let next = AtomicU64::new(0);
    let stop_at = AtomicU64::new(seeds);
    let searched = Mutex::new(Searched::default());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= stop_at.load(Ordering::Relaxed) {
                return;
            }
            let seed = first.wrapping_add(number);
            let outcome = run(&Case { seed, mutant, ..Case::default() });
            if outcome.broken.is_some() {
                stop_at.fetch_min(number, Ordering::Relaxed);
            }
            searched.lock().unwrap_or_else(PoisonError::into_inner).take_in(seed, outcome);
        }
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    searched.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Finds the first seed from `first` on at which a run breaks a promise.
pub fn first_found(first: u64, seeds: u64, mutant: Mutant) -> Option<Found> {
    search(first, seeds, Some(mutant)).found
}

impl Searched {
    fn take_in(&mut self, seed: u64, outcome: Outcome) {
        self.runs += 1;
        self.counts = self.counts.plus(outcome.counts);
        let is_lower = self.found.as_ref().is_none_or(|found| seed < found.seed);
        if outcome.broken.is_some() && is_lower {
            self.found = Some(Found { seed, outcome });
        }
    }
}
