//! What nobody decides: time, the queue's deliveries, and the faults.

use crate::bounds::Bounds;
use crate::fault::Fault;
use crate::prefetch;
use crate::steps::{Actor, Steps, Words};
use crate::world::{Message, World};

const fn words(text: &'static str) -> Words {
    Words { actor: Actor::Outside, text, job: None, note: "", fault: None }
}

/// Adds the deliveries, the faults, the ends of stalls, and last the passing of time.
pub fn steps(world: &World, bounds: &Bounds, steps: &mut Steps) {
    receive(world, bounds, steps);
    receivers_fail(world, bounds, steps);
    prefetches_fail(world, bounds, steps);
    calls_fail(world, bounds, steps);
    the_queue_fails(world, bounds, steps);
    ticks_fail(world, bounds, steps);
    for job in (0..bounds.jobs).filter(|job| world.may_forget(bounds, *job)) {
        let mut after = world.clone();
        after.forget(job);
        steps.may(words("the finished row goes"), after);
    }
    if !steps.can_go_on && time_matters(world) {
        let mut after = world.clone();
        after.pass_time(bounds);
        steps.must(words("time passes"), after);
    }
}

fn time_matters(world: &World) -> bool {
    let is_busy = world.runs.iter().any(Option::is_some)
        || world.prefetches.iter().flatten().any(|prefetch| !prefetch.has_nothing_to_send());
    world.has_unfinished() || !world.messages.is_empty() || is_busy
}

/// Adds the receipt of each message that can be received: alone, or two in a batch.
fn receive(world: &World, bounds: &Bounds, steps: &mut Steps) {
    let Some(slot) = world.runs.iter().position(Option::is_none) else { return };
    let can = |place: &usize| world.messages[*place].delay == 0;
    let places: Vec<usize> = (0..world.messages.len()).filter(can).collect();
    let taking = |taken: &[usize]| {
        let mut after = world.clone();
        after.messages = without(&world.messages, taken);
        after
    };
    let invocation = u8::from(world.runs.iter().flatten().any(|run| run.invocation == 0));
    for (number, &place) in places.iter().enumerate() {
        let message = world.messages[place];
        if number > 0 && world.messages[places[number - 1]] == message {
            continue;
        }
        let mut after = taking(&[place]);
        after.receive(bounds, slot, invocation, message);
        let actor = Actor::Receiver(slot);
        steps.must(Words { actor, ..words("receives a message") }, after);
    }
    if world.runs.iter().any(Option::is_some) {
        return;
    }
    for (number, &first) in places.iter().enumerate() {
        for &second in &places[number + 1..] {
            let mut after = taking(&[first, second]);
            after.receive(bounds, 0, 0, world.messages[first]);
            after.receive(bounds, 1, 0, world.messages[second]);
            steps.must(words("receivers A and B: one invocation receives two messages"), after);
        }
    }
}

fn without(messages: &[Message], taken: &[usize]) -> Vec<Message> {
    let others = messages.iter().enumerate().filter(|(place, _)| !taken.contains(place));
    others.map(|(_, message)| *message).collect()
}

fn receivers_fail(world: &World, bounds: &Bounds, steps: &mut Steps) {
    for (slot, run) in world.runs.iter().enumerate() {
        let Some(run) = run else { continue };
        let words = |text, fault| Words { actor: Actor::Receiver(slot), fault, ..words(text) };
        if let Some(mut after) = world.spend(bounds, Fault::Crash) {
            after.end_invocation(bounds, run.invocation);
            steps.may(words("crashes", Some(Fault::Crash)), after);
        }
        let stall = |mut after: World, is_stalled| {
            for other in after.runs.iter_mut().flatten() {
                if other.invocation == run.invocation {
                    other.is_stalled = is_stalled;
                }
            }
            after
        };
        if run.is_stalled {
            steps.may(words("goes on", None), stall(world.clone(), false));
        } else if let Some(after) = world.spend(bounds, Fault::Stall) {
            steps.may(words("stands still", Some(Fault::Stall)), stall(after, true));
        }
    }
}

fn prefetches_fail(world: &World, bounds: &Bounds, steps: &mut Steps) {
    for (slot, prefetch) in world.prefetches.iter().enumerate() {
        let Some(prefetch) = prefetch else { continue };
        let words = |text, fault| Words { actor: Actor::Prefetch(slot), fault, ..words(text) };
        if let Some(mut after) = world.spend(bounds, Fault::Crash) {
            prefetch::end(&mut after, slot);
            steps.may(words("crashes", Some(Fault::Crash)), after);
        }
        let stall = |mut after: World, is_stalled| {
            if let Some(prefetch) = &mut after.prefetches[slot] {
                prefetch.is_stalled = is_stalled;
            }
            after
        };
        if prefetch.is_stalled {
            steps.may(words("goes on", None), stall(world.clone(), false));
        } else if let Some(after) = world.spend(bounds, Fault::Stall) {
            steps.may(words("stands still", Some(Fault::Stall)), stall(after, true));
        }
    }
}

fn calls_fail(world: &World, bounds: &Bounds, steps: &mut Steps) {
    for (place, call) in world.calls.iter().enumerate() {
        let words = |text, fault| Words { actor: Actor::Caller, fault, ..words(text) };
        if let Some(mut after) = world.spend(bounds, Fault::Crash) {
            after.calls.remove(place);
            steps.may(words("its invocation crashes", Some(Fault::Crash)), after);
        }
        let stall = |mut after: World, is_stalled| {
            after.calls[place].is_stalled = is_stalled;
            after.calls.sort_unstable();
            after
        };
        if call.is_stalled {
            steps.may(words("its invocation goes on", None), stall(world.clone(), false));
        } else if let Some(after) = world.spend(bounds, Fault::Stall) {
            let words = words("its invocation stands still", Some(Fault::Stall));
            steps.may(words, stall(after, true));
        }
    }
}

fn the_queue_fails(world: &World, bounds: &Bounds, steps: &mut Steps) {
    for (place, message) in world.messages.iter().enumerate() {
        if place > 0 && world.messages[place - 1] == *message {
            continue;
        }
        if let Some(mut after) = world.spend(bounds, Fault::Doubled) {
            after.send(*message);
            let words = words("the queue has a message twice");
            steps.may(Words { fault: Some(Fault::Doubled), ..words }, after);
        }
        if let Some(mut after) = world.spend(bounds, Fault::Lost) {
            after.messages.remove(place);
            for (job, generation) in message.entries.into_iter().enumerate() {
                after.history[job].needs_reconcile |= generation > 0;
                // A record that is lost could not be written.
                after.history[job].may_be_twice |= generation > 0 && message.is_record;
            }
            let words = words("the queue loses a message");
            steps.may(Words { fault: Some(Fault::Lost), ..words }, after);
        }
    }
}

fn ticks_fail(world: &World, bounds: &Bounds, steps: &mut Steps) {
    if world.ticks != 1 {
        return;
    }
    if let Some(after) = world.spend(bounds, Fault::TickMissed) {
        let words = Words { fault: Some(Fault::TickMissed), ..words("a tick does not come") };
        steps.may(words, World { ticks: 0, ..after });
    }
    if let Some(after) = world.spend(bounds, Fault::TickDoubled) {
        let words = Words { fault: Some(Fault::TickDoubled), ..words("a tick comes twice") };
        steps.may(words, World { ticks: 2, ..after });
    }
}
