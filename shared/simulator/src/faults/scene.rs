//! What all parts of one run share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use spillway_app::ports::Clock as _;
use spillway_testkit::ManualClock;

use super::chance::Chance;
use super::late::Late;
use super::ledger::Ledger;

/// The clock, the chances and the ledger of a run. Clones share them.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) clock: ManualClock,
    pub(super) late: Late,
    chance: Arc<Mutex<Chance>>,
    ledger: Arc<Mutex<Ledger>>,
}

impl Scene {
    pub(super) fn new(clock: &ManualClock, chance: Chance, ledger: Ledger) -> Self {
        Self {
            clock: clock.clone(),
            late: Late::default(),
            chance: Arc::new(Mutex::new(chance)),
            ledger: Arc::new(Mutex::new(ledger)),
        }
    }

    pub(super) fn chance(&self) -> MutexGuard<'_, Chance> {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the ledger at the present time.
    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        let now = self.clock.now();
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.now = now;
        ledger
    }
}
