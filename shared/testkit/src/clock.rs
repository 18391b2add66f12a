//! A clock that a test moves.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use spillway_app::ports::Clock;
use spillway_domain::time::Instant;

use crate::lock::locked;

/// A clock that stands still until a test moves it. Clones show the same time.
///
/// ```
/// use spillway_app::ports::Clock;
/// use spillway_testkit::{ManualClock, build::at};
///
/// let clock = ManualClock::at(at("2026-12-01T08:59:00Z"));
/// clock.advance_seconds(60);
/// assert_eq!(clock.now(), at("2026-12-01T09:00:00Z"));
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock {
    shown: Arc<Mutex<Shown>>,
}

#[derive(Debug)]
struct Shown {
    now: Instant,
    sleepers: BTreeMap<(Instant, u64), Waker>,
    sleeps: u64,
}

impl ManualClock {
    /// Builds a clock that shows `now`.
    pub fn at(now: Instant) -> Self {
        let shown = Shown { now, sleepers: BTreeMap::new(), sleeps: 0 };
        Self { shown: Arc::new(Mutex::new(shown)) }
    }

    /// Moves the clock to `at`, never backwards, and wakes whoever sleeps until then or earlier,
    /// the earliest first. All of them see the new time: a [`Driver`](crate::Driver) moves from one
    /// sleeper to the next, so that each wakes at its own.
    pub fn move_to(&self, at: Instant) {
        for waker in self.moved_to(at) {
            waker.wake();
        }
    }

    /// Moves the clock by seconds, as [`move_to`](Self::move_to) does.
    pub fn advance_seconds(&self, seconds: i64) {
        self.move_to(self.now().plus_seconds(seconds));
    }

    /// Moves the clock by milliseconds, as [`move_to`](Self::move_to) does.
    pub fn advance_millis(&self, millis: i64) {
        self.move_to(self.now().plus_millis(millis));
    }

    /// Tells when the next sleeper wakes; none when nobody sleeps.
    pub fn next_wake_at(&self) -> Option<Instant> {
        locked(&self.shown).sleepers.keys().next().map(|(at, _)| *at)
    }

    /// Gives a view of this clock that is wrong by `millis`: ahead when positive. An invocation
    /// that is given a skewed clock reads the wrong time and sleeps by it.
    ///
    /// ```
    /// use spillway_app::ports::Clock;
    /// use spillway_testkit::{ManualClock, build::at};
    ///
    /// let clock = ManualClock::at(at("2026-12-01T09:00:00Z"));
    /// let behind = clock.skewed_by(-1_500);
    /// assert_eq!(behind.now(), at("2026-12-01T08:59:58.500Z"));
    /// ```
    pub fn skewed_by(&self, millis: i64) -> SkewedClock {
        SkewedClock { clock: self.clone(), ahead_millis: millis }
    }

    /// Moves the time and takes out the wakers; they are woken after the lock is released, because
    /// a woken task may read the clock at once.
    fn moved_to(&self, at: Instant) -> Vec<Waker> {
        let mut shown = locked(&self.shown);
        let now = shown.now.max(at);
        shown.now = now;
        let mut woken = Vec::new();
        while let Some(first) = shown.sleepers.first_entry()
            && first.key().0 <= now
        {
            woken.push(first.remove());
        }
        woken
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        locked(&self.shown).now
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send {
        Sleep { clock: self.clone(), at, place: None }
    }
}

/// A view of a [`ManualClock`] that is wrong by a fixed time.
#[derive(Clone, Debug)]
pub struct SkewedClock {
    clock: ManualClock,
    ahead_millis: i64,
}

impl Clock for SkewedClock {
    fn now(&self) -> Instant {
        self.clock.now().plus_millis(self.ahead_millis)
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send {
        self.clock.sleep_until(at.plus_millis(-self.ahead_millis))
    }
}

/// Waits for the clock; leaves no sleeper behind when it is dropped.
struct Sleep {
    clock: ManualClock,
    at: Instant,
    place: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { clock, at, place } = &mut *self;
        let shown = &mut *locked(&clock.shown);
        if shown.now >= *at {
            return Poll::Ready(());
        }
        let place = *place.get_or_insert_with(|| {
            shown.sleeps += 1;
            shown.sleeps
        });
        let waker = shown.sleepers.entry((*at, place)).or_insert_with(|| context.waker().clone());
        waker.clone_from(context.waker());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            locked(&self.clock.shown).sleepers.remove(&(self.at, place));
        }
    }
}
