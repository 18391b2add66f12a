//! What every implementation of a port keeps, clause by clause.
//!
//! A clause is an async function over ports; it panics when an implementation breaks it. It assumes
//! nothing about time but the `now` that it is given, and polls what is read eventually consistent.
//! A caller says what the ports are ([`JobsTable`], [`ControlTable`], [`Queues`]) and runs all
//! clauses by their names with [`jobs_contract!`](crate::jobs_contract),
//! [`control_contract!`](crate::control_contract) and [`queue_contract!`](crate::queue_contract):
//!
//! ```
//! use spillway_app::ports::{Claims, DueIndex, Intake, Redrives};
//! use spillway_domain::time::Instant;
//! use spillway_testkit::contract::JobsTable;
//! use spillway_testkit::{InMemoryStore, Outside, build::at, jobs_contract};
//!
//! struct InMemory(Outside);
//!
//! impl JobsTable for InMemory {
//!     fn intake(&self) -> &impl Intake {
//!         &self.0.store
//!     }
//!     fn claims(&self) -> &impl Claims {
//!         &self.0.store
//!     }
//!     fn redrives(&self) -> &impl Redrives {
//!         &self.0.store
//!     }
//!     fn index(&self) -> &impl DueIndex {
//!         &self.0.store
//!     }
//!     fn prefix(&self) -> &str {
//!         "a"
//!     }
//!     fn now(&self) -> Instant {
//!         at("2026-12-01T09:00:00.250Z")
//!     }
//!     async fn pause(&self) {}
//! }
//!
//! fn run(clause: &str, holds: impl AsyncFnOnce(&InMemory)) {
//!     let outside = Outside::at(at("2026-12-01T09:00:00.250Z"));
//!     outside.driver().run(holds(&InMemory(outside.clone())));
//! }
//!
//! jobs_contract!(run); // a #[test] for each clause
//! ```
//!
//! Adapters run the same clauses: their `run` builds a runtime and the tables that a clause needs,
//! and their `pause` waits in real time.
//!
//! On a day on which calls fail and answers get lost, the clauses hold for a caller that persists:
//! [`Persisting`] stands between the clauses and such ports.

#![expect(clippy::missing_panics_doc, reason = "every clause panics when it does not hold")]

mod clauses;
pub mod control;
pub mod dead_letters;
pub mod endings;
pub mod holding;
pub mod index;
pub mod intake;
pub mod limiter;
pub mod pace;
mod persisting;
pub mod policy;
pub mod queue;
pub mod redrives;
mod steps;
pub mod units;

use spillway_app::ports::{
    CatchUp, Claims, DeadLetter, DeadLetterQueues, DueIndex, Intake, JobQueue, Limiter,
    PolicyStore, PortError, QueueDepth, QueueMessage, Redrives, SettingsSource, StagingState,
    StagingUnits,
};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

pub use persisting::Persisting;

/// The jobs table and its index, as a clause is given them. Other clauses may use the same table
/// at the same time.
pub trait JobsTable {
    /// Intake's side.
    fn intake(&self) -> &impl Intake;
    /// Dispatch's side.
    fn claims(&self) -> &impl Claims;
    /// Redrive's side.
    fn redrives(&self) -> &impl Redrives;
    /// The index.
    fn index(&self) -> &impl DueIndex;
    /// What the ids of this clause begin with; no other clause's ids begin with it.
    fn prefix(&self) -> &str;
    /// The time: what the clause calls now.
    fn now(&self) -> Instant;
    /// Waits a little, for the index to catch up; called 100 times at most.
    fn pause(&self) -> impl Future<Output = ()>;
}

/// The control table, as a clause is given it: new, and nobody else's. So is its jobs table.
pub trait ControlTable {
    /// Prefetch's side: how far staging has come.
    fn staging_state(&self) -> &impl StagingState;
    /// Prefetch's side: how its runs share a minute out.
    fn staging_units(&self) -> &impl StagingUnits;
    /// Prefetch's side: the time of overdue jobs.
    fn catch_up(&self) -> &impl CatchUp;
    /// Dispatch's side: the channels' rates.
    fn limiter(&self) -> &impl Limiter;
    /// What every function reads.
    fn settings(&self) -> &impl SettingsSource;
    /// The operator's side.
    fn policy_store(&self) -> &impl PolicyStore;
    /// Intake's side of the jobs table, whose jobs may wait for a class or a channel.
    fn intake(&self) -> &impl Intake;
    /// The time: what the clause calls now.
    fn now(&self) -> Instant;
    /// Waits a little, for what is read eventually consistent; called 100 times at most.
    fn pause(&self) -> impl Future<Output = ()>;
    /// Tells whether answers may get lost on their way, so that a call is carried out twice.
    fn answers_get_lost(&self) -> bool {
        false
    }
}

/// The delay queues, as a clause is given them: empty, and nobody else's.
pub trait Queues {
    /// The sending side.
    fn queue(&self) -> &impl JobQueue;
    /// How much waits.
    fn depth(&self) -> &impl QueueDepth;
    /// Sends an entry to a lane's dead-letter queue.
    fn send_letter(
        &self,
        lane: Lane,
        letter: &DeadLetter,
    ) -> impl Future<Output = Result<(), PortError>> + Send;
    /// The receiving side of both dead-letter queues.
    fn dead_letter_queues(&self) -> &impl DeadLetterQueues;
    /// Receives what there is in a lane, and deletes it; may wait a little for it.
    fn receive(&self, lane: Lane) -> impl Future<Output = Vec<QueueMessage>>;
    /// Receives what there is in a lane, and leaves it in flight; may wait a little for it.
    fn hold(&self, lane: Lane) -> impl Future<Output = Vec<QueueMessage>>;
    /// The time: what the clause calls now.
    fn now(&self) -> Instant;
    /// Waits a little, for what is counted eventually consistent; called 100 times at most.
    fn pause(&self) -> impl Future<Output = ()>;
    /// Tells whether a message may be there twice, or come late.
    fn doubles_messages(&self) -> bool {
        false
    }
}
