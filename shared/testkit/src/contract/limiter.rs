//! The tokens of the channels' rates, which all dispatchers take from one place.
//!
//! Where answers get lost a lease may be made twice. What was leased first is then used by nobody,
//! and the next lease begins later by its length. No two leases ever overlap.

use futures::future::join_all;
use spillway_app::ports::Limiter as _;
use spillway_domain::limiter::{
    EXACT_AHEAD_MILLIS, Leasing, MOVABLE_AHEAD_MILLIS, Slice, TokenLease, TokenRequest,
};
use spillway_domain::precision::Lane;
use spillway_domain::rate::Rate;
use spillway_domain::time::Instant;

use super::ControlTable;
use super::steps::answered;
use crate::build::channel;

/// The rate of these clauses, in jobs a second: ten tokens are worth 100 ms.
const PER_SECOND: u32 = 100;
/// The tokens of these clauses' leases.
const TOKENS: u32 = 10;
/// What such a lease is worth, in milliseconds.
const LEASE_MILLIS: i64 = 100;

/// The first lease begins when it is wanted, now or a little ahead, with as many tokens as a lease
/// may have.
pub async fn the_first_lease_begins_when_it_is_wanted(table: &impl ControlTable) {
    for (number, ahead_millis) in [0, 50, 700].into_iter().enumerate() {
        let from = table.now().plus_millis(ahead_millis);
        let request = TokenRequest { from, need: 500, ..exact(table.now(), table.now()) };
        let lease = leased(ask(table, &format!("first-{number}"), request).await);
        assert_begins(table, lease, from);
        assert_eq!(lease.tokens, TOKENS);
        assert!(lease.until_at > lease.begin_at);
    }
}

/// Each lease begins where the one before it ends.
pub async fn leases_follow_one_another(table: &impl ControlTable) {
    let mut begin_at = table.now();
    for need in [1, 10, 5, 10] {
        let request = TokenRequest { need, ..exact(table.now(), table.now()) };
        let lease = leased(ask(table, "sms", request).await);
        begin_at = assert_begins(table, lease, begin_at);
        begin_at = begin_at.plus_millis(i64::from(need) * 1_000 / i64::from(PER_SECOND));
    }
}

/// Where the last lease lies in the past, the next one begins when it is wanted: what nobody leased
/// is gone.
pub async fn a_lease_begins_when_it_is_wanted_where_the_last_one_is_past(
    table: &impl ControlTable,
) {
    leased(ask(table, "sms", exact(table.now(), table.now())).await);
    for seconds in [10, 3_600] {
        let later = table.now().plus_seconds(seconds);
        let lease = leased(ask(table, "sms", exact(later, later)).await);
        assert_begins(table, lease, later);
    }
}

/// A lease begins at its lane's limit at the latest; whoever is refused is told when there may be
/// one.
pub async fn no_lease_begins_beyond_its_lanes_limit(table: &impl ControlTable) {
    for (lane, ahead_millis, lease_millis) in [
        (Lane::Exact, EXACT_AHEAD_MILLIS, LEASE_MILLIS),
        (Lane::Movable, MOVABLE_AHEAD_MILLIS, LEASE_MILLIS / 2),
    ] {
        let (name, now) = (lane.as_str(), table.now());
        let request = TokenRequest { lane, ..exact(now, now) };
        let mut leases = 0;
        let again_at = loop {
            match ask(table, name, request).await {
                Leasing::AskAgain(at) => break at,
                Leasing::Leased(lease) => assert!(lease.begin_at <= now.plus_millis(ahead_millis)),
            }
            leases += 1;
        };
        let all = ahead_millis / lease_millis + 1;
        assert!(leases == all || table.answers_get_lost() && leases < all, "{leases} of {all}");
        assert!(again_at > now);
        let later = TokenRequest { now: again_at, from: again_at, ..request };
        match ask(table, name, later).await {
            Leasing::Leased(lease) => {
                assert!(lease.begin_at <= again_at.plus_millis(ahead_millis));
            }
            // The one lease that there was may be a lost one.
            Leasing::AskAgain(_) => assert!(table.answers_get_lost(), "there is one by then"),
        }
    }
}

/// While exact work has taken what lies ahead, movable work gets nothing, and asks again once that
/// is near.
pub async fn movable_work_stands_behind_exact_work(table: &impl ControlTable) {
    let now = table.now();
    for _ in 0..3 {
        leased(ask(table, "sms", exact(now, now)).await);
    }
    let movable = TokenRequest { lane: Lane::Movable, ..exact(now, now) };
    let Leasing::AskAgain(again_at) = ask(table, "sms", movable).await else {
        panic!("300 ms are taken, and movable work is 150 ms ahead at most");
    };
    assert!(again_at >= now.plus_millis(3 * LEASE_MILLIS - MOVABLE_AHEAD_MILLIS));
    leased(ask(table, "sms", exact(now, now)).await);
}

/// Movable work moves on no faster than what the reserve leaves it, and exact work uses the rest.
pub async fn movable_work_leaves_the_reserve_to_exact_work(table: &impl ControlTable) {
    let begun_at = table.now();
    let mut tokens = 0;
    for step in 0..40 {
        let now = begun_at.plus_millis(step * LEASE_MILLIS / 2);
        let movable = TokenRequest { lane: Lane::Movable, ..kept(now) };
        if let Leasing::Leased(lease) = ask(table, "sms", movable).await {
            tokens += lease.tokens;
        }
        if step % 4 == 0 {
            leased(ask(table, "sms", TokenRequest { need: 1, ..kept(now) }).await);
        }
    }
    // 20 a second for 2 s, with what is ahead at the end: one lease and the limit's 100 ms.
    assert!(tokens <= 40 + TOKENS + 2, "movable work had {tokens} tokens");
    assert!(tokens >= 30 || table.answers_get_lost(), "movable work had {tokens} tokens");
}

/// What one channel or slice gives away is missing in no other.
pub async fn channels_and_slices_have_tokens_of_their_own(table: &impl ControlTable) {
    let now = table.now();
    leased(ask(table, "sms", exact(now, now)).await);
    let lease = leased(ask(table, "mail", exact(now, now)).await);
    assert_begins(table, lease, now);
    let wide = Rate::new(10_000, None, 0).unwrap_or_else(|problems| panic!("{problems:?}"));
    for pick in [0, 1] {
        let slice = Slice::of(wide, Lane::Exact, pick);
        let request = TokenRequest { slice, need: 500, ..exact(now, now) };
        let lease = leased(ask(table, "push", request).await);
        assert_begins_after(table, lease, now, 100);
    }
}

/// Leases that are asked for at once follow one another, and leave nothing between.
pub async fn of_five_leases_at_once_no_two_overlap(table: &impl ControlTable) {
    for now in [table.now(), table.now().plus_seconds(3_600)] {
        let asks = (0..5).map(|_| ask(table, "sms", exact(now, now)));
        let leases = join_all(asks).await.into_iter().map(leased);
        let mut leases: Vec<_> = leases.collect();
        leases.sort_by_key(|lease| lease.begin_at);
        let mut begin_at = now;
        for lease in leases {
            begin_at = assert_begins(table, lease, begin_at).plus_millis(LEASE_MILLIS);
        }
    }
}

/// A request of the exact lane for ten tokens of a rate without a reserve.
fn exact(now: Instant, from: Instant) -> TokenRequest {
    request(0, now, from)
}

/// The same of a rate of which 80 a second are kept for exact work.
fn kept(now: Instant) -> TokenRequest {
    request(80, now, now)
}

fn request(reserve: u32, now: Instant, from: Instant) -> TokenRequest {
    let rate = Rate::new(PER_SECOND, None, reserve).unwrap_or_else(|it| panic!("{it:?}"));
    let lane = Lane::Exact;
    TokenRequest { slice: Slice::of(rate, lane, 0), lane, need: TOKENS, now, from }
}

async fn ask(table: &impl ControlTable, name: &str, request: TokenRequest) -> Leasing {
    answered(table.limiter().lease_tokens(&channel(name), &request).await)
}

fn leased(leasing: Leasing) -> TokenLease {
    match leasing {
        Leasing::Leased(lease) => lease,
        Leasing::AskAgain(at) => panic!("no lease before {at:?}"),
    }
}

/// Holds a lease to begin at `at`, or some lost leases after it; answers where it begins.
fn assert_begins(table: &impl ControlTable, lease: TokenLease, at: Instant) -> Instant {
    assert_begins_after(table, lease, at, 10)
}

fn assert_begins_after(
    table: &impl ControlTable,
    lease: TokenLease,
    at: Instant,
    token_millis: i64,
) -> Instant {
    let gap = lease.begin_at.millis_since(at);
    let is_of_lost = table.answers_get_lost() && gap > 0 && gap % token_millis == 0;
    assert!(gap == 0 || is_of_lost, "it begins {gap} ms after the end of the one before it");
    lease.begin_at
}
