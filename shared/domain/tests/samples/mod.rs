//! What the tests of the domain build their cases from.

use spillway_domain::bucket::ShardCount;
use spillway_domain::job::Job;
use spillway_domain::name::{ChannelName, JobId};
use spillway_domain::policy::{Channel, Retry, Target};
use spillway_domain::precision::Contract;
use spillway_domain::spec::{JobSpec, Overrides, Payload};
use spillway_domain::time::Instant;

/// A spec without a class, for the channel `inbox`.
pub(crate) fn spec(requested_at: Instant) -> JobSpec {
    JobSpec {
        requested_at,
        channel: ChannelName::new("inbox").unwrap(),
        class: None,
        overrides: Overrides::default(),
        payload: Payload::from_canonical_json("null").unwrap(),
    }
}

/// A job that was just accepted.
pub(crate) fn job(id: &str, requested_at: Instant, contract: Contract, now: Instant) -> Job {
    Job::accepted(JobId::new(id).unwrap(), spec(requested_at), contract, now, shards())
}

/// The shards of the samples.
pub(crate) fn shards() -> ShardCount {
    ShardCount::new(64).unwrap()
}

/// A channel of the samples' policies.
pub(crate) fn channel() -> Channel {
    Channel {
        target: Target::Sqs { queue_url: "https://queue".into() },
        paused: false,
        template: None,
        retry: Retry::DEFAULT,
        send_timeout_millis: Channel::SEND_TIMEOUT_MILLIS,
        rate: None,
    }
}
