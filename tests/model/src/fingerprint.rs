//! What tells one world from another.
//!
//! A search remembers 128 bits of each world instead of the world. Of a hundred million worlds, two
//! share them with a probability below 2⁻⁷⁴. Worlds that differ only in which of two alike actors,
//! or which of two alike jobs, is which have one fingerprint: the smallest.

use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::xxh3_128;

use crate::bounds::Bounds;
use crate::rule::Rule;
use crate::world::{Token, World};

/// Gathers what is hashed.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    // Lengths and the numbers of variants are small: a byte says them.
    fn write_isize(&mut self, number: isize) {
        self.0.push(number.to_le_bytes()[0]);
    }

    fn write_usize(&mut self, number: usize) {
        self.0.push(number.to_le_bytes()[0]);
    }

    fn finish(&self) -> u64 {
        0
    }
}

fn hash(world: &World) -> u128 {
    let mut bytes = Bytes(Vec::with_capacity(256));
    world.hash(&mut bytes);
    xxh3_128(&bytes.0)
}

/// Gives the fingerprint of a world.
pub fn fingerprint(world: &World, bounds: &Bounds) -> u128 {
    let mut world = world.clone();
    if bounds.keeps(Rule::OneTokenAnEntry) {
        name_invocations(&mut world);
    }
    let mut smallest = hash(&world);
    if bounds.keeps(Rule::OneTokenAnEntry) && world.runs.iter().any(Option::is_some) {
        swap_receivers(&mut world);
        smallest = smallest.min(hash(&world));
    }
    if bounds.jobs > 1 {
        swap_jobs(&mut world);
        smallest = smallest.min(hash(&world));
        if bounds.keeps(Rule::OneTokenAnEntry) && world.runs.iter().any(Option::is_some) {
            swap_receivers(&mut world);
            smallest = smallest.min(hash(&world));
        }
    }
    smallest
}

/// An invocation is named after its first slot.
fn name_invocations(world: &mut World) {
    let is_batch = match world.runs {
        [Some(first), Some(second)] => first.invocation == second.invocation,
        _ => false,
    };
    for (slot, run) in world.runs.iter_mut().enumerate() {
        if let Some(run) = run {
            run.invocation = if is_batch { 0 } else { u8::from(slot > 0) };
        }
    }
}

fn swap_receivers(world: &mut World) {
    world.runs.swap(0, 1);
    name_invocations(world);
    for claim in world.rows.iter_mut().flatten().filter_map(|row| row.claim.as_mut()) {
        if let Token::Run(slot) = claim.token {
            claim.token = Token::Run(1 - slot);
        }
    }
}

fn swap_jobs(world: &mut World) {
    world.rows.swap(0, 1);
    world.index_lag.swap(0, 1);
    world.letters.swap(0, 1);
    world.history.swap(0, 1);
    for message in &mut world.messages {
        message.entries.swap(0, 1);
    }
    world.messages.sort_unstable();
    for run in world.runs.iter_mut().flatten() {
        run.entries.swap(0, 1);
        run.message.entries.swap(0, 1);
    }
    for prefetch in world.prefetches.iter_mut().flatten() {
        prefetch.found.swap(0, 1);
    }
    for call in &mut world.calls {
        call.steps.swap(0, 1);
    }
    world.calls.sort_unstable();
}
