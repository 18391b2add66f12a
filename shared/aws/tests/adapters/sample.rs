//! Jobs for the tests: one plain one, and any that the types allow.

use proptest::option;
use proptest::prelude::*;
use spillway_app::ports::Delivery;
use spillway_domain::bucket::{Bucket, ShardCount};
use spillway_domain::job::{Claim, ClaimToken, Generation, Job, State};
use spillway_domain::name::{ChannelName, ClassName, JobId};
use spillway_domain::pack::PackEntry;
use spillway_domain::precision::Contract;
use spillway_domain::spec::{JobSpec, Overrides, Payload};
use spillway_domain::time::{Instant, Minute};

/// 2026-12-01T09:00:00Z.
pub(crate) const NINE: Instant = Instant::from_millis(1_796_115_600_000);

pub(crate) fn at(seconds_after_nine: i64) -> Instant {
    NINE.plus_seconds(seconds_after_nine)
}

pub(crate) fn id(text: &str) -> JobId {
    JobId::new(text).unwrap()
}

pub(crate) fn job(text: &str) -> Job {
    let spec = JobSpec {
        requested_at: NINE,
        channel: ChannelName::new("inbox").unwrap(),
        class: None,
        overrides: Overrides::default(),
        payload: Payload::from_canonical_json(r#"{"user":42}"#).unwrap(),
    };
    let shards = ShardCount::new(8).unwrap();
    Job::accepted(id(text), spec, Contract::EXACT, at(-3_600), shards)
}

pub(crate) fn entry(job: &Job) -> PackEntry {
    PackEntry { job_id: job.id.clone(), generation: job.generation }
}

pub(crate) fn token() -> ClaimToken {
    ClaimToken::of("invocation", "message", 0)
}

pub(crate) fn bucket() -> Bucket {
    Bucket::parse("2026-12-01T09:00Z#0007").unwrap()
}

pub(crate) fn delivery(text: &str, payload: &str) -> Delivery {
    Delivery {
        job_id: id(text),
        created_at: at(-3_600),
        requested_at: NINE,
        due_at: NINE,
        sent_at: NINE.plus_millis(3),
        class: None,
        attempt: 1,
        payload: Payload::from_canonical_json(payload).unwrap(),
    }
}

fn instants() -> impl Strategy<Value = Instant> {
    (0..4_102_444_800_000_i64).prop_map(Instant::from_millis)
}

pub(crate) fn ids() -> impl Strategy<Value = JobId> {
    "[^/?#%\\\\\\s\\p{Cc}]{1,60}".prop_filter_map("no id", |text| JobId::new(text).ok())
}

fn channels() -> impl Strategy<Value = ChannelName> {
    "[a-z][a-z0-9_-]{0,63}".prop_map(|name| ChannelName::new(name).unwrap())
}

fn specs() -> impl Strategy<Value = JobSpec> {
    let asked = (
        option::of(0..=86_400_u32),
        option::of(0..=86_400_u32),
        option::of(0..=9_u8),
        option::of(0..=31_622_400_u32),
    );
    let overrides = asked.prop_map(|(early, late, priority, expiry)| Overrides {
        early_seconds: early,
        late_seconds: late,
        priority,
        expires_after_seconds: expiry,
    });
    let classes = option::of("[a-z][a-z0-9_-]{0,63}");
    (instants(), channels(), classes, overrides, ".{0,200}").prop_map(
        |(requested_at, channel, class, overrides, text)| JobSpec {
            requested_at,
            channel,
            class: class.map(|name| ClassName::new(name).unwrap()),
            overrides,
            payload: Payload::from_canonical_json(serde_json::json!(text).to_string()).unwrap(),
        },
    )
}

fn contracts() -> impl Strategy<Value = Contract> {
    let expiry = option::of(0..=31_622_400_u32);
    (0..=86_400_u32, 0..=86_400_u32, 0..=9_u8, expiry, 0..=31_622_400_u32).prop_map(
        |(early_seconds, late_seconds, priority, expires_after_seconds, budget)| Contract {
            early_seconds,
            late_seconds,
            priority,
            expires_after_seconds,
            lateness_budget_seconds: budget,
        },
    )
}

fn buckets() -> impl Strategy<Value = Bucket> {
    (ids(), 0..68_374_080_i64, 1..=9_999_u16).prop_map(|(id, minute, count)| {
        Bucket::of(&id, Minute::from_epoch_minutes(minute), ShardCount::new(count).unwrap())
    })
}

fn claims() -> impl Strategy<Value = Claim> {
    ("[0-9a-f]{32}", instants())
        .prop_map(|(token, until)| Claim { token: ClaimToken::from_text(token), until })
}

/// Any job that the types allow, whether or not it can come about.
pub(crate) fn jobs() -> impl Strategy<Value = Job> {
    let identity = (ids(), any::<i64>(), prop::sample::select(&State::ALL[..]));
    let asked = (specs(), contracts(), option::of(any::<u32>()));
    let times = (instants(), instants(), option::of(instants()), instants(), instants());
    let held = (any::<u32>(), any::<bool>(), option::of(claims()), option::of(buckets()));
    let ends = (
        option::of(instants()),
        option::of(instants()),
        option::of(instants()),
        option::of(".{0,40}"),
        instants(),
        option::of(instants()),
    );
    (identity, asked, times, held, ends).prop_map(|(identity, asked, times, held, ends)| Job {
        id: identity.0,
        generation: Generation::from_number(identity.1),
        state: identity.2,
        spec: asked.0,
        rendered: asked.2.map(|n| Payload::from_canonical_json(n.to_string()).unwrap()),
        contract: asked.1,
        due_at: times.0,
        release_at: times.1,
        expires_at: times.2,
        latest_at_max: times.3,
        created_at: times.4,
        attempts: held.0,
        maybe_sent: held.1,
        claim: held.2,
        bucket: held.3,
        sent_at: ends.0,
        delivered_at: ends.1,
        finished_at: ends.2,
        reason: ends.3,
        accepted_at: ends.4,
        redriven_at: ends.5,
    })
}
