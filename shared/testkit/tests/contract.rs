//! The in-memory ports keep the contracts, on good days and on bad ones.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use spillway_app::ports::{
    CatchUp, Claims, Clock as _, DeadLetter, DeadLetterQueues, DeadLetters as _, DueIndex, Intake,
    JobQueue, Limiter, PolicyStore, PortError, QueueDepth, QueueMessage, Redrives, SettingsSource,
    StagingState, StagingUnits,
};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;
use spillway_testkit::contract::{ControlTable, JobsTable, Persisting, Queues};
use spillway_testkit::{Dice, Fault, Operation, Outside, Quirks, build::at};

/// The in-memory ports; what a clause waits for takes its time, and time moves in its pauses.
struct InMemory {
    outside: Outside,
    now: Instant,
    prefix: String,
    has_quirks: bool,
}

impl InMemory {
    fn new(clause: &str) -> Self {
        let now = at("2026-12-01T08:59:59.250Z");
        Self { outside: Outside::at(now), now, prefix: clause.to_owned(), has_quirks: false }
    }

    async fn pass_a_second(&self) {
        let clock = &self.outside.clock;
        clock.sleep_until(clock.now().plus_seconds(1)).await;
    }
}

impl JobsTable for InMemory {
    fn intake(&self) -> &impl Intake {
        &self.outside.store
    }

    fn claims(&self) -> &impl Claims {
        &self.outside.store
    }

    fn redrives(&self) -> &impl Redrives {
        &self.outside.store
    }

    fn index(&self) -> &impl DueIndex {
        &self.outside.store
    }

    fn prefix(&self) -> &str {
        &self.prefix
    }

    fn now(&self) -> Instant {
        self.now
    }

    async fn pause(&self) {
        self.pass_a_second().await;
    }
}

impl ControlTable for InMemory {
    fn staging_state(&self) -> &impl StagingState {
        &self.outside.store
    }

    fn staging_units(&self) -> &impl StagingUnits {
        &self.outside.store
    }

    fn catch_up(&self) -> &impl CatchUp {
        &self.outside.store
    }

    fn limiter(&self) -> &impl Limiter {
        &self.outside.store
    }

    fn settings(&self) -> &impl SettingsSource {
        &self.outside.store
    }

    fn policy_store(&self) -> &impl PolicyStore {
        &self.outside.store
    }

    fn intake(&self) -> &impl Intake {
        &self.outside.store
    }

    fn now(&self) -> Instant {
        self.now
    }

    async fn pause(&self) {
        self.pass_a_second().await;
    }
}

impl Queues for InMemory {
    fn queue(&self) -> &impl JobQueue {
        &self.outside.queue
    }

    fn depth(&self) -> &impl QueueDepth {
        &self.outside.queue
    }

    async fn send_letter(&self, lane: Lane, letter: &DeadLetter) -> Result<(), PortError> {
        self.outside.dead_letters.of(lane).send(letter).await
    }

    fn dead_letter_queues(&self) -> &impl DeadLetterQueues {
        &self.outside.dead_letters
    }

    async fn receive(&self, lane: Lane) -> Vec<QueueMessage> {
        self.pass_a_second().await;
        let batch = self.outside.queue.receive(lane);
        for message in &batch {
            self.outside.queue.delete(message);
        }
        batch.into_iter().map(|message| message.message).collect()
    }

    async fn hold(&self, lane: Lane) -> Vec<QueueMessage> {
        self.pass_a_second().await;
        let batch = self.outside.queue.receive(lane);
        batch.into_iter().map(|message| message.message).collect()
    }

    fn now(&self) -> Instant {
        self.now
    }

    async fn pause(&self) {
        self.pass_a_second().await;
    }

    fn doubles_messages(&self) -> bool {
        self.has_quirks
    }
}

mod on_a_good_day {
    use super::*;

    fn run(clause: &str, holds: impl AsyncFnOnce(&InMemory)) {
        let ports = InMemory::new(clause);
        ports.outside.driver().run(holds(&ports));
    }

    spillway_testkit::jobs_contract!(run);
    spillway_testkit::control_contract!(run);
    spillway_testkit::queue_contract!(run);
}

/// The index is seven seconds late and answers small pages, some of them empty.
mod with_a_late_index_of_small_pages {
    use super::*;

    fn run(clause: &str, holds: impl AsyncFnOnce(&InMemory)) {
        let ports = InMemory::new(clause);
        ports.outside.store.set_index_lag_millis(7_000);
        ports.outside.store.set_page_jobs_max(2);
        ports.outside.store.set_every_nth_page_empty(2);
        ports.outside.driver().run(holds(&ports));
    }

    spillway_testkit::jobs_contract!(run);
}

/// The queues deliver late, in any order, and every message twice.
mod with_quirky_queues {
    use super::*;

    fn run(clause: &str, holds: impl AsyncFnOnce(&InMemory)) {
        let ports = InMemory { has_quirks: true, ..InMemory::new(clause) };
        let quirks = Quirks {
            dice: Dice::from_seed(7),
            doubled_per_mille: 1_000,
            doubled_within_millis: 5_000,
            late_millis_max: 3_000,
            is_shuffled: true,
        };
        for lane in Lane::ALL {
            ports.outside.queue.set_quirks(lane, quirks.clone());
        }
        ports.outside.driver().run(holds(&ports));
    }

    spillway_testkit::queue_contract!(run);
}

/// Three calls in ten fail, or are carried out and their answer is lost; the caller persists.
mod with_calls_that_fail_and_answers_that_get_lost {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "the macro hands it over")]
    fn run(clause: &str, holds: impl AsyncFn(&Persisting<InMemory>)) {
        for seed in 0..20 {
            let ports = Persisting(InMemory::new(clause));
            let outside = &ports.0.outside;
            let ways = [Fault::FailBefore, Fault::LoseAnswer];
            outside.faults.at_random(Dice::from_seed(seed), 300, Operation::ALL, &ways);
            let run = || outside.driver().run(holds(&ports));
            catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
                eprintln!("{clause} does not hold with seed {seed}");
                resume_unwind(panic)
            });
        }
    }

    spillway_testkit::jobs_contract!(run);
    spillway_testkit::control_contract!(run);
    spillway_testkit::queue_contract!(run);
}

/// A clause that no list names would never be run.
#[test]
fn every_clause_is_in_its_list() {
    let lists = include_str!("../src/contract/clauses.rs");
    let parts = [
        include_str!("../src/contract/intake.rs"),
        include_str!("../src/contract/holding.rs"),
        include_str!("../src/contract/endings.rs"),
        include_str!("../src/contract/index.rs"),
        include_str!("../src/contract/control.rs"),
        include_str!("../src/contract/units.rs"),
        include_str!("../src/contract/pace.rs"),
        include_str!("../src/contract/policy.rs"),
        include_str!("../src/contract/queue.rs"),
        include_str!("../src/contract/redrives.rs"),
        include_str!("../src/contract/dead_letters.rs"),
    ];
    let clauses = parts.into_iter().flat_map(|part| {
        let after = part.split("pub async fn ").skip(1);
        after.map(|rest| rest.split('(').next().unwrap())
    });
    let missing: Vec<_> =
        clauses.clone().filter(|clause| !lists.contains(&format!(" {clause},\n"))).collect();
    assert!(clauses.count() > 60);
    assert_eq!(missing, Vec::<&str>::new());
}
