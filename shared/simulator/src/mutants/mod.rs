//! Known mistakes, made by wrappers around the ports: they prove that a fault run would find them.

mod claims;
mod intake;
mod limiter;
mod messages;
mod staging;

use std::sync::{Arc, Mutex};

use spillway_app::ports::{DeadLetter, OutgoingMessage};
use spillway_domain::limiter::TokenRequest;
use spillway_domain::name::ChannelName;
use spillway_domain::precision::Lane;
use spillway_testkit::{InMemoryDeadLetters, InMemoryQueue, InMemoryStore, ManualClock};

use crate::faults::Late;

macro_rules! mutants {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal),+ $(,)?) => {
        /// A known mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum)]
        pub enum Mutant {
            $($(#[doc = $doc])* #[value(name = $text)] $name),+
        }

        impl Mutant {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Names the mistake, as the command takes it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }
        }
    };
}

mutants! {
    /// Intake's queue answers without sending: no direct staging at the boundary.
    NoDirectStaging = "no-direct-staging",
    /// Intake answers success before its message is sent.
    SuccessBeforeSend = "success-before-send",
    /// Only the first page of a bucket is read.
    FirstPageOnly = "first-page-only",
    /// A batch that was taken in part is taken as sent.
    UnprocessedAsSent = "unprocessed-as-sent",
    /// A claim does not name the generation.
    ClaimWithoutGeneration = "claim-without-generation",
    /// A claim takes what another holds.
    ClaimWithoutLease = "claim-without-lease",
    /// All entries of an invocation have one token.
    OneTokenPerInvocation = "one-token-per-invocation",
    /// A holder's writes name neither state nor token nor generation.
    HolderWritesUnconditional = "holder-writes-unconditional",
    /// Who leaves `claimed` or cancels keeps the token, and a holder's writes name it alone.
    RetryKeepsToken = "retry-keeps-token",
    /// The dead-letter entry is sent after the row was written.
    LetterAfterRow = "letter-after-row",
    /// The shard comes from the same hash as the offset.
    ShardFromOffsetHash = "shard-from-offset-hash",
    /// The due time is rounded down to its second.
    RoundedDown = "rounded-down",
    /// A checkpoint is written before the open packs were sent.
    CheckpointBeforePacks = "checkpoint-before-packs",
    /// Dispatch claims first, and waits for its channel's rate then.
    LeaseAfterClaim = "lease-after-claim",
    /// Movable work leases as exact work does, its reserve included.
    MovableFromReserve = "movable-from-reserve",
    /// A redrive deletes an entry as it receives it.
    EntryDeletedFirst = "entry-deleted-first",
    /// What is carried is told by its rank among the jobs that are still there.
    CarryByRank = "carry-by-rank",
    /// Every run computes the plans of the minutes that it stages afresh.
    PlanAfresh = "plan-afresh",
}

/// A batch that was not sent when it was to be.
pub(crate) type KeptBatch = (Lane, Vec<OutgoingMessage>);

/// A lease that was not asked for when it was to be.
pub(crate) type KeptLease = (ChannelName, TokenRequest);

/// What a wrapper needs to make its mistake.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) mutant: Option<Mutant>,
    pub(crate) function: &'static str,
    pub(crate) invocation: u64,
    pub(crate) tables: InMemoryStore,
    pub(crate) letters: InMemoryDeadLetters,
    pub(crate) late: Late,
    pub(crate) clock: ManualClock,
    pub(crate) queue: InMemoryQueue,
    pub(crate) kept_letters: Arc<Mutex<Vec<DeadLetter>>>,
    pub(crate) kept_messages: Arc<Mutex<Vec<KeptBatch>>>,
    pub(crate) kept_leases: Arc<Mutex<Vec<KeptLease>>>,
}

impl Site {
    fn makes(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
}

/// A port that makes a mistake, or none.
#[derive(Clone)]
pub(crate) struct Mutated<P> {
    inner: P,
    site: Site,
}

impl<P: Clone> Mutated<P> {
    pub(crate) fn new(inner: &P, site: &Site) -> Self {
        Self { inner: inner.clone(), site: site.clone() }
    }
}
