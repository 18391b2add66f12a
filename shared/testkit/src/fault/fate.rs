use spillway_app::ports::{Delivery, OutgoingMessage};
use spillway_domain::job::Job;
use spillway_domain::limiter::TokenLease;
use spillway_domain::name::ChannelName;
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

use super::{Fault, Operation};
use crate::channel::Reply;

/// What becomes of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallFate {
    /// How long the call is on its way, in milliseconds.
    pub before_millis: i64,
    /// What goes wrong with it.
    pub fault: Option<Fault>,
    /// How long its answer is on its way, in milliseconds.
    pub after_millis: i64,
}

/// Decides what the outside does, where a script would be too long, and sees what is written. What
/// a [`FaultPlan`](super::FaultPlan) scripts comes first.
///
/// It is asked while the tables and queues are locked, and must not use them.
pub trait Fate: Send {
    /// Decides what becomes of a call.
    fn of_call(&mut self, operation: Operation, jobs: &[&str]) -> CallFate;

    /// Tells by how many milliseconds each copy of a message comes late: none when it is lost.
    fn of_message(&mut self, lane: Lane, message: &OutgoingMessage, now: Instant) -> Vec<i64>;

    /// Tells by how many milliseconds the index shows the write of a row late.
    fn of_index_entry(&mut self, job: &Job) -> i64;

    /// Decides how a channel takes a delivery; none leaves it to what was scripted.
    fn of_delivery(&mut self, delivery: &Delivery) -> Option<Reply>;

    /// Sees a write to the jobs table.
    fn wrote(&mut self, before: Option<&Job>, after: &Job, now: Instant);

    /// Sees tokens that were leased.
    fn leased(&mut self, channel: &ChannelName, lease: TokenLease);
}
