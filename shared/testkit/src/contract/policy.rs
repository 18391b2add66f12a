//! The stored policy, and who waits for what it names.

use spillway_app::ports::{Intake as _, PolicyStore as _, SettingsSource as _, StoredPolicy};
use spillway_domain::job::Job;
use spillway_domain::policy::Removed;
use spillway_domain::precision::Contract;
use spillway_domain::spec::JobSpec;

use super::ControlTable;
use super::steps::{answered, done, eventually};
use crate::build::{channel, class, entry, job_id, job_spec, shards};

/// A new stack has no stored policy.
pub async fn a_new_stack_has_no_stored_policy(table: &impl ControlTable) {
    assert_eq!(answered(table.settings().stored_policy().await), None);
}

/// Stored policies are read as they were written, under versions counted from 1.
pub async fn stored_policies_are_counted_from_one(table: &impl ControlTable) {
    let large = "# ü\n".repeat(20_000);
    let texts = ["[classes]\n", "", large.as_str()];
    for (version, text) in (1..).zip(texts) {
        let seen = (version > 1).then(|| version - 1);
        assert!(answered(table.policy_store().store_policy(text, seen).await));
        reads_policy(table, StoredPolicy { version, text: text.to_owned() }).await;
    }
}

/// A policy that was made from another version is not stored.
pub async fn a_policy_made_from_another_version_is_not_stored(table: &impl ControlTable) {
    let store = table.policy_store();
    assert!(!answered(store.store_policy("early", Some(1)).await), "none is stored yet");
    assert!(answered(store.store_policy("first", None).await));
    for seen in [None, Some(0), Some(2)] {
        assert!(!answered(store.store_policy("late", seen).await));
    }
    reads_policy(table, StoredPolicy { version: 1, text: "first".into() }).await;
}

/// Of two policies at once, one is stored.
pub async fn of_two_policies_at_once_one_is_stored(table: &impl ControlTable) {
    let store = table.policy_store();
    let (one, other) =
        futures::join!(store.store_policy("one", None), store.store_policy("other", None));
    let (one, other) = (answered(one), answered(other));
    assert!(one != other, "one of two policies is stored");
    let text = if one { "one" } else { "other" };
    reads_policy(table, StoredPolicy { version: 1, text: text.into() }).await;
}

/// A waiting job is found by its class, and by its channel; other names find nothing.
pub async fn a_waiting_job_is_found_by_its_class_and_its_channel(table: &impl ControlTable) {
    let classed = stored(table, "classed", Some("gone-class"), "kept").await;
    let channelled = stored(table, "channelled", None, "gone-channel").await;
    let of = |classes: &[&str], channels: &[&str]| Removed {
        classes: classes.iter().map(|name| class(name)).collect(),
        channels: channels.iter().map(|name| channel(name)).collect(),
    };
    finds(table, &of(&["other", "gone-class"], &[]), Some(&classed)).await;
    finds(table, &of(&[], &["gone-channel"]), Some(&channelled)).await;
    finds(table, &of(&["other"], &["another"]), None).await;
    finds(table, &of(&["gone-channel"], &["gone-class"]), None).await;
    finds(table, &Removed::default(), None).await;
}

/// A finished job waits for nothing.
pub async fn a_finished_job_waits_for_nothing(table: &impl ControlTable) {
    let names = Removed { classes: vec![], channels: vec![channel("gone")] };
    let job = stored(table, "cancelled", None, "gone").await;
    finds(table, &names, Some(&job)).await;
    let ttl_at = table.now().plus_seconds(86_400);
    done(table.intake().cancel(&entry(&job), table.now(), ttl_at).await);
    finds(table, &names, None).await;
}

async fn stored(table: &impl ControlTable, name: &str, of_class: Option<&str>, to: &str) -> Job {
    let spec = JobSpec {
        class: of_class.map(class),
        channel: channel(to),
        ..job_spec(table.now().plus_seconds(3_600))
    };
    let job = Job::accepted(job_id(name), spec, Contract::EXACT, table.now(), shards(8));
    done(table.intake().create(&job).await);
    job
}

async fn finds(table: &impl ControlTable, names: &Removed, job: Option<&Job>) {
    let expected = job.map(|job| &job.id);
    let is_found = async || {
        let found = answered(table.policy_store().waiting_job_of(names).await);
        found.as_ref() == expected
    };
    eventually(|| table.pause(), &format!("{names:?} find {expected:?}"), is_found).await;
}

async fn reads_policy(table: &impl ControlTable, expected: StoredPolicy) {
    let is_read =
        async || answered(table.settings().stored_policy().await).as_ref() == Some(&expected);
    let what = format!("policy version {} is read", expected.version);
    eventually(|| table.pause(), &what, is_read).await;
}
