//! The settings in force: read again when they are old, kept when the store does not answer.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use spillway_app::ports::PolicyStore as _;
use spillway_app::settings::{CurrentSettings, SettingsError};
use spillway_domain::policy::Policy;
use spillway_testkit::build::{at, policy, shards};
use spillway_testkit::{Driver, Fault, InMemoryStore, Operation, Outside};

const NOW: &str = "2026-12-01T09:00:00Z";

/// Reads a policy that says whether its channels are paused, or is broken.
fn parse(text: &str) -> Result<Policy, String> {
    let mut parsed = policy();
    match text {
        "paused" => parsed.channels.values_mut().for_each(|channel| channel.paused = true),
        "running" => {}
        other => return Err(format!("what is {other}?")),
    }
    Ok(parsed)
}

fn settings() -> (Outside, Driver<'static>, CurrentSettings<InMemoryStore>) {
    let outside = Outside::at(at(NOW));
    let current = CurrentSettings::new(outside.store.clone(), parse, policy(), shards(8));
    let driver = outside.driver();
    (outside, driver, current)
}

fn is_paused(
    driver: &mut Driver<'static>,
    current: &CurrentSettings<InMemoryStore>,
    seconds: i64,
) -> bool {
    let settings = driver.run(current.at(at(NOW).plus_seconds(seconds))).unwrap();
    settings.policy.channels.values().all(|channel| channel.paused)
}

#[test]
fn a_stored_policy_is_in_force_when_the_kept_one_is_twenty_seconds_old() {
    let (outside, mut driver, current) = settings();
    assert!(!is_paused(&mut driver, &current, 0));
    assert!(driver.run(outside.store.store_policy("paused", None)).unwrap());
    assert!(!is_paused(&mut driver, &current, 19));
    assert!(is_paused(&mut driver, &current, 20));
}

#[test]
fn a_store_that_does_not_answer_leaves_the_last_settings_in_force() {
    let (outside, mut driver, current) = settings();
    assert!(driver.run(outside.store.store_policy("paused", None)).unwrap());
    assert!(is_paused(&mut driver, &current, 0));
    for operation in [Operation::StoredPolicy, Operation::ShardCounts] {
        outside.faults.on_every(operation, Fault::FailBefore);
        assert!(is_paused(&mut driver, &current, 600));
        outside.faults.stop();
    }
}

#[test]
fn a_stored_policy_that_cannot_be_read_leaves_the_last_settings_in_force() {
    let (outside, mut driver, current) = settings();
    assert!(driver.run(outside.store.store_policy("paused", None)).unwrap());
    assert!(is_paused(&mut driver, &current, 0));
    assert!(driver.run(outside.store.store_policy("broken", Some(1))).unwrap());
    assert!(is_paused(&mut driver, &current, 600));
    assert!(driver.run(outside.store.store_policy("running", Some(2))).unwrap());
    assert!(!is_paused(&mut driver, &current, 1_200));
}

#[test]
fn without_any_settings_the_first_call_is_an_error() {
    let (outside, mut driver, current) = settings();
    outside.faults.on_next(Operation::StoredPolicy, Fault::FailBefore);
    let unread = driver.run(current.at(at(NOW)));
    assert!(matches!(unread, Err(SettingsError::Unread(_))), "{unread:?}");
    assert!(driver.run(outside.store.store_policy("broken", None)).unwrap());
    let unusable = driver.run(current.at(at(NOW)));
    assert!(matches!(unusable, Err(SettingsError::Unusable { version: 1, .. })), "{unusable:?}");
}
