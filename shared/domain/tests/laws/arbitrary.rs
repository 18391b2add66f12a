//! Random values of the domain, and the seed that they come from.

use std::hash::{BuildHasher, RandomState};

use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use spillway_domain::bucket::ShardCount;
use spillway_domain::job::{Claim, ClaimToken, Job, State};
use spillway_domain::name::{ClassName, JobId};
use spillway_domain::precision::{Contract, EXPIRY_SECONDS_MAX, PRIORITY_MAX, WINDOW_SECONDS_MAX};
use spillway_domain::spec::{JobSpec, Overrides, Payload};
use spillway_domain::staging::{LOOKAHEAD_SECONDS_MAX, LOOKAHEAD_SECONDS_MIN, Lookahead};
use spillway_domain::time::{Instant, Minute};

use crate::samples;

/// 9999-12-31T23:59Z, the last minute that is written with a year of four digits.
pub(crate) const LAST_MINUTE: i64 = 4_223_371_679;

/// The configuration of a law: a seed of its own, printed, unless `PROPTEST_RNG_SEED` gives one.
pub(crate) fn seeded() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(RandomState::new().hash_one(0));
    }
    let seed = config.rng_seed;
    println!("again: PROPTEST_RNG_SEED={seed} cargo test -p spillway-domain --test laws");
    config
}

pub(crate) fn job_id() -> impl Strategy<Value = JobId> {
    prop_oneof!["[!-~]{1,255}", "[a-z]{1,8}:[0-9]{1,10}", "[\"ü€a]{1,85}"]
        .prop_filter_map("not an id", |text| JobId::new(text).ok())
}

/// Any instant of the years 1970 to 9999; every second one is a whole second.
pub(crate) fn instant() -> impl Strategy<Value = Instant> {
    let millis = 0..=LAST_MINUTE * 60_000;
    prop_oneof![millis.clone(), millis.prop_map(|millis| millis / 1_000 * 1_000)]
        .prop_map(Instant::from_millis)
}

/// Any minute of the years 1970 to 9999.
pub(crate) fn minute() -> impl Strategy<Value = Minute> {
    (0..=LAST_MINUTE).prop_map(Minute::from_epoch_minutes)
}

/// A window's length: none, short, or any.
fn window() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 1_u32..=120, 0..=WINDOW_SECONDS_MAX]
}

/// Any contract that can be kept.
pub(crate) fn contract() -> impl Strategy<Value = Contract> {
    let expiry = option::of(1..=EXPIRY_SECONDS_MAX - WINDOW_SECONDS_MAX);
    (window(), window(), 0..=PRIORITY_MAX, expiry).prop_map(|(early, late, priority, expiry)| {
        Contract {
            early_seconds: early,
            late_seconds: late,
            priority,
            expires_after_seconds: expiry.map(|beyond| late + beyond),
            lateness_budget_seconds: 10,
        }
    })
}

pub(crate) fn shard_count() -> impl Strategy<Value = ShardCount> {
    (1_u16..=9_999).prop_map(|count| ShardCount::new(count).unwrap())
}

pub(crate) fn lookahead() -> impl Strategy<Value = Lookahead> {
    (LOOKAHEAD_SECONDS_MIN..=LOOKAHEAD_SECONDS_MAX)
        .prop_map(|seconds| Lookahead::from_seconds(seconds).unwrap())
}

/// Any spec for one of two instants, so that equal ones are frequent.
pub(crate) fn spec() -> impl Strategy<Value = JobSpec> {
    let requested_at = prop_oneof![Just(3_600_000_i64), Just(3_600_001)];
    let late = option::of(prop_oneof![Just(0_u32), Just(30)]);
    let class = option::of(Just(ClassName::new("reminder").unwrap()));
    let payload = prop_oneof![Just("1"), Just("1.0")];
    (requested_at, late, class, payload).prop_map(|(requested_at, late_seconds, class, payload)| {
        JobSpec {
            class,
            overrides: Overrides { late_seconds, ..Overrides::default() },
            payload: Payload::from_canonical_json(payload).unwrap(),
            ..samples::spec(Instant::from_millis(requested_at))
        }
    })
}

pub(crate) fn state() -> impl Strategy<Value = State> {
    prop::sample::select(&State::ALL[..])
}

/// Any row that the writes of the protocol can leave behind.
pub(crate) fn stored_job() -> impl Strategy<Value = Job> {
    let fields = (spec(), contract(), 0_i64..7_200_000, state(), 0_u32..10, any::<bool>());
    fields.prop_map(|(spec, contract, accepted, state, attempts, maybe_sent)| {
        let now = Instant::from_millis(accepted);
        let job = samples::job("a", spec.requested_at, contract, now);
        let claim = (state == State::Claimed)
            .then(|| Claim { token: ClaimToken::of("i", "m", 0), until: now.plus_seconds(20) });
        let bucket = job.bucket.filter(|_| !state.is_finished());
        Job { spec, state, attempts, maybe_sent, claim, bucket, ..job }
    })
}
