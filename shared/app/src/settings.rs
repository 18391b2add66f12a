//! The policy and the shard counts in force, read from the control table and kept for a while.

use std::sync::{Arc, Mutex, PoisonError};

use spillway_domain::bucket::{ShardCount, ShardCounts};
use spillway_domain::policy::Policy;
use spillway_domain::time::Instant;

use crate::ports::{PortError, SettingsSource, StoredPolicy};

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

/// Says that there are no settings to work with: none were read before, and none can be now.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The control table did not answer.
    #[error("the settings could not be read")]
    Unread(#[source] PortError),
    /// The stored policy is not one.
    #[error("the stored policy of version {version} is refused: {reason}")]
    Unusable {
        /// Its version.
        version: u64,
        /// What is wrong with it.
        reason: String,
    },
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
    ///
    /// # Errors
    /// [`SettingsError`] when they cannot be read and never were.
    pub async fn at(&self, now: Instant) -> Result<Arc<Settings>, SettingsError> {
        let kept = self.kept();
        if let Some(kept) = &kept
            && now < kept.read_at.plus_millis(AGE_MILLIS_MAX)
        {
            return Ok(Arc::clone(&kept.settings));
        }
        let settings = match (self.read(kept.as_ref()).await, kept) {
            (Ok(settings), _) => Arc::new(settings),
            (Err(error), Some(kept)) => {
                tracing::error!(?error, "the last settings stay in force");
                kept.settings
            }
            (Err(error), None) => return Err(error),
        };
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Kept { read_at: now, settings: Arc::clone(&settings) });
        Ok(settings)
    }

    fn kept(&self) -> Option<Kept> {
        // A panic while the value was copied cannot have left half of one.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn read(&self, kept: Option<&Kept>) -> Result<Settings, SettingsError> {
        let (stored, shards) =
            futures::join!(self.source.stored_policy(), self.source.shard_counts());
        let shards = shards.map_err(SettingsError::Unread)?.unwrap_or(self.initial.shards);
        let Some(stored) = stored.map_err(SettingsError::Unread)? else {
            return Ok(Settings { shards, ..self.initial.clone() });
        };
        let StoredPolicy { version, text } = stored;
        if let Some(Kept { settings, .. }) = kept
            && settings.policy_version == version
        {
            return Ok(Settings { shards, ..Settings::clone(settings) });
        }
        match (self.parse)(&text) {
            Ok(policy) => Ok(Settings { policy, policy_version: version, shards }),
            Err(reason) => Err(SettingsError::Unusable { version, reason }),
        }
    }
}
