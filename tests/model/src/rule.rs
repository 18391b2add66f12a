//! The rules of `docs/protocol.md`, each of which a search can go without.

use std::fmt;

/// A rule of `docs/protocol.md` that a search can go without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// 1. One token an entry.
    OneTokenAnEntry,
    /// 2. Whoever leaves `claimed` removes the token, and a holder's writes name the state.
    TokenIsRemoved,
    /// 3. Between attempts nobody holds the job.
    NobodyHoldsBetweenAttempts,
    /// 4. A send without an answer may have arrived.
    UnansweredMayHaveArrived,
    /// 5. Claim before send.
    ClaimBeforeSend,
    /// 6. A delivery is recorded, whatever it takes.
    RecordedWhateverItTakes,
    /// 7. The dead-letter entry first, then the row.
    DeadLetterFirst,
    /// 8. A holder is gone before its claim is.
    HolderGoneBeforeClaim,
    /// 9. Whoever writes a bucket stages it when it is near.
    WriterStagesNearBucket,
    /// 10. The messages, then the watermark.
    MessagesBeforeWatermark,
    /// 11. Reconcile visits every drained minute.
    Reconcile,
    /// 12. A finished row outlives what could repeat it.
    FinishedRowOutlives,
}

impl Rule {
    /// The rules, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::OneTokenAnEntry,
        Self::TokenIsRemoved,
        Self::NobodyHoldsBetweenAttempts,
        Self::UnansweredMayHaveArrived,
        Self::ClaimBeforeSend,
        Self::RecordedWhateverItTakes,
        Self::DeadLetterFirst,
        Self::HolderGoneBeforeClaim,
        Self::WriterStagesNearBucket,
        Self::MessagesBeforeWatermark,
        Self::Reconcile,
        Self::FinishedRowOutlives,
    ];

    /// Tells the rule of a number, 1 to 12.
    pub fn numbered(number: usize) -> Option<Self> {
        Self::ALL.get(number.checked_sub(1)?).copied()
    }

    /// Tells the rule's number in `docs/protocol.md`.
    pub fn number(self) -> usize {
        Self::ALL.iter().take_while(|rule| **rule != self).count() + 1
    }

    /// Says what the model does without the rule.
    pub const fn left_out(self) -> &'static str {
        match self {
            Self::OneTokenAnEntry => "both messages of a batch claim with one token",
            Self::TokenIsRemoved => {
                "the token stays in the row, and a holder's writes name token and generation alone"
            }
            Self::NobodyHoldsBetweenAttempts => "the row stays claimed until the next attempt",
            Self::UnansweredMayHaveArrived => "an unanswered send sets no mark, nor a take-over",
            Self::ClaimBeforeSend => "dispatch sends what the message names, without a claim",
            Self::RecordedWhateverItTakes => "a record that is not answered is given up",
            Self::DeadLetterFirst => "the row is written first, then the dead-letter entry",
            Self::HolderGoneBeforeClaim => {
                "an invocation outlives its claim, and a send starts whatever is left of it"
            }
            Self::WriterStagesNearBucket => "every bucket is left to prefetch",
            Self::MessagesBeforeWatermark => "the watermark moves first, then the messages leave",
            Self::Reconcile => "no drained minute is visited",
            Self::FinishedRowOutlives => "a finished row may go at any time",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}: {}", self.number(), self.left_out())
    }
}
