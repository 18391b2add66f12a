//! The policy and the shard counts in force, read from the control table and kept for a while.

use std::sync::{Arc, Mutex, PoisonError};

use spillway_domain::bucket::{ShardCount, ShardCounts};
use spillway_domain::policy::Policy;
use spillway_domain::time::Instant;

use crate::ports::SettingsSource;

/// How long settings are kept, in milliseconds. A new policy is in force within a minute (R28), and
/// writers follow a raised shard count in half of `bucket::WRITERS_FOLLOW_SECONDS`.
const AGE_MILLIS_MAX: i64 = 20_000;

/// Reads a policy's text; the error is what the operator is told.
pub type ParsePolicy = fn(&str) -> Result<Policy, String>;

/// What the operator has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The policy in force.
    pub policy: Policy,
    /// The stored policy's version; 0 while the compiled-in one is in force.
    pub policy_version: u64,
    /// How many shards a minute has.
    pub shards: ShardCounts,
}

/// The settings in force, refreshed when they are older than 20 s. A store that does not answer,
/// or a stored policy that cannot be read, leaves the last good ones in force.
#[derive(Debug)]
pub struct CurrentSettings<S> {
    source: S,
    parse: ParsePolicy,
    initial: Settings,
    kept: Mutex<Option<Kept>>,
}

#[derive(Clone, Debug)]
struct Kept {
    read_at: Instant,
    settings: Arc<Settings>,
}

impl<S: SettingsSource> CurrentSettings<S> {
    /// Builds the settings of a function: `default_policy` and `default_shards` are in force until
    /// the store says otherwise.
    pub fn new(
        source: S,
        parse: ParsePolicy,
        default_policy: Policy,
        default_shards: ShardCount,
    ) -> Self {
        let shards = ShardCounts {
            readers: default_shards,
            writers: default_shards,
            raised_at: Instant::from_millis(0),
        };
        let initial = Settings { policy: default_policy, policy_version: 0, shards };
        Self { source, parse, initial, kept: Mutex::new(None) }
    }

    /// Tells the settings in force at `now`.
    pub async fn at(&self, now: Instant) -> Arc<Settings> {
        let kept = self.kept();
        if let Some(kept) = &kept
            && now < kept.read_at.plus_millis(AGE_MILLIS_MAX)
        {
            return Arc::clone(&kept.settings);
        }
        let last = kept.map_or_else(|| Arc::new(self.initial.clone()), |kept| kept.settings);
        let settings = Arc::new(self.refreshed(&last).await);
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Kept { read_at: now, settings: Arc::clone(&settings) });
        settings
    }

    fn kept(&self) -> Option<Kept> {
        // A panic while the value was copied cannot have left half of one.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn refreshed(&self, last: &Settings) -> Settings {
        let (stored, shards) =
            futures::join!(self.source.stored_policy(), self.source.shard_counts());
        let shards = match shards {
            Ok(counts) => counts.unwrap_or(last.shards),
            Err(error) => {
                tracing::warn!(?error, "shard counts not read; the last ones stay in force");
                last.shards
            }
        };
        let stored = match stored {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(?error, "policy not read; the last one stays in force");
                return Settings { shards, ..last.clone() };
            }
        };
        match stored {
            Some(stored) if stored.version != last.policy_version => {
                match (self.parse)(&stored.text) {
                    Ok(policy) => Settings { policy, policy_version: stored.version, shards },
                    Err(error) => {
                        tracing::error!(error, version = stored.version, "stored policy refused");
                        Settings { shards, ..last.clone() }
                    }
                }
            }
            _ => Settings { shards, ..last.clone() },
        }
    }
}
