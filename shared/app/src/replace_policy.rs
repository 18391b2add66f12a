//! Putting another policy in place of the one in force (R28).

use spillway_domain::name::JobId;
use spillway_domain::policy::{Policy, Removed};

use crate::ports::{PolicyStore, PortError, StoredPolicy};
use crate::settings::ParsePolicy;

/// What became of a new policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// It is stored, and in force in every function within a minute.
    Stored {
        /// Its version.
        version: u64,
        /// What it takes away; no job waits for it.
        removed: Removed,
        /// Why the stored policy before it could not be read, if so: what the new one takes away
        /// was then told from the compiled-in policy, which was not in force.
        unreadable_before: Option<String>,
    },
    /// The very same text is in force already; nothing was written.
    Unchanged {
        /// Its version.
        version: u64,
    },
    /// A job waits for what it would take away; nothing was written.
    InUse {
        /// One such job.
        job_id: JobId,
        /// What the new policy no longer has.
        removed: Removed,
    },
    /// Another policy was stored in between; nothing was written.
    Overtaken,
}

/// Why a policy could not be replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplacePolicyError {
    /// The new text is not a policy.
    #[error("it is not a policy: {0}")]
    Unreadable(String),
    /// A table did not answer as it should.
    #[error("the tables could not be read or written")]
    Port(#[source] PortError),
}

impl From<PortError> for ReplacePolicyError {
    fn from(error: PortError) -> Self {
        Self::Port(error)
    }
}

/// Stores `text` as the policy in force, unless jobs wait for what it takes away or another policy
/// is stored meanwhile. `compiled_in` is the policy in force while none is stored.
///
/// The functions go on accepting jobs under the old policy until they read the new one. A job that
/// names a class or a channel in that time that is just being taken away is not seen here.
///
/// # Errors
/// [`ReplacePolicyError`]; nothing was written, unless the answer to the write itself was lost.
pub async fn replace_policy<S: PolicyStore>(
    store: &S,
    text: &str,
    compiled_in: &Policy,
    parse: ParsePolicy,
) -> Result<Replacement, ReplacePolicyError> {
    let next = parse(text).map_err(ReplacePolicyError::Unreadable)?;
    let stored = store.stored_policy().await?;
    if let Some(StoredPolicy { version, text: present }) = &stored
        && present == text
    {
        return Ok(Replacement::Unchanged { version: *version });
    }
    let (present, unreadable_before) = match stored.as_ref().map(|stored| parse(&stored.text)) {
        Some(Ok(present)) => (present, None),
        Some(Err(reason)) => (compiled_in.clone(), Some(reason)),
        None => (compiled_in.clone(), None),
    };
    let removed = present.removed_in(&next);
    if let Some(job_id) = waiting_job_of(store, &removed).await? {
        return Ok(Replacement::InUse { job_id, removed });
    }
    let seen = stored.map(|stored| stored.version);
    if store.store_policy(text, seen).await? {
        let version = seen.unwrap_or(0) + 1;
        Ok(Replacement::Stored { version, removed, unreadable_before })
    } else {
        Ok(Replacement::Overtaken)
    }
}

/// Looks for a job that waits for one of the names; the index is not read when there are none.
async fn waiting_job_of<S: PolicyStore>(
    store: &S,
    removed: &Removed,
) -> Result<Option<JobId>, PortError> {
    if removed.is_empty() { Ok(None) } else { store.waiting_job_of(removed).await }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::FutureExt;
    use spillway_domain::bucket::ShardCounts;
    use spillway_domain::name::{ChannelName, ClassName};
    use spillway_domain::policy::{Channel, Retry, Target};
    use spillway_domain::precision::Contract;

    use super::*;
    use crate::ports::SettingsSource;

    /// A store that answers from a script and keeps what is written to it.
    #[derive(Default)]
    struct ScriptedStore {
        stored: Option<StoredPolicy>,
        /// The one unfinished job, and what it is of.
        waiting: Option<(JobId, Removed)>,
        is_overtaken: bool,
        is_down: bool,
        written: Mutex<Vec<(String, Option<u64>)>>,
    }

    impl SettingsSource for ScriptedStore {
        async fn stored_policy(&self) -> Result<Option<StoredPolicy>, PortError> {
            if self.is_down {
                return Err(PortError::Transient("down".into()));
            }
            Ok(self.stored.clone())
        }

        async fn shard_counts(&self) -> Result<Option<ShardCounts>, PortError> {
            Ok(None)
        }
    }

    impl PolicyStore for ScriptedStore {
        async fn store_policy(&self, text: &str, seen: Option<u64>) -> Result<bool, PortError> {
            if self.is_overtaken {
                return Ok(false);
            }
            self.written.lock().unwrap().push((text.to_owned(), seen));
            Ok(true)
        }

        async fn waiting_job_of(&self, names: &Removed) -> Result<Option<JobId>, PortError> {
            assert!(!names.is_empty(), "the index was read for nothing");
            let is_of = |of: &Removed| {
                of.classes.iter().any(|class| names.classes.contains(class))
                    || of.channels.iter().any(|channel| names.channels.contains(channel))
            };
            let job = self.waiting.as_ref().filter(|(_, of)| is_of(of));
            Ok(job.map(|(id, _)| id.clone()))
        }
    }

    /// Reads a policy written as words: `+name` is a class, `>name` a channel.
    fn parse(text: &str) -> Result<Policy, String> {
        let mut policy = Policy::default();
        for word in text.split_whitespace() {
            if let Some(class) = word.strip_prefix('+') {
                policy.classes.insert(ClassName::new(class).unwrap(), Contract::EXACT);
            } else if let Some(channel) = word.strip_prefix('>') {
                policy.channels.insert(ChannelName::new(channel).unwrap(), sqs_channel());
            } else {
                return Err(format!("odd word {word}"));
            }
        }
        Ok(policy)
    }

    fn sqs_channel() -> Channel {
        Channel {
            target: Target::Sqs { queue_url: "q".to_owned() },
            paused: false,
            template: None,
            retry: Retry::DEFAULT,
            send_timeout_millis: Channel::SEND_TIMEOUT_MILLIS,
            rate: None,
        }
    }

    fn store_with(version: u64, text: &str) -> ScriptedStore {
        let stored = Some(StoredPolicy { version, text: text.to_owned() });
        ScriptedStore { stored, ..ScriptedStore::default() }
    }

    fn removed(classes: &[&str], channels: &[&str]) -> Removed {
        Removed {
            classes: classes.iter().map(|name| ClassName::new(*name).unwrap()).collect(),
            channels: channels.iter().map(|name| ChannelName::new(*name).unwrap()).collect(),
        }
    }

    const COMPILED_IN: &str = "+otp >events";

    fn replace(store: &ScriptedStore, text: &str) -> Result<Replacement, ReplacePolicyError> {
        let compiled_in = parse(COMPILED_IN).unwrap();
        replace_policy(store, text, &compiled_in, parse).now_or_never().unwrap()
    }

    fn written(store: &ScriptedStore) -> Vec<(String, Option<u64>)> {
        store.written.lock().unwrap().clone()
    }

    fn plainly_stored(version: u64, removed: Removed) -> Replacement {
        Replacement::Stored { version, removed, unreadable_before: None }
    }

    #[test]
    fn the_first_policy_is_stored_under_version_1() {
        let store = ScriptedStore::default();
        let replaced = replace(&store, "+otp +digest >events").unwrap();
        assert_eq!(replaced, plainly_stored(1, Removed::default()));
        assert_eq!(written(&store), [("+otp +digest >events".to_owned(), None)]);
    }

    #[test]
    fn the_next_policy_is_stored_under_the_version_after_the_one_that_was_compared() {
        let store = store_with(7, "+otp");
        assert_eq!(replace(&store, "+otp +b").unwrap(), plainly_stored(8, Removed::default()));
        assert_eq!(written(&store), [("+otp +b".to_owned(), Some(7))]);
    }

    #[test]
    fn a_class_that_a_waiting_job_has_is_not_taken_away() {
        let job_id = JobId::new("j").unwrap();
        let waiting = Some((job_id.clone(), removed(&["digest"], &[])));
        let store = ScriptedStore { waiting, ..store_with(1, "+otp +digest >in") };
        let replaced = replace(&store, "+otp >in").unwrap();
        assert_eq!(replaced, Replacement::InUse { job_id, removed: removed(&["digest"], &[]) });
        assert_eq!(written(&store), []);
    }

    #[test]
    fn a_channel_of_the_compiled_in_policy_that_a_waiting_job_has_is_not_taken_away() {
        let job_id = JobId::new("j").unwrap();
        let waiting = Some((job_id.clone(), removed(&[], &["events"])));
        let store = ScriptedStore { waiting, ..ScriptedStore::default() };
        let replaced = replace(&store, "+otp >inbox").unwrap();
        assert_eq!(replaced, Replacement::InUse { job_id, removed: removed(&[], &["events"]) });
        assert_eq!(written(&store), []);
    }

    #[test]
    fn what_no_job_waits_for_may_be_taken_away() {
        let waiting = Some((JobId::new("j").unwrap(), removed(&["otp"], &["events"])));
        let store = ScriptedStore { waiting, ..store_with(1, "+otp +digest >events >inbox") };
        let replaced = replace(&store, "+otp >events").unwrap();
        assert_eq!(replaced, plainly_stored(2, removed(&["digest"], &["inbox"])));
    }

    #[test]
    fn whoever_stores_a_policy_second_is_told() {
        let store = ScriptedStore { is_overtaken: true, ..ScriptedStore::default() };
        assert_eq!(replace(&store, "+otp >events").unwrap(), Replacement::Overtaken);
    }

    #[test]
    fn the_text_that_is_in_force_is_not_stored_again() {
        let store = store_with(3, "+otp");
        assert_eq!(replace(&store, "+otp").unwrap(), Replacement::Unchanged { version: 3 });
        assert_eq!(written(&store), []);
    }

    #[test]
    fn a_text_that_is_no_policy_is_refused_before_anything_is_read() {
        let store = ScriptedStore { is_down: true, ..ScriptedStore::default() };
        let error = replace(&store, "odd").unwrap_err();
        assert_eq!(error.to_string(), "it is not a policy: odd word odd");
    }

    #[test]
    fn a_stored_policy_that_cannot_be_read_can_be_replaced() {
        let store = store_with(3, "odd");
        let replaced = replace(&store, "+otp").unwrap();
        let Replacement::Stored { version: 4, removed: taken, unreadable_before } = replaced else {
            panic!("{replaced:?}")
        };
        assert_eq!(taken, removed(&[], &["events"]));
        assert_eq!(unreadable_before.as_deref(), Some("odd word odd"));
    }

    #[test]
    fn a_store_that_does_not_answer_is_an_error() {
        let store = ScriptedStore { is_down: true, ..ScriptedStore::default() };
        assert!(matches!(replace(&store, "+otp"), Err(ReplacePolicyError::Port(_))));
    }
}
