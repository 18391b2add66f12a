//! The ports that an invocation works with.

use spillway_testkit::{
    InMemoryChannel, InMemoryDeadLetters, InMemoryQueue, InMemoryStore, ManualClock, Outside,
    SkewedClock,
};

/// One of each port: plain, or wrapped by a simulation that watches them.
#[derive(Clone, Debug)]
pub struct Ports<
    S = InMemoryStore,
    Q = InMemoryQueue,
    D = InMemoryDeadLetters,
    H = InMemoryChannel,
    C = ManualClock,
> {
    /// The tables: every port of them.
    pub store: S,
    /// The delay queues.
    pub queue: Q,
    /// The dead-letter queue.
    pub dead_letters: D,
    /// The channels' side.
    pub channels: H,
    /// The machine's clock.
    pub clock: C,
}

impl Ports {
    /// Takes the ports of an outside as they are.
    pub fn of(outside: &Outside) -> Self {
        Self {
            store: outside.store.clone(),
            queue: outside.queue.clone(),
            dead_letters: outside.dead_letters.clone(),
            channels: outside.channel.clone(),
            clock: outside.clock.clone(),
        }
    }

    /// Puts the invocation on a machine whose clock is wrong by so many milliseconds.
    pub fn skewed_by(
        self,
        millis: i64,
    ) -> Ports<InMemoryStore, InMemoryQueue, InMemoryDeadLetters, InMemoryChannel, SkewedClock>
    {
        let Self { store, queue, dead_letters, channels, clock } = self;
        Ports { store, queue, dead_letters, channels, clock: clock.skewed_by(millis) }
    }
}
