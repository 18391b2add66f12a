//! The kinds of faults.

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal),+ $(,)?) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[doc = $doc])* $name),+
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Names the kind as it is shown.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }
        }
    };
}

kinds! {
    /// An invocation ends before a call has its effect.
    CrashBefore = "crash before a call",
    /// An invocation ends right after a call's effect.
    CrashAfter = "crash after a call",
    /// An invocation ends at one of its awaits.
    CrashAtAwait = "crash at an await",
    /// An invocation stands still for a while, and goes on unless its time is over.
    Freeze = "freeze",
    /// An invocation's clock is wrong by up to two seconds.
    Skew = "skew",
    /// A call fails for now, without an effect.
    Throttle = "throttle",
    /// For minutes no call of a port succeeds.
    Outage = "outage",
    /// A call has its effect, and its answer is lost.
    LostAnswer = "lost answer",
    /// A call takes seconds.
    Slow = "slow call",
    /// A call never answers, and has no effect.
    Hang = "hang",
    /// A call has its effect and never answers.
    HangAfter = "hang after the effect",
    /// A call is given up, and has its effect up to 40 s later, whatever became of its caller.
    LandsLate = "lands late",
    /// One message of a batch is not taken.
    PartialBatch = "partial batch",
    /// A message is lost, as if it had expired.
    MessageLost = "message lost",
    /// A message comes twice.
    MessageDoubled = "message doubled",
    /// A message comes up to 90 s late.
    MessageLate = "message late",
    /// Messages come in any order.
    Reordered = "messages reordered",
    /// The index shows a write up to 90 s late.
    IndexLate = "index late",
    /// A tick does not come.
    TickMissed = "tick missed",
    /// A tick comes twice.
    TickDoubled = "tick doubled",
    /// A tick comes up to 70 s late, and so beside the next.
    TickLate = "tick late",
    /// A channel refuses a delivery for now.
    ChannelRefuses = "channel refuses",
    /// A channel refuses a delivery for good.
    ChannelRefusesForGood = "channel refuses for good",
    /// A delivery arrives, and the channel's answer is lost.
    ChannelLosesAnswer = "channel loses its answer",
    /// A delivery is lost on its way, and there is no answer.
    ChannelLosesDelivery = "channel loses a delivery",
    /// A channel takes a delivery, or loses it, and its call never ends.
    ChannelHangs = "channel hangs",
    /// A channel answers seconds later.
    ChannelSlow = "channel slow",
}

/// Where a fault may happen: the how-manieth time that something happens to one subject. It does
/// not move when other jobs or faults are left out of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub(super) what: u16,
    pub(super) subject: u64,
    pub(super) nth: u32,
}

/// A fault that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Its kind.
    pub kind: Kind,
    /// Where.
    pub place: Place,
    /// When, and to what, for people.
    pub text: String,
}
