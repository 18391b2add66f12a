//! R18: what the leases of a rate add up to.

use std::collections::BTreeMap;

use proptest::prelude::*;
use spillway_domain::limiter::{
    Decision, MOVABLE_AHEAD_MILLIS, Slice, SliceState, Tat, TokenLease, TokenRequest,
};
use spillway_domain::precision::Lane;
use spillway_domain::rate::Rate;
use spillway_domain::time::Instant;

use crate::arbitrary::seeded;

/// How far the clocks of askers are off, in milliseconds, either way.
const SKEW_MILLIS: i64 = 50;

fn rate() -> impl Strategy<Value = Rate> {
    let per_second = prop_oneof![1..=60_u32, 1..=20_000_u32];
    (per_second, any::<u32>(), any::<u32>()).prop_map(|(per_second, burst, reserve)| {
        let least = per_second.div_ceil(20);
        let burst = least + burst % (per_second - least + 1);
        Rate::new(per_second, Some(burst), reserve % per_second).unwrap()
    })
}

/// An ask: how long after the one before, of which slice and lane, how far ahead, by a clock that is
/// how far off, for how much, and at which part of its time the lease is used.
type Ask = (i64, u64, bool, i64, i64, u32, i64);

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let ask = (
        prop_oneof![Just(0), 0..=60_i64, 0..=400_i64],
        any::<u64>(),
        any::<bool>(),
        0..=500_i64,
        -SKEW_MILLIS..=SKEW_MILLIS,
        1..=1_000_u32,
        0..1_000_i64,
    );
    prop::collection::vec(ask, 1..400)
}

/// A lease, its lane, and when by the true time its tokens are used.
struct Used {
    lane: Lane,
    asked_at: Instant,
    lease: TokenLease,
    at: Instant,
}

/// Lets askers lease by their own clocks, and use what they got at any instant of its time.
fn leases(rate: Rate, asks: &[Ask]) -> Vec<Used> {
    let mut states: BTreeMap<u32, SliceState> = BTreeMap::new();
    let (mut true_now, mut used) = (Instant::from_millis(1_796_000_000_000), Vec::new());
    for (after, pick, is_exact, ahead, skew, need, place) in asks {
        true_now = true_now.plus_millis(*after);
        let now = true_now.plus_millis(*skew);
        let lane = if *is_exact { Lane::Exact } else { Lane::Movable };
        let slice = Slice::of(rate, lane, *pick);
        let request = TokenRequest { slice, lane, need: *need, now, from: now.plus_millis(*ahead) };
        let state = states.entry(slice.number()).or_default();
        if let Decision::Lease(of, reserve) = request.decision(*state) {
            *state = request.moved(*state, of, reserve);
            let lease = request.lease(state.tat.unwrap());
            let time = lease.until_at.millis_since(lease.begin_at);
            let at = lease.begin_at.plus_millis(time * place / 1_000 - skew);
            used.push(Used { lane, asked_at: true_now, lease, at });
        }
    }
    used
}

/// The most tokens that are used within any time of so many milliseconds.
fn most_within(used: &[Used], millis: i64) -> u64 {
    let mut sends: Vec<_> = used.iter().map(|it| (it.at, u64::from(it.lease.tokens))).collect();
    sends.sort_unstable();
    let tokens_from = |(place, (begin, _)): (usize, &(Instant, u64))| {
        let within = sends[place..].iter().take_while(|(at, _)| at.millis_since(*begin) < millis);
        within.map(|(_, tokens)| tokens).sum()
    };
    sends.iter().enumerate().map(tokens_from).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn no_second_sees_more_than_the_rate_the_burst_and_what_the_clocks_are_off(
        rate in rate(), asks in asks(),
    ) {
        let of_skew = u64::from(rate.per_second()) * 2 * SKEW_MILLIS as u64;
        let bound = u64::from(rate.per_second() + rate.burst()) + of_skew.div_ceil(1_000);
        prop_assert!(most_within(&leases(rate, &asks), 1_000) <= bound);
    }

    #[test]
    fn movable_work_leaves_the_reserve(rate in rate(), asks in asks()) {
        let mut used = leases(rate, &asks);
        used.retain(|it| it.lane == Lane::Movable);
        let seconds = 5;
        // Beside its part of the rate: the limit and the skew at both ends, the time in which a
        // lease is used, and the last lease of each slice.
        let of_lane = u64::from(rate.of_lane(Lane::Movable));
        let slices = u64::from(rate.per_second().div_ceil(5_000));
        let time = used.iter().map(|it| it.lease.until_at.millis_since(it.lease.begin_at)).max();
        let ahead = used.iter().map(|it| it.lease.begin_at.millis_since(it.asked_at)).max();
        let more = time.unwrap_or(0) + 2 * ahead.unwrap_or(0) + 2 * SKEW_MILLIS + 2;
        let millis = seconds * 1_000 + more.unsigned_abs();
        let bound = (of_lane * millis).div_ceil(1_000) + u64::from(rate.burst()) + slices;
        prop_assert!(most_within(&used, 5_000) <= bound);
    }

    #[test]
    fn a_lease_has_a_time_in_which_it_can_be_used(rate in rate(), asks in asks()) {
        for Used { lease, .. } in leases(rate, &asks) {
            prop_assert!(lease.until_at.millis_since(lease.begin_at) >= 20);
            prop_assert!(lease.tokens >= 1 && lease.tokens <= rate.burst());
            prop_assert!(lease.tokens <= (rate.per_second() / 10).max(1));
        }
    }

    #[test]
    fn the_slices_of_a_rate_add_up_to_it(rate in rate(), pick in any::<u64>()) {
        let slices = u64::from(rate.per_second().div_ceil(5_000));
        for lane in Lane::ALL {
            let numbers: std::collections::BTreeSet<_> = (0..slices)
                .map(|step| Slice::of(rate, lane, pick.wrapping_add(step)).number())
                .collect();
            let all = slices.min(u64::from(rate.of_lane(lane)));
            prop_assert!(numbers.len() as u64 <= all);
            prop_assert!(numbers.iter().all(|number| u64::from(*number) < all));
        }
    }

    #[test]
    fn whoever_asks_again_when_told_is_not_refused_for_what_was_there_then(
        rate in rate(), beyond in 1..5_000_i64, need in 1..100_u32, is_exact in any::<bool>(),
    ) {
        let now = Instant::from_millis(0);
        let lane = if is_exact { Lane::Exact } else { Lane::Movable };
        let slice = Slice::of(rate, lane, 0);
        let request = TokenRequest { slice, lane, need, now, from: now };
        let tat = Some(Tat::at(now.plus_millis(MOVABLE_AHEAD_MILLIS + beyond)));
        let state = SliceState { tat, movable_tat: tat };
        if let Decision::AskAgain(at) = request.decision(state) {
            prop_assert!(at > now);
            let again = TokenRequest { now: at, from: at, ..request };
            prop_assert!(matches!(again.decision(state), Decision::Lease(..)));
        }
    }
}
