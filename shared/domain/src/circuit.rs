//! The circuit of a channel: opens when it does not answer any more (R13).

use crate::time::Instant;

/// After how many calls in a row without an answer it opens.
pub const UNANSWERED_MAX: u32 = 5;
/// How long it stays open before the channel is tried again, in seconds: long against the longest
/// time-out of a send, 10 s, so that dispatchers are seldom held by a channel that hangs.
pub const OPEN_SECONDS: i64 = 30;
/// How often a message is let through to try the channel, in seconds. Not each of them leads to a
/// send: its jobs may be finished.
pub const TRIAL_SECONDS: i64 = 1;

/// What one process knows of a channel's answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circuit {
    unanswered: u32,
    open_until: Option<Instant>,
    openings: u32,
}

impl Circuit {
    /// Tells whether a message's jobs are held back. Once the time is over, a message a second is
    /// let through to try the channel, until there is an answer or none.
    ///
    /// ```
    /// use spillway_domain::{circuit::*, time::Instant};
    /// let now = Instant::from_millis(0);
    /// let mut circuit = Circuit::default();
    /// assert!(!circuit.holds(now));
    /// (0..UNANSWERED_MAX).for_each(|_| circuit.count(false, now));
    /// let over = now.plus_seconds(OPEN_SECONDS);
    /// assert!(circuit.holds(now));
    /// assert!(!circuit.holds(over), "one tries");
    /// assert!(circuit.holds(over));
    /// assert!(!circuit.holds(over.plus_seconds(TRIAL_SECONDS)));
    /// ```
    pub fn holds(&mut self, now: Instant) -> bool {
        let is_open = self.open_until.is_some_and(|until| now < until);
        if self.open_until.is_some() && !is_open {
            self.open_until = Some(now.plus_seconds(TRIAL_SECONDS));
        }
        is_open
    }

    /// Counts how often it opened: another number than before means that it did meanwhile.
    ///
    /// ```
    /// use spillway_domain::circuit::Circuit;
    /// assert_eq!(Circuit::default().openings(), 0);
    /// ```
    pub const fn openings(&self) -> u32 {
        self.openings
    }

    /// Takes in whether a call was answered. An answer closes it, whatever it says.
    ///
    /// ```
    /// use spillway_domain::{circuit::*, time::Instant};
    /// let now = Instant::from_millis(0);
    /// let mut circuit = Circuit::default();
    /// (0..UNANSWERED_MAX).for_each(|_| circuit.count(false, now));
    /// assert_eq!(circuit.openings(), 1);
    /// circuit.count(true, now);
    /// assert!(!circuit.holds(now));
    /// ```
    pub fn count(&mut self, is_answered: bool, now: Instant) {
        if is_answered {
            *self = Self { openings: self.openings, ..Self::default() };
            return;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        if self.unanswered >= UNANSWERED_MAX {
            self.open_until = Some(now.plus_seconds(OPEN_SECONDS));
            self.openings = self.openings.wrapping_add(1);
        }
    }
}
