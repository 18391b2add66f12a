//! What holds for every policy and every text.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use spillway_domain::name::{ChannelName, ClassName};
use spillway_domain::policy::{Channel, Policy, Retry, Target};
use spillway_domain::precision::Contract;
use spillway_domain::rate::{RATE_PER_SECOND_MAX, Rate};
use spillway_domain::webhook::{Webhook, WebhookUrl};
use spillway_policy::{DEFAULT, parse, to_toml};

fn contracts() -> impl Strategy<Value = Contract> {
    let fields = (0..=86_400_u32, 0..=86_400_u32, 0..=9_u8, 0..=31_622_400_u32);
    (fields, option::of(1..=1_000_000_u32)).prop_map(|((early, late, priority, budget), beyond)| {
        Contract {
            early_seconds: early,
            late_seconds: late,
            priority,
            expires_after_seconds: beyond.map(|beyond| late + beyond),
            lateness_budget_seconds: budget,
        }
    })
}

fn targets() -> impl Strategy<Value = Target> {
    prop_oneof![
        any::<String>().prop_map(|queue_url| Target::Sqs { queue_url: format!("q{queue_url}") }),
        any::<String>().prop_map(|name| Target::EventBridge { bus_name: format!("{name}b") }),
        ("[a-z]{1,9}", "[a-zA-Z0-9._/-]{1,20}", any::<bool>()).prop_map(
            |(name, secret_parameter, allow_loopback)| {
                let url = WebhookUrl::parse(&format!("https://{name}.example.com/{name}"), false);
                Target::Webhook(Webhook { url: url.unwrap(), secret_parameter, allow_loopback })
            }
        ),
    ]
}

fn rates() -> impl Strategy<Value = Rate> {
    let fields = (1..=RATE_PER_SECOND_MAX, option::of(any::<u32>()), any::<u32>());
    fields.prop_filter_map("a rate", |(per_second, burst, reserve)| {
        let burst = burst.map(|burst| burst % per_second + 1);
        Rate::new(per_second, burst, reserve % per_second).ok()
    })
}

fn channels() -> impl Strategy<Value = Channel> {
    let retries = (1..=100_u32, 1..=86_400_u32, 0..=86_400_u32);
    let templates = option::of(any::<String>());
    let rates = option::of(rates());
    (targets(), any::<bool>(), retries, 100..=10_000_u32, templates, rates).prop_map(
        |(target, paused, (attempts_max, min, more), send_timeout_millis, template, rate)| {
            Channel {
                template,
                target,
                paused,
                retry: Retry {
                    attempts_max,
                    backoff_seconds_min: min,
                    backoff_seconds_max: (min + more).min(86_400),
                },
                send_timeout_millis,
                rate,
            }
        },
    )
}

const NAME: &str = "[a-z][a-z0-9_-]{0,63}";

fn policies() -> impl Strategy<Value = Policy> {
    let classes = NAME.prop_filter_map("a name", |name| ClassName::new(name).ok());
    let destinations = NAME.prop_filter_map("a name", |name| ChannelName::new(name).ok());
    (btree_map(classes, contracts(), 0..6), btree_map(destinations, channels(), 0..6))
        .prop_map(|(classes, channels)| Policy { classes, channels })
}

/// Any text, or nearly a policy.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![1 => any::<String>(), 3 => damaged_texts()]
}

/// The default policy with a few of its characters replaced.
fn damaged_texts() -> impl Strategy<Value = String> {
    let damage = (0..DEFAULT.len(), 0..40_usize, "[\\[\\]\"'.=#{}\\n0-9a-z é-]{0,6}");
    proptest::collection::vec(damage, 1..4).prop_map(|damages| {
        let mut text: Vec<char> = DEFAULT.chars().collect();
        for (at, len, new) in damages {
            let at = at.min(text.len());
            let end = (at + len).min(text.len());
            text.splice(at..end, new.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn a_policy_that_was_written_is_read_back(policy in policies()) {
        let text = to_toml(&policy);
        prop_assert_eq!(parse(&text).map_err(|errors| errors.to_string()), Ok(policy));
    }

    #[test]
    fn a_text_is_a_policy_or_has_errors_on_its_own_lines(text in texts()) {
        if let Err(errors) = parse(&text) {
            prop_assert!(!errors.as_slice().is_empty());
            let line_count = text.split('\n').count();
            for error in errors.as_slice() {
                prop_assert!((1..=line_count).contains(&error.line), "{}", error);
                prop_assert!(!error.message.contains('\n'), "{}", error);
            }
            prop_assert!(errors.as_slice().is_sorted_by_key(|error| error.line));
        }
    }
}
