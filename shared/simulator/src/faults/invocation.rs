//! How long an invocation lives: to its end, to a crash, or to its time-out; and a while in between
//! in which it stands still.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use spillway_app::ports::Clock as _;
use spillway_domain::time::Instant;
use spillway_testkit::Dice;

use super::fate::INVOCATION;
use super::kind::Kind;
use super::scene::Scene;
use super::watched::User;

/// How long an invocation stands still at most, in milliseconds.
const FREEZE_MILLIS_MAX: u64 = 70_000;

/// What is drawn for an invocation as it begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    skew_millis: i64,
    crash_after_polls: Option<u64>,
    freeze: Option<(u64, i64)>,
}

/// Numbers an invocation's ledger entry, and writes down when it comes to no good end.
struct Ending<'a> {
    user: &'a User,
    is_good: bool,
    why: &'static str,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.is_good {
            self.user.scene.ledger().invocation_ended(self.user.invocation, self.why);
        }
    }
}

impl Life {
    /// Draws the life of the next invocation of a function.
    pub(super) fn drawn(scene: &Scene, function: &str) -> Self {
        let mut chance = scene.chance();
        let mut life = Self::default();
        for kind in [Kind::Skew, Kind::CrashAtAwait, Kind::Freeze] {
            let (place, mut dice) = chance.next(INVOCATION + 10 * kind as u16, function);
            if chance.draw(&[kind], place, &mut dice).is_none() {
                continue;
            }
            let what = life.take(kind, &mut dice, chance.mix.skew_millis_max);
            let mut ledger = scene.ledger();
            ledger.note(|| format!("FAULT {} of {function}: {what}", kind.as_str()));
            let text = format!("{} {} of {function}: {what}", ledger.clock_text(), kind.as_str());
            chance.fire(kind, place, text);
        }
        life
    }

    fn take(&mut self, kind: Kind, dice: &mut Dice, skew_millis_max: u64) -> String {
        let number = |number: u64| i64::try_from(number).unwrap_or(0);
        // The first polls matter most, and there are invocations of hundreds.
        let bits = 1 + dice.below(8);
        let poll = 1 + dice.below(1 << bits);
        match kind {
            Kind::Skew => {
                self.skew_millis =
                    number(dice.below(2 * skew_millis_max + 1)) - number(skew_millis_max);
                format!("{} ms", self.skew_millis)
            }
            Kind::CrashAtAwait => {
                self.crash_after_polls = Some(poll);
                format!("after {poll} polls")
            }
            _ => {
                let millis = number(dice.below(FREEZE_MILLIS_MAX));
                self.freeze = Some((poll, millis));
                format!("after {poll} polls for {millis} ms")
            }
        }
    }

    pub(super) const fn skew_millis(&self) -> i64 {
        self.skew_millis
    }

    /// Runs an invocation for as long as it lives; none when it comes to no good end.
    pub(super) async fn live<T>(
        self,
        user: &User,
        timeout_at: Instant,
        run: impl Future<Output = T>,
    ) -> Option<T> {
        let mut ending = Ending { user, is_good: false, why: "crashed" };
        let clock = &user.scene.clock;
        let mut run = pin!(run);
        let mut timeout = pin!(clock.sleep_until(timeout_at));
        let mut thaw: Option<Pin<Box<dyn Future<Output = ()> + Send>>> = None;
        let mut polls = 0;
        let ended = poll_fn(|context| {
            if timeout.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            if let Some(thawed) = &mut thaw {
                if thawed.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                thaw = None;
            }
            polls += 1;
            if let Poll::Ready(value) = run.as_mut().poll(context) {
                return Poll::Ready(Some(Some(value)));
            }
            if self.crash_after_polls == Some(polls) {
                return Poll::Ready(Some(None));
            }
            if let Some((at, millis)) = self.freeze
                && at == polls
            {
                let clock = clock.clone();
                let until = clock.now().plus_millis(millis);
                thaw = Some(Box::pin(async move { clock.sleep_until(until).await }));
                context.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await;
        ending.is_good = matches!(ended, Some(Some(_)));
        ending.why = if ended.is_none() { "ran into its time-out" } else { "crashed at an await" };
        ended.flatten()
    }
}
