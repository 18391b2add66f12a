use std::collections::{BTreeMap, HashMap};

use super::{Fault, Operation};
use crate::dice::Dice;

/// What was scripted, and what has happened.
#[derive(Debug)]
pub(super) struct Rules {
    by_call: BTreeMap<(Operation, u64), Fault>,
    by_job: BTreeMap<Operation, HashMap<String, Fault>>,
    every_call: BTreeMap<Operation, Fault>,
    random: Vec<AtRandom>,
    calls: [u64; Operation::ALL.len()],
    faults: u64,
    crashed: bool,
}

#[derive(Debug)]
struct AtRandom {
    dice: Dice,
    per_mille: u16,
    operations: Vec<Operation>,
    faults: Vec<Fault>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            by_call: BTreeMap::new(),
            by_job: BTreeMap::new(),
            every_call: BTreeMap::new(),
            random: Vec::new(),
            calls: [0; Operation::ALL.len()],
            faults: 0,
            crashed: false,
        }
    }
}

impl Rules {
    pub(super) fn on_call(&mut self, operation: Operation, number: u64, fault: Fault) {
        self.by_call.insert((operation, number), fault);
    }

    pub(super) fn on_job(&mut self, operation: Operation, id: &str, fault: Fault) {
        self.by_job.entry(operation).or_default().insert(id.to_owned(), fault);
    }

    pub(super) fn on_every(&mut self, operation: Operation, fault: Fault) {
        self.every_call.insert(operation, fault);
    }

    pub(super) fn at_random(
        &mut self,
        dice: Dice,
        per_mille: u16,
        operations: &[Operation],
        faults: &[Fault],
    ) {
        let (operations, faults) = (operations.to_vec(), faults.to_vec());
        self.random.push(AtRandom { dice, per_mille, operations, faults });
    }

    pub(super) fn stop(&mut self) {
        self.by_call.clear();
        self.by_job.clear();
        self.every_call.clear();
        self.random.clear();
    }

    /// Counts a call and tells what goes wrong with it: what was scripted for this very call, for
    /// one of its jobs, for all calls, or by the dice, in this order.
    pub(super) fn next_fault<'a>(
        &mut self,
        operation: Operation,
        jobs: impl IntoIterator<Item = &'a str>,
    ) -> Option<Fault> {
        let number = &mut self.calls[operation as usize];
        *number += 1;
        let number = *number;
        let fault = self
            .by_call
            .remove(&(operation, number))
            .or_else(|| self.take_fault_of(operation, jobs))
            .or_else(|| self.every_call.get(&operation).copied())
            .or_else(|| self.random.iter_mut().find_map(|rule| rule.draw(operation)));
        self.faults += u64::from(fault.is_some());
        fault
    }

    fn take_fault_of<'a>(
        &mut self,
        operation: Operation,
        jobs: impl IntoIterator<Item = &'a str>,
    ) -> Option<Fault> {
        let scripted = self.by_job.get_mut(&operation).filter(|scripted| !scripted.is_empty())?;
        jobs.into_iter().find_map(|id| scripted.remove(id))
    }

    pub(super) fn call_count(&self, operation: Operation) -> u64 {
        self.calls[operation as usize]
    }

    pub(super) fn fault_count(&self) -> u64 {
        self.faults
    }

    pub(super) fn crash(&mut self) {
        self.crashed = true;
    }

    pub(super) fn take_crash(&mut self) -> bool {
        std::mem::take(&mut self.crashed)
    }
}

impl AtRandom {
    fn draw(&mut self, operation: Operation) -> Option<Fault> {
        if !self.operations.contains(&operation) || !self.dice.is_hit(self.per_mille) {
            return None;
        }
        self.faults.get(self.dice.place(self.faults.len())).copied()
    }
}
