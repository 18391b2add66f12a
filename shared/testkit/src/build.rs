//! Short ways to values that tests need again and again.

use std::collections::BTreeMap;

use spillway_app::ports::Delivery;
use spillway_domain::bucket::ShardCount;
use spillway_domain::claim::{ClaimRequest, claim_seconds};
use spillway_domain::job::{ClaimToken, Job};
use spillway_domain::name::{ChannelName, ClassName, JobId};
use spillway_domain::pack::PackEntry;
use spillway_domain::policy::{Channel, Policy, Retry, Target};
use spillway_domain::precision::Contract;
use spillway_domain::spec::{JobSpec, Overrides, Payload};
use spillway_domain::time::{Instant, Minute};

/// The queue behind the channel `inbox` of [`policy`].
pub const INBOX_QUEUE_URL: &str = "http://queue.test/000000000000/inbox";
/// The bus behind the channel `bus` of [`policy`].
pub const BUS_NAME: &str = "bus";

/// Reads an instant: `2026-12-01T09:00:00Z`, with or without three digits of milliseconds.
///
/// # Panics
/// When the text is anything else.
///
/// ```
/// use spillway_testkit::build::at;
/// assert_eq!(at("1970-01-01T00:01:02.345Z").as_millis(), 62_345);
/// ```
pub fn at(text: &str) -> Instant {
    read_instant(text)
        .unwrap_or_else(|| panic!("{text:?} is no instant such as 2026-12-01T09:00:00Z"))
}

fn read_instant(text: &str) -> Option<Instant> {
    let (minute, rest) = text.split_at_checked(16)?;
    let minute = Minute::parse(&format!("{minute}Z"))?;
    let (seconds, fraction) = match rest.strip_prefix(':')?.strip_suffix('Z')?.split_once('.') {
        None => (rest.get(1..3)?, "000"),
        Some(parts) => parts,
    };
    let is_number =
        |digits: &str, len| digits.len() == len && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_whole = text.len() == 20 || text.len() == 24;
    if !(is_whole && is_number(seconds, 2) && is_number(fraction, 3)) {
        return None;
    }
    let seconds = seconds.parse().ok().filter(|seconds| *seconds < 60)?;
    Some(minute.start().plus_seconds(seconds).plus_millis(fraction.parse().ok()?))
}

/// Reads a minute: `2026-12-01T09:00Z`.
///
/// # Panics
/// When the text is anything else.
pub fn minute(text: &str) -> Minute {
    Minute::parse(text).unwrap_or_else(|| panic!("{text:?} is no minute"))
}

/// Builds a job's id.
///
/// # Panics
/// When the text is no id.
pub fn job_id(text: impl Into<String>) -> JobId {
    JobId::new(text).unwrap_or_else(|error| panic!("a job's id {error}"))
}

/// Builds a channel's name.
///
/// # Panics
/// When the text is no name.
pub fn channel(name: &str) -> ChannelName {
    ChannelName::new(name).unwrap_or_else(|error| panic!("a channel's name {error}"))
}

/// Builds a class's name.
///
/// # Panics
/// When the text is no name.
pub fn class(name: &str) -> ClassName {
    ClassName::new(name).unwrap_or_else(|error| panic!("a class's name {error}"))
}

/// Builds a payload from canonical JSON text.
///
/// # Panics
/// When the text has more than 64 KiB.
pub fn payload(json: impl Into<String>) -> Payload {
    Payload::from_canonical_json(json).unwrap_or_else(|error| panic!("a payload {error}"))
}

/// Builds a shard count.
///
/// # Panics
/// When it is 0 or above 9,999.
pub fn shards(count: u16) -> ShardCount {
    ShardCount::new(count).unwrap_or_else(|| panic!("{count} is no shard count"))
}

/// Builds a claim's token from a text.
pub fn token(text: &str) -> ClaimToken {
    ClaimToken::from_text(text)
}

/// Builds a spec for `requested_at`: exact, channel `inbox`, a small payload. Its fields are public:
///
/// ```
/// use spillway_domain::spec::JobSpec;
/// use spillway_testkit::build::{at, class, job_spec};
///
/// let birthday =
///     JobSpec { class: Some(class("birthday")), ..job_spec(at("2026-12-01T09:00:00Z")) };
/// assert_eq!(birthday.channel.as_str(), "inbox");
/// ```
pub fn job_spec(requested_at: Instant) -> JobSpec {
    JobSpec {
        requested_at,
        channel: channel("inbox"),
        class: None,
        overrides: Overrides::default(),
        payload: payload(r#"{"user":42}"#),
    }
}

/// Builds the row of an exact job that was accepted at `now`, in one of eight shards.
///
/// ```
/// use spillway_testkit::build::{at, exact_job};
///
/// let job = exact_job("a", at("2026-12-01T09:00:00Z"), at("2026-12-01T08:00:00Z"));
/// assert_eq!(job.release_at, at("2026-12-01T09:00:00Z"));
/// ```
pub fn exact_job(id: &str, requested_at: Instant, now: Instant) -> Job {
    Job::accepted(job_id(id), job_spec(requested_at), Contract::EXACT, now, shards(8))
}

/// Builds the row of a spec that was accepted at `now` under [`policy`], in one of eight shards.
///
/// # Panics
/// When the policy refuses the spec.
///
/// ```
/// use spillway_domain::{precision::Lane, spec::JobSpec};
/// use spillway_testkit::build::{at, class, job_of, job_spec};
///
/// let spec = JobSpec { class: Some(class("digest")), ..job_spec(at("2026-12-01T09:00:00Z")) };
/// assert_eq!(job_of("a", spec, at("2026-12-01T08:00:00Z")).lane(), Lane::Movable);
/// ```
pub fn job_of(id: &str, spec: JobSpec, now: Instant) -> Job {
    let contract = policy()
        .contract(&spec)
        .unwrap_or_else(|problems| panic!("the policy refuses the spec: {problems:?}"));
    Job::accepted(job_id(id), spec, contract, now, shards(8))
}

/// Builds the entry of a job's present life.
pub fn entry(job: &Job) -> PackEntry {
    PackEntry { job_id: job.id.clone(), generation: job.generation }
}

/// Builds the claim of a job's present life at `now`, for as long as its lane's claims last, with
/// five attempts allowed.
pub fn claim_request(job: &Job, token: &ClaimToken, now: Instant) -> ClaimRequest {
    ClaimRequest {
        entry: entry(job),
        token: token.clone(),
        now,
        until: now.plus_seconds(i64::from(claim_seconds(job.lane()))),
        attempts_max: Retry::DEFAULT.attempts_max,
    }
}

/// Builds the delivery of a job's first attempt, sent at `sent_at`.
pub fn delivery(job: &Job, sent_at: Instant) -> Delivery {
    Delivery {
        job_id: job.id.clone(),
        created_at: job.created_at,
        requested_at: job.spec.requested_at,
        due_at: job.due_at,
        sent_at,
        class: job.spec.class.clone(),
        attempt: 1,
        payload: job.payload_to_send().clone(),
    }
}

/// Builds the policy with the default classes and the channels `inbox` (a queue) and `bus` (an
/// EventBridge bus).
///
/// ```
/// use spillway_testkit::build::{class, policy};
/// assert_eq!(policy().classes[&class("otp")].expires_after_seconds, Some(60));
/// ```
pub fn policy() -> Policy {
    let inbox = Target::Sqs { queue_url: INBOX_QUEUE_URL.into() };
    let bus = Target::EventBridge { bus_name: BUS_NAME.into() };
    Policy {
        classes: default_classes(),
        channels: BTreeMap::from([
            (channel("inbox"), channel_to(inbox)),
            (channel("bus"), channel_to(bus)),
        ]),
    }
}

/// Builds a channel to a target: not paused, the default retries and time-out.
pub fn channel_to(target: Target) -> Channel {
    Channel {
        target,
        paused: false,
        retry: Retry::DEFAULT,
        template: None,
        send_timeout_millis: Channel::SEND_TIMEOUT_MILLIS,
        rate: None,
    }
}

fn default_classes() -> BTreeMap<ClassName, Contract> {
    let row = |name, early_seconds, late_seconds, priority, expires, lateness_budget_seconds| {
        let contract = Contract {
            early_seconds,
            late_seconds,
            priority,
            expires_after_seconds: expires,
            lateness_budget_seconds,
        };
        (class(name), contract)
    };
    BTreeMap::from([
        row("otp", 0, 0, 0, Some(60), 2),
        row("alert", 0, 0, 0, None, 2),
        row("deadline", 0, 0, 1, None, 10),
        row("reminder", 0, 30, 2, None, 30),
        row("birthday", 30, 30, 3, None, 60),
        row("transactional", 10, 10, 3, None, 30),
        row("marketing", 60, 60, 6, None, 300),
        row("digest", 300, 300, 6, None, 900),
        row("sync", 0, 1_800, 9, None, 3_600),
    ])
}
