//! The promises that a run is held to.

macro_rules! invariants {
    ($($name:ident = $text:literal),+ $(,)?) => {
        /// A promise that is checked while the service runs, and at its end.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Invariant {
            $(#[doc = concat!("It says: ", $text, ".")] $name),+
        }

        impl Invariant {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Says what is promised.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }
        }
    };
}

invariants! {
    NothingLost = "nothing that was accepted is lost",
    ComesToRest = "everything comes to rest once faults stop",
    NeverEarly = "nothing is sent early by its sender's clock",
    NeverExpired = "nothing is sent past its expiry",
    CancelIsFinal = "no send starts after an acknowledged cancel",
    NoOldGeneration = "no old generation is sent after an acknowledged reschedule",
    TwiceOnlyWithCause = "a job is sent twice only with a cause",
    TwiceIsCounted = "what arrived twice is told and has one identity",
    ArrivalIsTold = "what arrived is delivered, or told to be maybe sent",
    DeliveredArrived = "what is delivered has arrived",
    FinishedStays = "a finished job never comes back, except by redrive",
    SuccessIsStored = "success means that the row is there",
    SuccessIsStaged = "success inside the boundary means that the message was sent",
    WatermarkWaits = "the watermark waits for every job that the index shows",
    PlanIsOne = "a minute has one plan",
    ClaimOfOwnGeneration = "a message claims its own generation alone",
    FailedHasLetter = "a failed job has its dead-letter entry",
    LimitsRespected = "no limit of a queue or a channel is broken",
    LeaseBeforeClaim = "a job of a channel with a rate is claimed with a token alone",
    RateHolds = "no second sees more than rate and burst, nor movable work the reserve",
    ExactDrains = "exact jobs do not wait for movable ones",
    SecondSpreads = "the jobs of one second spread over the shards",
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which one.
    pub invariant: Invariant,
    /// When and by what, for people.
    pub text: String,
}
