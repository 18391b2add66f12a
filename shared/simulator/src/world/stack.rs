//! What a deployed stack is set to.

use spillway_app::settings::Settings;
use spillway_domain::bucket::{ShardCount, ShardCounts};
use spillway_domain::pace::Pace;
use spillway_domain::policy::Policy;
use spillway_domain::staging::{LOOKAHEAD_SECONDS_MIN, Lookahead};
use spillway_domain::time::Instant;
use spillway_testkit::build::{policy, shards};

/// The shortest lookahead.
const SHORTEST: Lookahead = match Lookahead::from_seconds(LOOKAHEAD_SECONDS_MIN) {
    Some(lookahead) => lookahead,
    None => panic!("the shortest lookahead is one"),
};

/// The template's lookahead.
const USUAL: Lookahead = match Lookahead::from_seconds(300) {
    Some(lookahead) => lookahead,
    None => panic!("300 s are a lookahead"),
};

/// The template's pace, in jobs a second.
const PACE: Pace = match Pace::from_jobs_per_second(5_000) {
    Some(pace) => pace,
    None => panic!("5,000 jobs a second are a pace"),
};

/// The parameters of a stack and its policy.
#[derive(Clone, Debug)]
pub struct Stack {
    /// Its classes and channels.
    pub policy: Policy,
    /// How many shards a minute has.
    pub shards: ShardCount,
    /// How long before its minute begins a bucket is staged.
    pub lookahead: Lookahead,
    /// How fast overdue jobs are released.
    pub pace: Pace,
    /// How long a finished job's row is kept, in seconds.
    pub retention_seconds: u32,
}

impl Stack {
    /// Builds a small stack: eight shards, the shortest lookahead, rows kept for a week.
    pub fn small() -> Self {
        Self {
            policy: policy(),
            shards: shards(8),
            lookahead: SHORTEST,
            pace: PACE,
            retention_seconds: 7 * 86_400,
        }
    }

    /// Builds a stack as the template deploys it: 64 shards, a lookahead of 300 s, rows kept for a
    /// week.
    pub fn deployed() -> Self {
        Self { shards: shards(64), lookahead: USUAL, ..Self::small() }
    }

    /// Tells the settings that an invocation of it reads.
    pub fn settings(&self) -> Settings {
        let raised_at = Instant::from_millis(0);
        let shards = ShardCounts { readers: self.shards, writers: self.shards, raised_at };
        Settings { policy: self.policy.clone(), policy_version: 1, shards }
    }
}
