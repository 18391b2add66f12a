//! The ports as one invocation sees them: every call is written into the ledger, and may land late.

mod channel;
mod queue;
mod state;
mod store;

use std::future;

use spillway_app::ports::{Clock as _, PortError};
use spillway_testkit::{Operation, SkewedClock};

use super::fate::LANDING;
use super::kind::Kind;
use super::scene::Scene;

/// A call that lands late does so within this time, in milliseconds.
const LANDS_WITHIN_MILLIS: u64 = 40_000;
/// Its caller is told of a fault within this time, in milliseconds, or never.
const TOLD_WITHIN_MILLIS: u64 = 3_000;

/// A port, and who uses it.
#[derive(Clone)]
pub(super) struct Watched<P> {
    pub(super) inner: P,
    pub(super) user: User,
}

/// An invocation, as the ports know it.
#[derive(Clone)]
pub(super) struct User {
    pub(super) scene: Scene,
    pub(super) invocation: u64,
    pub(super) clock: SkewedClock,
}

/// How late a call lands, and when its caller is told of a fault.
#[derive(Clone, Copy, Debug)]
struct Lateness {
    lands_after_millis: i64,
    told_after_millis: Option<i64>,
}

impl User {
    /// Draws whether a call lands late.
    fn lateness(&self, operation: Operation, subject: &str) -> Option<Lateness> {
        let mut chance = self.scene.chance();
        let (place, mut dice) = chance.next(LANDING + operation as u16, subject);
        let kind = chance.draw(&[Kind::LandsLate], place, &mut dice)?;
        let lateness = Lateness {
            lands_after_millis: 1 + millis(dice.below(LANDS_WITHIN_MILLIS)),
            told_after_millis: dice.is_hit(700).then(|| millis(dice.below(TOLD_WITHIN_MILLIS))),
        };
        let mut ledger = self.scene.ledger();
        let after = lateness.lands_after_millis;
        let of = format!("{operation:?} {subject} after {after} ms");
        ledger.note(|| format!("FAULT {}: {of}", kind.as_str()));
        let text = format!("{} {}: {of}", ledger.clock_text(), kind.as_str());
        chance.fire(kind, place, text);
        Some(lateness)
    }

    /// Lets a call land by itself, and tells its caller that it failed, if anything.
    async fn lands_late<T>(
        &self,
        lateness: Lateness,
        call: impl Future<Output = ()> + Send + 'static,
    ) -> Result<T, PortError> {
        let clock = self.scene.clock.clone();
        let lands_at = clock.now().plus_millis(lateness.lands_after_millis);
        self.scene.late.land(async move {
            clock.sleep_until(lands_at).await;
            call.await;
        });
        match lateness.told_after_millis {
            None => future::pending().await,
            Some(after_millis) => {
                let clock = &self.scene.clock;
                clock.sleep_until(clock.now().plus_millis(after_millis)).await;
                Err(PortError::Transient("given up, and still on its way".into()))
            }
        }
    }
}

fn millis(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(0)
}
