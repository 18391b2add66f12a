//! The dead-letter queues, in memory.

use std::sync::{Arc, Mutex};

use spillway_app::ports::{DeadLetter, DeadLetters, PortError};

use crate::fault::{FaultPlan, Operation};
use crate::lock::locked;

/// A dead-letter queue that keeps its entries in order. Clones share it.
#[derive(Clone, Debug)]
pub struct InMemoryDeadLetters {
    faults: FaultPlan,
    letters: Arc<Mutex<Vec<DeadLetter>>>,
}

impl InMemoryDeadLetters {
    /// Builds an empty queue.
    pub fn new(faults: &FaultPlan) -> Self {
        Self { faults: faults.clone(), letters: Arc::default() }
    }

    /// Shows the entries, the oldest first.
    pub fn letters(&self) -> Vec<DeadLetter> {
        locked(&self.letters).clone()
    }
}

impl DeadLetters for InMemoryDeadLetters {
    async fn send(&self, letter: &DeadLetter) -> Result<(), PortError> {
        let send = async {
            locked(&self.letters).push(letter.clone());
            Ok(())
        };
        self.faults.call(Operation::SendDeadLetter, [letter.job_id.as_str()], send).await
    }
}
