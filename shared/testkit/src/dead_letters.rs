//! The dead-letter queues, in memory.

use std::sync::{Arc, Mutex};

use spillway_app::ports::{
    BATCH_MESSAGES_MAX, Clock as _, DeadLetter, DeadLetterQueues, DeadLetters, PortError, Receipt,
    ReceivedLetter,
};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

use crate::clock::ManualClock;
use crate::fault::{FaultPlan, Operation, permanent};
use crate::lock::locked;

/// The longest that a queue hides a message, in seconds.
const HIDDEN_SECONDS_MAX: u32 = 43_200;

/// The dead-letter queues of both lanes, which keep their entries in order. Clones share them; what
/// is sent goes to the exact lane's unless it is sent by [`of`](Self::of).
///
/// More than ten entries in a call, and a time to hide them outside 1 to 43,200 s, are refused for
/// good, as the real queue does. A receipt counts until its entry is received again.
#[derive(Clone, Debug)]
pub struct InMemoryDeadLetters {
    clock: ManualClock,
    faults: FaultPlan,
    lane: Lane,
    queues: Arc<Mutex<Queues>>,
}

#[derive(Debug, Default)]
struct Queues {
    sent: Vec<DeadLetter>,
    entries: Vec<Entry>,
    receipts: u64,
}

#[derive(Debug)]
struct Entry {
    lane: Lane,
    letter: Option<DeadLetter>,
    visible_at: Instant,
    receipt: Receipt,
}

impl InMemoryDeadLetters {
    /// Builds empty queues.
    pub fn new(clock: &ManualClock, faults: &FaultPlan) -> Self {
        let (clock, faults) = (clock.clone(), faults.clone());
        Self { clock, faults, lane: Lane::Exact, queues: Arc::default() }
    }

    /// Gives the same queues, to send to a lane's.
    #[must_use]
    pub fn of(&self, lane: Lane) -> Self {
        Self { lane, ..self.clone() }
    }

    /// Shows every entry that was ever sent, the oldest first.
    pub fn letters(&self) -> Vec<DeadLetter> {
        locked(&self.queues).sent.clone()
    }

    /// Shows the entries that are there, the oldest first: hidden ones, too.
    pub fn kept(&self) -> Vec<DeadLetter> {
        let queues = locked(&self.queues);
        queues.entries.iter().filter_map(|entry| entry.letter.clone()).collect()
    }

    /// Puts a message aside that no code can read, as a lane's queue does at its receive limit.
    pub fn put_unreadable(&self, lane: Lane) {
        self.put(lane, None);
    }

    fn put(&self, lane: Lane, letter: Option<DeadLetter>) {
        let (visible_at, receipt) = (self.clock.now(), Receipt::new(""));
        locked(&self.queues).entries.push(Entry { lane, letter, visible_at, receipt });
    }
}

impl Queues {
    fn receive(&mut self, lane: Lane, now: Instant, hidden_seconds: u32) -> Vec<ReceivedLetter> {
        let is_there = |entry: &&mut Entry| entry.lane == lane && entry.visible_at <= now;
        let entries = self.entries.iter_mut().filter(is_there).take(BATCH_MESSAGES_MAX);
        let receipts = &mut self.receipts;
        entries
            .map(|entry| {
                *receipts += 1;
                entry.receipt = Receipt::new(receipts.to_string());
                entry.visible_at = now.plus_seconds(i64::from(hidden_seconds));
                ReceivedLetter { letter: entry.letter.clone(), receipt: entry.receipt.clone() }
            })
            .collect()
    }
}

impl DeadLetters for InMemoryDeadLetters {
    async fn send(&self, letter: &DeadLetter) -> Result<(), PortError> {
        let send = async {
            locked(&self.queues).sent.push(letter.clone());
            self.put(self.lane, Some(letter.clone()));
            Ok(())
        };
        self.faults.call(Operation::SendDeadLetter, [letter.job_id.as_str()], send).await
    }
}

impl DeadLetterQueues for InMemoryDeadLetters {
    async fn receive(
        &self,
        lane: Lane,
        hidden_seconds: u32,
    ) -> Result<Vec<ReceivedLetter>, PortError> {
        let receive = async {
            if !(1..=HIDDEN_SECONDS_MAX).contains(&hidden_seconds) {
                return Err(permanent(format!("hidden for {hidden_seconds} s: 1 to 43,200")));
            }
            Ok(locked(&self.queues).receive(lane, self.clock.now(), hidden_seconds))
        };
        self.faults.call(Operation::ReceiveDeadLetters, [], receive).await
    }

    async fn delete(&self, lane: Lane, receipts: &[Receipt]) -> Result<(), PortError> {
        let delete = async {
            if receipts.len() > BATCH_MESSAGES_MAX {
                return Err(permanent(format!("{} receipts in a call: ten", receipts.len())));
            }
            let is_meant = |entry: &Entry| entry.lane == lane && receipts.contains(&entry.receipt);
            locked(&self.queues).entries.retain(|entry| !is_meant(entry));
            Ok(())
        };
        self.faults.call(Operation::DeleteDeadLetters, [], delete).await
    }
}
