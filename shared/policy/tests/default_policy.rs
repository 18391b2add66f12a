//! The compiled-in policy holds the default classes, value by value.

use spillway_domain::name::{ChannelName, ClassName};
use spillway_domain::policy::{Channel, Retry, Target};
use spillway_domain::precision::Contract;
use spillway_policy::{DEFAULT, default_policy, parse};

/// Name, early, late, priority, expires after, lateness budget.
type Row = (&'static str, u32, u32, u8, Option<u32>, u32);

const CLASSES: [Row; 9] = [
    ("otp", 0, 0, 0, Some(60), 2),
    ("alert", 0, 0, 0, None, 2),
    ("deadline", 0, 0, 1, None, 10),
    ("reminder", 0, 30, 2, None, 30),
    ("birthday", 30, 30, 3, None, 60),
    ("transactional", 10, 10, 3, None, 30),
    ("marketing", 60, 60, 6, None, 300),
    ("digest", 300, 300, 6, None, 900),
    ("sync", 0, 1800, 9, None, 3600),
];

#[test]
fn the_default_policy_has_exactly_the_default_classes() {
    let policy = default_policy();
    for (name, early, late, priority, expires_after_seconds, budget) in CLASSES {
        let contract = Contract {
            early_seconds: early,
            late_seconds: late,
            priority,
            expires_after_seconds,
            lateness_budget_seconds: budget,
        };
        let name = ClassName::new(name).unwrap();
        assert_eq!(policy.classes.get(&name), Some(&contract), "class {name}");
    }
    assert_eq!(policy.classes.len(), CLASSES.len());
}

#[test]
fn the_default_policy_has_one_channel_to_the_default_bus() {
    let events = Channel {
        target: Target::EventBridge { bus_name: "default".to_owned() },
        paused: false,
        template: None,
        retry: Retry::DEFAULT,
        send_timeout_millis: Channel::SEND_TIMEOUT_MILLIS,
        rate: None,
    };
    let channels: Vec<_> = default_policy().channels.into_iter().collect();
    assert_eq!(channels, [(ChannelName::new("events").unwrap(), events)]);
}

#[test]
fn the_contract_of_a_job_without_a_class_is_that_of_a_deadline() {
    let deadline = ClassName::new("deadline").unwrap();
    assert_eq!(default_policy().classes.get(&deadline), Some(&Contract::EXACT));
}

#[test]
fn the_classes_of_the_default_policy_can_be_had_with_other_channels() {
    let (classes, channels) = DEFAULT.split_once("\n# --- channels ---\n").unwrap();
    assert_eq!(parse(classes).unwrap().classes, default_policy().classes);
    assert_eq!(parse(channels).unwrap().channels, default_policy().channels);
}

#[test]
fn the_comments_on_the_default_policy_name_the_values_that_are_in_force() {
    for line in [
        format!("attempts_max = {} ", Retry::DEFAULT.attempts_max),
        format!("backoff_seconds_min = {} ", Retry::DEFAULT.backoff_seconds_min),
        format!("backoff_seconds_max = {} ", Retry::DEFAULT.backoff_seconds_max),
        format!("send_timeout_millis = {} ", Channel::SEND_TIMEOUT_MILLIS),
    ] {
        assert!(DEFAULT.contains(&line), "{line}");
    }
}
