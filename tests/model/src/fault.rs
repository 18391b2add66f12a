//! The faults.

use std::fmt;

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// An actor ends between two of its steps.
    Crash,
    /// An actor stands still, for any time.
    Stall,
    /// A call is done, and its answer lost.
    AnswerLost,
    /// A call is neither done nor answered.
    NotDone,
    /// The queue has a message twice.
    Doubled,
    /// The queue loses a message.
    Lost,
    /// The index shows a write late.
    IndexLate,
    /// A tick does not come.
    TickMissed,
    /// A tick comes twice.
    TickDoubled,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 9] = [
        Self::Crash,
        Self::Stall,
        Self::AnswerLost,
        Self::NotDone,
        Self::Doubled,
        Self::Lost,
        Self::IndexLate,
        Self::TickMissed,
        Self::TickDoubled,
    ];

    /// Names the fault as the command line does.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Stall => "stall",
            Self::AnswerLost => "answer-lost",
            Self::NotDone => "not-done",
            Self::Doubled => "doubled",
            Self::Lost => "lost",
            Self::IndexLate => "index-late",
            Self::TickMissed => "tick-missed",
            Self::TickDoubled => "tick-doubled",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
