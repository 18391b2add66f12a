//! The model's values as those of `spillway_domain`, so that its decisions are used as they are.
//! A step of time is a second, and now is 0.

use std::sync::LazyLock;

use spillway_domain::bucket::ShardCount;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{self, ClaimToken, Generation, Job};
use spillway_domain::name::{ChannelName, JobId};
use spillway_domain::pack::PackEntry;
use spillway_domain::precision::Contract;
use spillway_domain::spec::{JobSpec, Overrides, Payload};
use spillway_domain::time::Instant;

use crate::durations::CLAIM;
use crate::world::{Row, Token};

/// What all jobs of the model have in common.
static TEMPLATE: LazyLock<Job> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the values are constants")]
    let (id, channel, payload, shards) = (
        JobId::new("job").expect("a valid id"),
        ChannelName::new("channel").expect("a valid name"),
        Payload::from_canonical_json("null").expect("a valid payload"),
        ShardCount::new(1).expect("a valid count"),
    );
    let requested_at = instant(0);
    let overrides = Overrides::default();
    let spec = JobSpec { requested_at, channel, class: None, overrides, payload };
    Job::accepted(id, spec, Contract::EXACT, requested_at, shards)
});

/// Gives the instant that is so far away.
pub fn instant(left: i8) -> Instant {
    Instant::from_millis(0).plus_seconds(i64::from(left))
}

fn token(token: Token) -> ClaimToken {
    ClaimToken::from_text(match token {
        Token::Run(0) => "a",
        Token::Run(_) => "b",
        Token::Gone => "gone",
    })
}

/// Gives a row as the domain's job.
pub fn job(row: &Row) -> Job {
    let claim =
        row.claim.map(|claim| job::Claim { token: token(claim.token), until: instant(claim.left) });
    Job {
        generation: Generation::from_number(i64::from(row.generation)),
        state: row.state,
        release_at: instant(row.release_in),
        expires_at: row.expires_in.map(instant),
        attempts: u32::from(row.attempts),
        maybe_sent: row.maybe_sent,
        claim,
        ..TEMPLATE.clone()
    }
}

/// Gives a claim as it is asked for.
pub fn claim_request(generation: u8, by: Token, attempts_max: u8) -> ClaimRequest {
    let generation = Generation::from_number(i64::from(generation));
    ClaimRequest {
        entry: PackEntry { job_id: TEMPLATE.id.clone(), generation },
        token: token(by),
        now: instant(0),
        until: instant(CLAIM),
        attempts_max: u32::from(attempts_max),
    }
}
