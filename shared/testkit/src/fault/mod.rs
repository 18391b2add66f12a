//! Faults of the outside, scripted: every call of an in-memory port goes through a plan.

mod fate;
mod operation;
mod rules;

use std::error::Error;
use std::fmt;
use std::future;
use std::sync::{Arc, Mutex};

use spillway_app::ports::{Clock as _, PortError};
use spillway_domain::name::JobId;

pub use fate::{CallFate, Fate};
pub use operation::Operation;
use rules::Rules;

use crate::clock::ManualClock;
use crate::dice::Dice;
use crate::lock::locked;

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call fails before it has an effect: a temporary error.
    FailBefore,
    /// The call has its effect, and its answer is lost: a temporary error.
    LoseAnswer,
    /// The outside refuses the call, without an effect: a lasting error.
    Refuse,
    /// The call takes so many milliseconds, and has its effect at their end.
    Slow(i64),
    /// The call never answers and has no effect.
    Hang,
    /// The call has its effect and never answers.
    HangAfter,
    /// The invocation ends before the call has an effect: the driver drops its task.
    CrashBefore,
    /// The invocation ends right after the call's effect: the driver drops its task.
    CrashAfter,
}

/// The script of what goes wrong, and the count of all calls. Clones share both; give one to every
/// in-memory port, and to the [`Driver`](crate::Driver) so that it can end what crashes.
///
/// ```
/// use spillway_app::ports::{Claims, Intake, PortError};
/// use spillway_testkit::build::{at, claim_request, exact_job, token};
/// use spillway_testkit::{Driver, Fault, FaultPlan, InMemoryStore, ManualClock, Operation};
///
/// let now = at("2026-12-01T09:00:00Z");
/// let clock = ManualClock::at(now);
/// let faults = FaultPlan::new(&clock);
/// let store = InMemoryStore::new(&clock, &faults);
/// faults.on_call(Operation::Claim, 1, Fault::LoseAnswer);
///
/// Driver::new(&clock, &faults).run(async {
///     let job = exact_job("a", now, now);
///     store.create(&job).await?;
///     let answer = store.claim(&claim_request(&job, &token("t"), now)).await;
///     assert!(matches!(answer, Err(PortError::Transient(_))));
///     assert!(store.job("a").unwrap().claim.is_some());
///     Ok::<(), PortError>(())
/// })?;
/// # Ok::<(), PortError>(())
/// ```
#[derive(Clone)]
pub struct FaultPlan {
    clock: ManualClock,
    rules: Arc<Mutex<Rules>>,
    fate: Arc<Mutex<Option<Box<dyn Fate>>>>,
}

impl FaultPlan {
    /// Builds a plan in which nothing goes wrong.
    pub fn new(clock: &ManualClock) -> Self {
        Self { clock: clock.clone(), rules: Arc::default(), fate: Arc::default() }
    }

    /// Scripts the `number`th call of an operation, counted from 1 and from the plan's beginning.
    pub fn on_call(&self, operation: Operation, number: u64, fault: Fault) {
        locked(&self.rules).on_call(operation, number, fault);
    }

    /// Scripts the next call of an operation.
    pub fn on_next(&self, operation: Operation, fault: Fault) {
        let next = self.call_count(operation) + 1;
        self.on_call(operation, next, fault);
    }

    /// Scripts the next call of an operation that is about one job.
    pub fn on_job(&self, operation: Operation, id: &JobId, fault: Fault) {
        locked(&self.rules).on_job(operation, id.as_str(), fault);
    }

    /// Scripts every call of an operation from now on, until [`stop`](Self::stop).
    pub fn on_every(&self, operation: Operation, fault: Fault) {
        locked(&self.rules).on_every(operation, fault);
    }

    /// Lets `per_mille` of 1,000 calls of the operations go wrong, in one of the ways of `faults`,
    /// drawn from a seed.
    ///
    /// ```
    /// use spillway_testkit::{Dice, Fault, FaultPlan, ManualClock, Operation, build::at};
    ///
    /// let faults = FaultPlan::new(&ManualClock::at(at("2026-12-01T09:00:00Z")));
    /// let ways = [Fault::FailBefore, Fault::LoseAnswer];
    /// faults.at_random(Dice::from_seed(7), 50, &Operation::ALL, &ways);
    /// ```
    pub fn at_random(
        &self,
        dice: Dice,
        per_mille: u16,
        operations: &[Operation],
        faults: &[Fault],
    ) {
        locked(&self.rules).at_random(dice, per_mille, operations, faults);
    }

    /// Takes every fault back that has not happened yet; the counts go on.
    pub fn stop(&self) {
        locked(&self.rules).stop();
    }

    /// Lets `fate` decide what was not scripted.
    pub fn decided_by(&self, fate: impl Fate + 'static) {
        *locked(&self.fate) = Some(Box::new(fate));
    }

    /// Asks the fate, when there is one.
    pub(crate) fn fate<T>(&self, ask: impl FnOnce(&mut dyn Fate) -> T) -> Option<T> {
        let mut fate = locked(&self.fate);
        Some(ask(fate.as_mut()?.as_mut()))
    }

    /// Tells how often an operation was called.
    pub fn call_count(&self, operation: Operation) -> u64 {
        locked(&self.rules).call_count(operation)
    }

    /// Tells how many calls went wrong.
    pub fn fault_count(&self) -> u64 {
        locked(&self.rules).fault_count()
    }

    /// Tells whether an invocation crashed since it was last asked.
    pub(crate) fn take_crash(&self) -> bool {
        locked(&self.rules).take_crash()
    }

    /// Counts a call and carries it out, as scripted. `jobs` are the ids that it is about, which
    /// nobody looks at while nothing is scripted for a job; `effect` is what it does to the outside.
    pub(crate) async fn call<T>(
        &self,
        operation: Operation,
        jobs: impl IntoIterator<Item = &str> + Clone,
        effect: impl Future<Output = Result<T, PortError>> + Send,
    ) -> Result<T, PortError> {
        let scripted = locked(&self.rules).next_fault(operation, jobs.clone());
        let fate = match scripted {
            None => {
                let ask = |fate: &mut dyn Fate| {
                    fate.of_call(operation, &jobs.into_iter().collect::<Vec<_>>())
                };
                self.fate(ask).unwrap_or_default()
            }
            fault => CallFate { fault, ..CallFate::default() },
        };
        self.wait_millis(fate.before_millis).await;
        let answer = self.carry_out(fate.fault, effect).await;
        self.wait_millis(fate.after_millis).await;
        answer
    }

    async fn wait_millis(&self, millis: i64) {
        if millis > 0 {
            self.clock.sleep_until(self.clock.now().plus_millis(millis)).await;
        }
    }

    async fn carry_out<T>(
        &self,
        fault: Option<Fault>,
        effect: impl Future<Output = Result<T, PortError>> + Send,
    ) -> Result<T, PortError> {
        match fault {
            None => effect.await,
            Some(Fault::FailBefore) => Err(transient("scripted: failed before its effect")),
            Some(Fault::Refuse) => Err(permanent("scripted: refused")),
            Some(Fault::LoseAnswer) => {
                effect.await.and(Err(transient("scripted: the answer was lost")))
            }
            Some(Fault::Slow(millis)) => {
                self.wait_millis(millis).await;
                effect.await
            }
            Some(Fault::Hang) => future::pending().await,
            Some(Fault::HangAfter) => {
                drop(effect.await);
                future::pending().await
            }
            Some(Fault::CrashBefore) => self.crash().await,
            Some(Fault::CrashAfter) => {
                drop(effect.await);
                self.crash().await
            }
        }
    }

    async fn crash<T>(&self) -> T {
        locked(&self.rules).crash();
        future::pending().await
    }
}

impl fmt::Debug for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultPlan").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// Builds a temporary error.
pub(crate) fn transient(why: impl Into<Box<dyn Error + Send + Sync>>) -> PortError {
    PortError::Transient(why.into())
}

/// Builds a lasting error.
pub(crate) fn permanent(why: impl Into<Box<dyn Error + Send + Sync>>) -> PortError {
    PortError::Permanent(why.into())
}
