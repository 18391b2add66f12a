//! The limiter of a channel's rate: leases of tokens from a distributed token bucket (GCRA, R18).
//!
//! A slice of a rate keeps one number, its theoretical arrival time (`tat`): up to when its tokens
//! are given away. A lease of n tokens begins there, or at the instant from which it is wanted when
//! that is later, and moves `tat` by n ÷ rate. So leases never overlap, and those of one second are
//! no more than the rate and one lease.
//!
//! A token counts where its lease begins, and the job is sent a little later. To keep that from
//! adding up, a lease is half of the burst at most, and its tokens are lost when they are not used
//! within the time in which the rate makes the other half. Any window of one second then holds at
//! most rate + burst sends, and rate × 2 × skew more when the senders' clocks are off. Tokens that
//! nobody uses are lost, not given back.

use xxhash_rust::xxh3::xxh3_64;

use crate::job::ClaimToken;
use crate::precision::Lane;
use crate::rate::Rate;
use crate::time::Instant;

/// How much of a rate one slice has at most, in jobs a second. A slice is one item, which takes
/// 1,000 writes a second; 5,000 jobs a second in leases of a 40th of a second or more are 40.
pub const SLICE_PER_SECOND_MAX: u32 = 5_000;
/// How far ahead an exact lease may begin, in milliseconds.
pub const EXACT_AHEAD_MILLIS: i64 = 1_000;
/// How far ahead a movable lease may begin, in milliseconds. Exact work stands behind no more than
/// this and the one lease that begins there.
/// It is more than the skew of clocks and the time of a call, so that askers whose clocks differ
/// leave no gap between their leases.
pub const MOVABLE_AHEAD_MILLIS: i64 = 150;
/// What part of a second's tokens an exact lease has at most: a tenth.
const EXACT_PART: u32 = 10;
/// What part of a second's tokens a movable lease has at most: a twentieth, so that exact work waits
/// for no more than two of its own leases, this and the limit together.
const MOVABLE_PART: u32 = 20;
/// How long before its release a job asks for a token, in milliseconds: the time to lease and to
/// claim. While nobody else waits, what the rate makes in this time is lost.
pub const LEASE_HEAD_START_MILLIS: i64 = 100;
/// How long a lease and its claims are taken to last at least, in milliseconds.
pub const CLAIMING_MILLIS_MIN: i64 = 50;
/// How long they are taken to last at most, in milliseconds, however slow the table is.
pub const CLAIMING_MILLIS_MAX: i64 = 1_000;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// A theoretical arrival time, in nanoseconds since the epoch: a token of 5,000 a second is worth
/// 0.2 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tat(i64);

impl Tat {
    /// Builds it from nanoseconds since the epoch.
    ///
    /// ```
    /// assert_eq!(spillway_domain::limiter::Tat::from_nanos(5).as_nanos(), 5);
    /// ```
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Tells the nanoseconds since the epoch.
    ///
    /// ```
    /// # use spillway_domain::{limiter::Tat, time::Instant};
    /// assert_eq!(Tat::at(Instant::from_millis(2)).as_nanos(), 2_000_000);
    /// ```
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Builds it from an instant.
    ///
    /// ```
    /// # use spillway_domain::{limiter::Tat, time::Instant};
    /// assert_eq!(Tat::at(Instant::from_millis(2)), Tat::from_nanos(2_000_000));
    /// ```
    pub const fn at(instant: Instant) -> Self {
        Self(instant.as_millis().saturating_mul(NANOS_PER_MILLI))
    }

    /// Gives the one so many nanoseconds later, or earlier when they are negative.
    ///
    /// ```
    /// # use spillway_domain::limiter::Tat;
    /// assert_eq!(Tat::from_nanos(5).plus_nanos(-2), Tat::from_nanos(3));
    /// ```
    #[must_use]
    pub const fn plus_nanos(self, nanos: i64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    const fn floor(self) -> Instant {
        Instant::from_millis(self.0.div_euclid(NANOS_PER_MILLI))
    }

    const fn ceil(self) -> Instant {
        self.plus_nanos(NANOS_PER_MILLI - 1).floor()
    }
}

/// One part of a rate: an item of its own, so that no item is written more often than a table
/// takes. The parts add up to the rate, its burst, and what its movable work may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    number: u32,
    per_second: u32,
    movable_per_second: u32,
    burst: u32,
}

impl Slice {
    /// Gives one of a rate's slices: there are as many as [`SLICE_PER_SECOND_MAX`] asks for, and
    /// `pick`, any number, chooses among those that have something for the lane.
    ///
    /// ```
    /// use spillway_domain::{limiter::Slice, precision::Lane, rate::Rate};
    /// let rate = Rate::new(12_000, None, 0).unwrap();
    /// let numbers = [0, 1, 2, 3].map(|pick| Slice::of(rate, Lane::Exact, pick).number());
    /// assert_eq!(numbers, [0, 1, 2, 0]);
    /// ```
    pub const fn of(rate: Rate, lane: Lane, pick: u64) -> Self {
        let slices = rate.per_second().div_ceil(SLICE_PER_SECOND_MAX);
        let of_lane = rate.of_lane(lane);
        let with_some = if of_lane < slices { of_lane } else { slices };
        #[expect(clippy::cast_possible_truncation, reason = "the remainder of a u32")]
        let number = (pick % with_some as u64) as u32;
        Self {
            number,
            per_second: part(rate.per_second(), slices, number),
            movable_per_second: part(rate.of_lane(Lane::Movable), slices, number),
            burst: part(rate.burst(), slices, number),
        }
    }

    /// Tells its number, from 0.
    ///
    /// ```
    /// use spillway_domain::{limiter::Slice, precision::Lane, rate::Rate};
    /// assert_eq!(Slice::of(Rate::new(180, None, 0).unwrap(), Lane::Exact, 7).number(), 0);
    /// ```
    pub const fn number(self) -> u32 {
        self.number
    }

    /// Tells how many tokens a lease has at most: a tenth of a second's in the exact lane, a twentieth
    /// in the movable one; half of the burst; 1 at least.
    ///
    /// ```
    /// use spillway_domain::{limiter::Slice, precision::Lane, rate::Rate};
    /// let slice = |per_second, burst| {
    ///     Slice::of(Rate::new(per_second, burst, 0).unwrap(), Lane::Exact, 0)
    /// };
    /// assert_eq!(slice(180, Some(10)).tokens_max(Lane::Exact), 5);
    /// assert_eq!(slice(180, Some(180)).tokens_max(Lane::Exact), 18);
    /// assert_eq!(slice(1, None).tokens_max(Lane::Exact), 1);
    /// ```
    pub const fn tokens_max(self, lane: Lane) -> u32 {
        let of_second = match lane {
            Lane::Exact => self.per_second / EXACT_PART,
            Lane::Movable => self.movable_per_second / MOVABLE_PART,
        };
        let half = self.burst.div_ceil(2);
        let tokens = if of_second < half { of_second } else { half };
        if tokens == 0 { 1 } else { tokens }
    }

    /// Tells how far ahead a lease must begin so that claims which are there after so many
    /// milliseconds come in time: in the first three quarters of its use, 0 at least.
    ///
    /// ```
    /// use spillway_domain::{limiter::Slice, precision::Lane, rate::Rate};
    /// let slice = Slice::of(Rate::new(500, Some(100), 0).unwrap(), Lane::Exact, 0);
    /// assert_eq!(slice.ahead_millis(50), 0); // a lease is used for 102 ms
    /// assert_eq!(slice.ahead_millis(220), 144);
    /// ```
    pub const fn ahead_millis(self, claiming_millis: i64) -> i64 {
        let ahead = claiming_millis.saturating_sub(self.use_nanos() / NANOS_PER_MILLI * 3 / 4);
        if ahead < 0 { 0 } else { ahead }
    }

    /// How long after its begin a lease may be used, in nanoseconds: as long as the rate takes for
    /// what the largest lease leaves of the burst. With at most `burst + 1 − largest lease` tokens
    /// made in it, a window of one second has at most rate + burst.
    const fn use_nanos(self) -> i64 {
        let left = self.burst.saturating_add(1).saturating_sub(self.tokens_max(Lane::Exact));
        (left as i64).saturating_mul(NANOS_PER_SECOND) / positive(self.per_second)
    }
}

/// Shares a number out among `parts`, the first of which get what cannot be divided.
const fn part(whole: u32, parts: u32, number: u32) -> u32 {
    let (each, more) = (whole / parts, whole % parts);
    if number < more { each + 1 } else { each }
}

const fn positive(per_second: u32) -> i64 {
    if per_second == 0 { 1 } else { per_second as i64 }
}

/// What a slice's item holds; nothing before its first lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceState {
    /// Up to when its tokens are given away.
    pub tat: Option<Tat>,
    /// The same for what movable work may use of it, while a reserve is kept from it.
    pub movable_tat: Option<Tat>,
}

/// What a dispatcher asks a limiter for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    /// The slice that is asked.
    pub slice: Slice,
    /// The lane of the jobs.
    pub lane: Lane,
    /// How many jobs wait, 1 at least.
    pub need: u32,
    /// The asker's clock.
    pub now: Instant,
    /// From when on the tokens can be used: `now` at least.
    pub from: Instant,
}

/// Tokens, and when they may be used: one for each send that starts within `begin_at` and, without
/// that instant itself, `until_at`, by the sender's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLease {
    /// How many sends.
    pub tokens: u32,
    /// Not before this.
    pub begin_at: Instant,
    /// Before this; then what is left is lost.
    pub until_at: Instant,
}

/// The answer of a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leasing {
    /// Tokens, now or in a moment.
    Leased(TokenLease),
    /// None: there may be some from this instant on.
    AskAgain(Instant),
}

/// How a `tat` moves when a lease is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TatMove {
    /// It lies before the request's `from`, or nowhere: it starts there.
    Start,
    /// It lies within `from` and the lane's limit: it goes on from where it is.
    Follow,
}

/// What a request makes of a slice's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A lease, by these moves of `tat` and, where there is a reserve and the lane is movable, of
    /// `movable_tat`.
    Lease(TatMove, Option<TatMove>),
    /// None before this instant.
    AskAgain(Instant),
}

impl TokenRequest {
    /// Tells how many tokens the lease will have.
    ///
    /// ```
    /// use spillway_domain::{limiter::*, precision::Lane, rate::Rate, time::Instant};
    /// let (lane, now) = (Lane::Exact, Instant::from_millis(0));
    /// let slice = Slice::of(Rate::new(180, Some(10), 0).unwrap(), lane, 0);
    /// let request = TokenRequest { slice, lane, need: 100, now, from: now };
    /// assert_eq!(request.tokens(), 5);
    /// assert_eq!(TokenRequest { need: 2, ..request }.tokens(), 2);
    /// ```
    pub fn tokens(&self) -> u32 {
        self.need.min(self.slice.tokens_max(self.lane)).max(1)
    }

    /// Tells how far the lease moves `tat`, in nanoseconds, rounded up.
    ///
    /// ```
    /// # use spillway_domain::{limiter::*, precision::Lane, rate::Rate, time::Instant};
    /// # let (lane, now) = (Lane::Exact, Instant::from_millis(0));
    /// let slice = Slice::of(Rate::new(500, None, 0).unwrap(), lane, 0);
    /// let request = TokenRequest { slice, lane, need: 10, now, from: now };
    /// assert_eq!(request.span_nanos(), 20_000_000);
    /// ```
    pub fn span_nanos(&self) -> i64 {
        span_nanos(self.tokens(), self.slice.per_second)
    }

    /// Tells how far the lease moves `movable_tat`, in nanoseconds, rounded up.
    ///
    /// ```
    /// # use spillway_domain::{limiter::*, precision::Lane, rate::Rate, time::Instant};
    /// # let (lane, now) = (Lane::Movable, Instant::from_millis(0));
    /// let slice = Slice::of(Rate::new(500, None, 250).unwrap(), lane, 0);
    /// let request = TokenRequest { slice, lane, need: 10, now, from: now };
    /// assert_eq!(request.movable_span_nanos(), 2 * request.span_nanos());
    /// ```
    pub fn movable_span_nanos(&self) -> i64 {
        span_nanos(self.tokens(), self.slice.movable_per_second)
    }

    /// Tells the latest `tat` at which the lease may begin: the lane's limit, or `from` when that
    /// is further.
    ///
    /// ```
    /// # use spillway_domain::{limiter::*, precision::Lane, rate::Rate, time::Instant};
    /// # let (lane, now) = (Lane::Movable, Instant::from_millis(0));
    /// # let slice = Slice::of(Rate::new(500, None, 250).unwrap(), lane, 0);
    /// let request = TokenRequest { slice, lane, need: 10, now, from: now };
    /// assert_eq!(request.limit(), Tat::at(Instant::from_millis(MOVABLE_AHEAD_MILLIS)));
    /// ```
    pub fn limit(&self) -> Tat {
        Tat::at(self.from.max(self.now.plus_millis(ahead_millis(self.lane))))
    }

    /// Tells whether the lane is kept from a reserve: then it is bound by `movable_tat` as well.
    ///
    /// ```
    /// # use spillway_domain::{limiter::*, precision::Lane, rate::Rate, time::Instant};
    /// # let (lane, now) = (Lane::Movable, Instant::from_millis(0));
    /// # let slice = Slice::of(Rate::new(500, None, 250).unwrap(), lane, 0);
    /// let request = TokenRequest { slice, lane, need: 10, now, from: now };
    /// assert!(request.is_kept_from_reserve());
    /// assert!(!TokenRequest { lane: Lane::Exact, ..request }.is_kept_from_reserve());
    /// ```
    pub fn is_kept_from_reserve(&self) -> bool {
        self.lane == Lane::Movable && self.slice.movable_per_second < self.slice.per_second
    }

    /// Decides on the request, given what the slice's item holds.
    ///
    /// ```
    /// # use spillway_domain::{limiter::*, precision::Lane, rate::Rate, time::Instant};
    /// let (lane, now) = (Lane::Movable, Instant::from_millis(0));
    /// let slice = Slice::of(Rate::new(500, None, 0).unwrap(), lane, 0);
    /// let request = TokenRequest { slice, lane, need: 10, now, from: now };
    /// let held = |millis| {
    ///     let tat = Some(Tat::at(Instant::from_millis(millis)));
    ///     request.decision(SliceState { tat, movable_tat: None })
    /// };
    /// assert_eq!(held(-1), Decision::Lease(TatMove::Start, None));
    /// assert_eq!(held(150), Decision::Lease(TatMove::Follow, None));
    /// assert_eq!(held(180), Decision::AskAgain(Instant::from_millis(30)));
    /// ```
    pub fn decision(&self, state: SliceState) -> Decision {
        let of_reserve = state.movable_tat.filter(|_| self.is_kept_from_reserve());
        let furthest = state.tat.max(of_reserve);
        if let Some(beyond) = furthest.filter(|tat| *tat > self.limit()) {
            let again_at = beyond.ceil().plus_millis(-ahead_millis(self.lane));
            return Decision::AskAgain(again_at.max(self.now.plus_millis(1)));
        }
        let from = Tat::at(self.from);
        let moved = |tat: Option<Tat>| match tat {
            Some(tat) if tat >= from => TatMove::Follow,
            _ => TatMove::Start,
        };
        let of_reserve = self.is_kept_from_reserve().then(|| moved(state.movable_tat));
        Decision::Lease(moved(state.tat), of_reserve)
    }

    /// Gives the state after a lease by these moves.
    ///
    /// ```
    /// # use spillway_domain::{limiter::*, precision::Lane, rate::Rate, time::Instant};
    /// # let (lane, now) = (Lane::Exact, Instant::from_millis(0));
    /// # let slice = Slice::of(Rate::new(500, None, 0).unwrap(), lane, 0);
    /// let request = TokenRequest { slice, lane, need: 10, now, from: now };
    /// let state = request.moved(SliceState::default(), TatMove::Start, None);
    /// assert_eq!(state.tat, Some(Tat::at(Instant::from_millis(20))));
    /// ```
    pub fn moved(&self, state: SliceState, of: TatMove, reserve: Option<TatMove>) -> SliceState {
        let from = Tat::at(self.from);
        let begin = |tat: Option<Tat>, of| match of {
            TatMove::Start => from,
            TatMove::Follow => tat.unwrap_or(from),
        };
        let tat = begin(state.tat, of).plus_nanos(self.span_nanos());
        let of_reserve =
            reserve.map(|of| begin(state.movable_tat, of).plus_nanos(self.movable_span_nanos()));
        SliceState { tat: Some(tat), movable_tat: of_reserve.or(state.movable_tat) }
    }

    /// Gives the lease that moved the slice's `tat` to `after`.
    ///
    /// ```
    /// # use spillway_domain::{limiter::*, precision::Lane, rate::Rate, time::Instant};
    /// # let (lane, now) = (Lane::Exact, Instant::from_millis(0));
    /// # let slice = Slice::of(Rate::new(500, Some(100), 0).unwrap(), lane, 0);
    /// let request = TokenRequest { slice, lane, need: 10, now, from: now };
    /// let lease = request.lease(Tat::at(Instant::from_millis(50)));
    /// assert_eq!((lease.tokens, lease.begin_at), (10, Instant::from_millis(30)));
    /// assert_eq!(lease.until_at, Instant::from_millis(132)); // (100 + 1 − 50) ÷ 500 s
    /// ```
    pub fn lease(&self, after: Tat) -> TokenLease {
        let begin = after.plus_nanos(-self.span_nanos());
        TokenLease {
            tokens: self.tokens(),
            begin_at: begin.ceil(),
            until_at: begin.plus_nanos(self.slice.use_nanos()).floor(),
        }
    }
}

fn span_nanos(tokens: u32, per_second: u32) -> i64 {
    let (nanos, rate) = (i64::from(tokens) * NANOS_PER_SECOND, positive(per_second));
    nanos / rate + i64::from(nanos % rate != 0)
}

const fn ahead_millis(lane: Lane) -> i64 {
    match lane {
        Lane::Exact => EXACT_AHEAD_MILLIS,
        Lane::Movable => MOVABLE_AHEAD_MILLIS,
    }
}

/// Tells how long the next lease and its claims are taken to last, in milliseconds, after a call
/// that took so long: [`CLAIMING_MILLIS_MIN`] to
/// [`CLAIMING_MILLIS_MAX`].
///
/// ```
/// use spillway_domain::limiter::claiming_millis;
/// assert_eq!([5, 100, 5_000].map(claiming_millis), [50, 220, 1_000]);
/// ```
pub fn claiming_millis(call_millis: i64) -> i64 {
    let millis = call_millis.saturating_mul(2).saturating_add(20);
    millis.clamp(CLAIMING_MILLIS_MIN, CLAIMING_MILLIS_MAX)
}

/// How far those who are told to ask again are spread at first, in milliseconds: less than the limit
/// of movable work, so that no token is lost while they wait.
const SPREAD_MILLIS: u64 = 40;
/// How often the spread doubles while one is refused.
const DOUBLINGS_MAX: u32 = 5;

/// Tells how long after the instant that it was told an asker asks again, in milliseconds: anywhere
/// within 40, doubled with each refusal in a row up to 1,280, so that many askers do not write to
/// one item all the time. The place is the hash of what the asker asks for and of the try.
///
/// ```
/// use spillway_domain::{job::ClaimToken, limiter::spread_millis};
/// let token = ClaimToken::of("i", "m", 0);
/// assert!((0..=40).contains(&spread_millis(&token, 0)));
/// assert!((0..=1_280).contains(&spread_millis(&token, 99)));
/// ```
pub fn spread_millis(token: &ClaimToken, refusals: u32) -> i64 {
    let bound = SPREAD_MILLIS << refusals.min(DOUBLINGS_MAX);
    place(token, refusals, bound)
}

/// The longest wait of a message that got no tokens, in seconds.
const AWAY_SECONDS_MAX: i64 = 16;
/// The shortest one, in milliseconds.
const AWAY_MILLIS_MIN: i64 = 500;

/// Tells how long a message is passed on that waited for tokens in vain, in milliseconds: anywhere
/// between 0.5 s and 2 s, which doubles with every hop up to 16 s. With less chance in it the
/// messages of one second would come back in waves, and leave tokens unused between them.
///
/// ```
/// use spillway_domain::{job::ClaimToken, limiter::away_millis};
/// let token = ClaimToken::of("i", "m", 0);
/// assert!((500..=2_000).contains(&away_millis(&token, 0)));
/// assert!((500..=16_000).contains(&away_millis(&token, 100)));
/// ```
pub fn away_millis(token: &ClaimToken, hops: u32) -> i64 {
    let seconds = 2_i64.checked_shl(hops).unwrap_or(i64::MAX).clamp(2, AWAY_SECONDS_MAX);
    AWAY_MILLIS_MIN + place(token, hops, (seconds * 1_000 - AWAY_MILLIS_MIN).unsigned_abs())
}

fn place(token: &ClaimToken, salt: u32, bound: u64) -> i64 {
    let hash = xxh3_64(token.as_str().as_bytes()).rotate_left(salt % 64) ^ u64::from(salt);
    i64::try_from(hash % (bound + 1)).unwrap_or(0)
}

/// Picks a slice for an asker, and another with each refusal.
///
/// ```
/// use spillway_domain::{job::ClaimToken, limiter::slice_pick};
/// let token = ClaimToken::of("i", "m", 0);
/// assert_eq!(slice_pick(&token, 1), slice_pick(&token, 0).wrapping_add(1));
/// ```
pub fn slice_pick(token: &ClaimToken, asks: u32) -> u64 {
    xxh3_64(token.as_str().as_bytes()).wrapping_add(u64::from(asks))
}
