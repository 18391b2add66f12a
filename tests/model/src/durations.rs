//! The abstract durations, in steps of time. Only their order matters: it is that of the protocol
//! (function < claim < visibility; a minute is staged before it begins and visited after its claims
//! ran out). The domain's functions read a step as a second.

/// How long before its minute a bucket is staged.
pub const LOOKAHEAD: i8 = 1;
/// What a writer adds to it before it leaves a bucket to prefetch (rule 9).
pub const DIRECT_MARGIN: i8 = 1;
/// How long an invocation of dispatch lives: it is ended when nothing is left of it.
pub const FUNCTION: i8 = 3;
/// The life that a claim still needs: an invocation claims in the first part of its time.
pub const CLAIMING_LIFE: i8 = 2;
/// The life that a send still needs, so that it can be recorded.
pub const SENDING_LIFE: i8 = 2;
/// How long a claim lasts.
pub const CLAIM: i8 = 4;
/// What must be left of a claim when a send starts (rule 8).
pub const SEND_MARGIN: i8 = 1;
/// How long a received message stays invisible.
pub const VISIBILITY: i8 = 5;
/// An invocation's life without rule 8.
pub const FUNCTION_UNBOUNDED: i8 = 7;
/// The wait before the next attempt: it ends in a minute that is staged already, so that only the
/// writer's message brings the job back in time.
pub const BACKOFF: i8 = 1;
/// How long an invocation of prefetch lives: here longer than its lease, although the code's leases
/// outlive their runs, to show that no promise rests on that.
pub const PREFETCH: i8 = 3;
/// How long a staging unit is leased.
pub const LEASE: i8 = 2;
/// How late an index entry may be and still lose nothing.
pub const INDEX_LAG_WITHIN: i8 = 2;
/// How late an index entry is that only reconcile finds.
pub const INDEX_LAG_BEYOND: i8 = 4;
/// How long after its minute a bucket is first visited by reconcile.
pub const FIRST_VISIT: i8 = 5;
/// The gap between two visits.
pub const VISIT_GAP: i8 = 2;
/// From a job's release to its expiry.
pub const EXPIRY: i8 = 1;
/// A release in a minute that is staged already.
pub const NOW: i8 = 1;
/// A release within the lookahead and the margin, which its writer stages.
pub const NEAR: i8 = 2;
/// A release that is left to prefetch.
pub const FAR: i8 = 3;
