//! A function's settings, read from its environment and checked before anything else happens.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use spillway_domain::bucket::{SHARD_COUNT_MAX, ShardCount};
use spillway_domain::claim::{SKEW_SECONDS_MAX, claim_seconds, outlives_function};
use spillway_domain::pace::{PACE_JOBS_PER_SECOND_MAX, Pace};
use spillway_domain::precision::Lane;
use spillway_domain::staging::{LOOKAHEAD_SECONDS_MAX, LOOKAHEAD_SECONDS_MIN, Lookahead};

/// The names of the variables, as the template sets them.
pub mod variable {
    /// The jobs table.
    pub const JOBS_TABLE: &str = "SPILLWAY_JOBS_TABLE";
    /// The control table.
    pub const CONTROL_TABLE: &str = "SPILLWAY_CONTROL_TABLE";
    /// The exact lane's queue.
    pub const EXACT_QUEUE_URL: &str = "SPILLWAY_EXACT_QUEUE_URL";
    /// The movable lane's queue.
    pub const MOVABLE_QUEUE_URL: &str = "SPILLWAY_MOVABLE_QUEUE_URL";
    /// How long before its minute begins a bucket is staged.
    pub const LOOKAHEAD_SECONDS: &str = "SPILLWAY_LOOKAHEAD_SECONDS";
    /// How many shards a minute has, until the control table says otherwise.
    pub const SHARD_COUNT: &str = "SPILLWAY_SHARD_COUNT";
    /// How many overdue jobs prefetch releases a second.
    pub const CATCH_UP_JOBS_PER_SECOND: &str = "SPILLWAY_CATCH_UP_JOBS_PER_SECOND";
    /// How long a finished job is kept.
    pub const RETENTION_DAYS: &str = "SPILLWAY_RETENTION_DAYS";
    /// Which lane a dispatch deployment serves.
    pub const LANE: &str = "SPILLWAY_LANE";
    /// That lane's queue.
    pub const QUEUE_URL: &str = "SPILLWAY_QUEUE_URL";
    /// That lane's dead-letter queue.
    pub const DEAD_LETTER_QUEUE_URL: &str = "SPILLWAY_DEAD_LETTER_QUEUE_URL";
    /// The exact lane's dead-letter queue.
    pub const EXACT_DEAD_LETTER_QUEUE_URL: &str = "SPILLWAY_EXACT_DEAD_LETTER_QUEUE_URL";
    /// The movable lane's dead-letter queue.
    pub const MOVABLE_DEAD_LETTER_QUEUE_URL: &str = "SPILLWAY_MOVABLE_DEAD_LETTER_QUEUE_URL";
    /// The time-out of the dispatch function itself.
    pub const FUNCTION_TIMEOUT_SECONDS: &str = "SPILLWAY_FUNCTION_TIMEOUT_SECONDS";
}

/// The longest retention in days: ten years, far inside what a TTL can hold.
pub const RETENTION_DAYS_MAX: u32 = 3_650;
/// The longest time-out of a Lambda function, in seconds.
const FUNCTION_TIMEOUT_SECONDS_MAX: u32 = 900;
const SECONDS_PER_DAY: u32 = 86_400;

/// What is wrong with a function's environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A variable is missing or empty.
    #[error("{name} is not set")]
    Missing {
        /// The variable.
        name: &'static str,
    },
    /// A variable is out of its bounds.
    #[error("{name} must be {bound}, not {found:?}")]
    OutOfBounds {
        /// The variable.
        name: &'static str,
        /// What it must be.
        bound: String,
        /// What it is.
        found: String,
    },
}

/// What intake is told by its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntakeConfig {
    /// The tables.
    pub tables: Tables,
    /// Both queues.
    pub queues: QueueUrls,
    /// When a bucket is staged.
    pub staging: StagingConfig,
    /// How long a finished job is kept, in seconds.
    pub retention_seconds: u32,
}

/// What prefetch is told by its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefetchConfig {
    /// The tables.
    pub tables: Tables,
    /// Both queues.
    pub queues: QueueUrls,
    /// Both dead-letter queues.
    pub dead_letter_queues: QueueUrls,
    /// When a bucket is staged.
    pub staging: StagingConfig,
    /// How fast overdue jobs are released.
    pub pace: Pace,
}

/// What a dispatch deployment is told by its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DispatchConfig {
    /// The tables.
    pub tables: Tables,
    /// The lane that it serves.
    pub lane: Lane,
    /// Its lane's queue.
    pub queue_url: String,
    /// Its lane's dead-letter queue.
    pub dead_letter_queue_url: String,
    /// When a bucket is staged.
    pub staging: StagingConfig,
    /// How long a finished job is kept, in seconds.
    pub retention_seconds: u32,
}

/// The names of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The jobs table.
    pub jobs: String,
    /// The control table.
    pub control: String,
}

/// The URLs of a kind of queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueUrls {
    /// The exact lane's.
    pub exact: String,
    /// The movable lane's.
    pub movable: String,
}

/// What every writer of a bucket must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagingConfig {
    /// How long before its minute begins a bucket is staged.
    pub lookahead: Lookahead,
    /// How many shards a minute has, until the control table says otherwise.
    pub shard_count: ShardCount,
}

impl IntakeConfig {
    /// Reads the settings; `lookup` tells a variable's value.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let lookup = Environment(lookup);
        Ok(Self {
            tables: lookup.tables()?,
            queues: lookup.queues()?,
            staging: lookup.staging()?,
            retention_seconds: lookup.retention_seconds()?,
        })
    }
}

impl PrefetchConfig {
    /// Reads the settings; `lookup` tells a variable's value.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let lookup = Environment(lookup);
        Ok(Self {
            tables: lookup.tables()?,
            queues: lookup.queues()?,
            dead_letter_queues: lookup.dead_letter_queues()?,
            staging: lookup.staging()?,
            pace: lookup.bounded(
                variable::CATCH_UP_JOBS_PER_SECOND,
                1..=PACE_JOBS_PER_SECOND_MAX,
                Pace::from_jobs_per_second,
            )?,
        })
    }
}

impl DispatchConfig {
    /// Reads the settings; `lookup` tells a variable's value. A deployment whose function may run
    /// longer than its lane's claim lasts is refused: a holder must be gone before its claim is.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let lookup = Environment(lookup);
        let lane = lookup.lane()?;
        lookup.check_function_timeout(lane)?;
        Ok(Self {
            tables: lookup.tables()?,
            lane,
            queue_url: lookup.text(variable::QUEUE_URL)?,
            dead_letter_queue_url: lookup.text(variable::DEAD_LETTER_QUEUE_URL)?,
            staging: lookup.staging()?,
            retention_seconds: lookup.retention_seconds()?,
        })
    }
}

/// Looks a variable up in the environment of this process.
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

struct Environment<L>(L);

impl<L: Fn(&str) -> Option<String>> Environment<L> {
    fn text(&self, name: &'static str) -> Result<String, ConfigError> {
        (self.0)(name).filter(|value| !value.is_empty()).ok_or(ConfigError::Missing { name })
    }

    /// Reads a number; `take` refuses what lies outside `bounds`.
    fn bounded<N: FromStr + Display, T>(
        &self,
        name: &'static str,
        bounds: RangeInclusive<N>,
        take: impl FnOnce(N) -> Option<T>,
    ) -> Result<T, ConfigError> {
        let found = self.text(name)?;
        found.parse().ok().and_then(take).ok_or_else(|| {
            let bound = format!("{} to {}", bounds.start(), bounds.end());
            ConfigError::OutOfBounds { name, bound, found }
        })
    }

    fn number(&self, name: &'static str, min: u32, max: u32) -> Result<u32, ConfigError> {
        self.bounded(name, min..=max, |number| (min..=max).contains(&number).then_some(number))
    }

    fn tables(&self) -> Result<Tables, ConfigError> {
        let (jobs, control) =
            (self.text(variable::JOBS_TABLE)?, self.text(variable::CONTROL_TABLE)?);
        Ok(Tables { jobs, control })
    }

    fn queues(&self) -> Result<QueueUrls, ConfigError> {
        let (exact, movable) =
            (self.text(variable::EXACT_QUEUE_URL)?, self.text(variable::MOVABLE_QUEUE_URL)?);
        Ok(QueueUrls { exact, movable })
    }

    fn dead_letter_queues(&self) -> Result<QueueUrls, ConfigError> {
        let exact = self.text(variable::EXACT_DEAD_LETTER_QUEUE_URL)?;
        let movable = self.text(variable::MOVABLE_DEAD_LETTER_QUEUE_URL)?;
        Ok(QueueUrls { exact, movable })
    }

    fn staging(&self) -> Result<StagingConfig, ConfigError> {
        Ok(StagingConfig {
            lookahead: self.bounded(
                variable::LOOKAHEAD_SECONDS,
                LOOKAHEAD_SECONDS_MIN..=LOOKAHEAD_SECONDS_MAX,
                Lookahead::from_seconds,
            )?,
            shard_count: self.bounded(
                variable::SHARD_COUNT,
                1..=SHARD_COUNT_MAX,
                ShardCount::new,
            )?,
        })
    }

    fn retention_seconds(&self) -> Result<u32, ConfigError> {
        let days = self.number(variable::RETENTION_DAYS, 1, RETENTION_DAYS_MAX)?;
        Ok(days * SECONDS_PER_DAY)
    }

    fn lane(&self) -> Result<Lane, ConfigError> {
        let found = self.text(variable::LANE)?;
        let name = variable::LANE;
        Lane::parse(&found).ok_or_else(|| {
            let bound = Lane::ALL.map(Lane::as_str).join(" or ");
            ConfigError::OutOfBounds { name, bound, found }
        })
    }

    fn check_function_timeout(&self, lane: Lane) -> Result<(), ConfigError> {
        let name = variable::FUNCTION_TIMEOUT_SECONDS;
        let seconds = self.number(name, 1, FUNCTION_TIMEOUT_SECONDS_MAX)?;
        if outlives_function(lane, seconds) {
            return Ok(());
        }
        let below = claim_seconds(lane) - 2 * SKEW_SECONDS_MAX;
        let bound = format!("below {below} in the {} lane, whose claim outlives it", lane.as_str());
        Err(ConfigError::OutOfBounds { name, bound, found: seconds.to_string() })
    }
}
