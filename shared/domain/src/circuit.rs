//! The circuit of a channel: opens when it does not answer any more (R13).

use crate::time::Instant;

/// After how many calls in a row without an answer it opens.
pub const UNANSWERED_MAX: u32 = 5;
/// How long it stays open before one message is let through to try the channel, in seconds: long
/// against the longest time-out of a send, 10 s, so that a dispatcher is seldom held by a channel
/// that hangs.
pub const OPEN_SECONDS: i64 = 30;

/// What one process knows of a channel's answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circuit {
    unanswered: u32,
    open_until: Option<Instant>,
}

impl Circuit {
    /// Tells until when jobs are held back; `None` lets them through. Once the time is over, the
    /// first who asks tries the channel, and the others are held back for as long again.
    ///
    /// ```
    /// use spillway_domain::{circuit::*, time::Instant};
    /// let now = Instant::from_millis(0);
    /// let mut circuit = Circuit::default();
    /// assert_eq!(circuit.holds_until(now), None);
    /// (0..UNANSWERED_MAX).for_each(|_| circuit.count(false, now));
    /// let over = now.plus_seconds(OPEN_SECONDS);
    /// assert_eq!(circuit.holds_until(now), Some(over));
    /// assert_eq!(circuit.holds_until(over), None, "one tries");
    /// assert_eq!(circuit.holds_until(over), Some(over.plus_seconds(OPEN_SECONDS)));
    /// ```
    pub fn holds_until(&mut self, now: Instant) -> Option<Instant> {
        let open_until = self.open_until?;
        if now < open_until {
            return Some(open_until);
        }
        self.open_until = Some(now.plus_seconds(OPEN_SECONDS));
        None
    }

    /// Tells until when it is open, without trying the channel: another answer than before means that
    /// it opened meanwhile.
    ///
    /// ```
    /// use spillway_domain::{circuit::Circuit, time::Instant};
    /// assert_eq!(Circuit::default().open_until(Instant::from_millis(0)), None);
    /// ```
    pub fn open_until(&self, now: Instant) -> Option<Instant> {
        self.open_until.filter(|until| now < *until)
    }

    /// Takes in whether a call was answered. An answer closes it, whatever it says.
    ///
    /// ```
    /// use spillway_domain::{circuit::*, time::Instant};
    /// let now = Instant::from_millis(0);
    /// let mut circuit = Circuit::default();
    /// (0..UNANSWERED_MAX).for_each(|_| circuit.count(false, now));
    /// circuit.count(true, now);
    /// assert_eq!(circuit, Circuit::default());
    /// ```
    pub fn count(&mut self, is_answered: bool, now: Instant) {
        if is_answered {
            *self = Self::default();
            return;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        if self.unanswered >= UNANSWERED_MAX {
            self.open_until = Some(now.plus_seconds(OPEN_SECONDS));
        }
    }
}
