use std::collections::BTreeMap;

use serde::Serialize;
use spillway_domain::policy::{Channel, Policy, Retry, Target};
use spillway_domain::precision::Contract;
use spillway_domain::rate::Rate;

use crate::channel::{EVENTBRIDGE, SQS, WEBHOOK};

/// Writes a policy as TOML, every field of it; [`parse`](crate::parse) reads the same policy back.
///
/// # Panics
/// Never: tables of numbers and texts can always be written.
///
/// ```
/// let policy = spillway_policy::default_policy();
/// assert_eq!(spillway_policy::parse(&spillway_policy::to_toml(&policy)), Ok(policy));
/// ```
#[expect(clippy::expect_used, reason = "tables of numbers and texts can always be written")]
pub fn to_toml(policy: &Policy) -> String {
    let classes = policy.classes.iter();
    let channels = policy.channels.iter();
    let form = PolicyForm {
        classes: classes.map(|(name, class)| (name.as_str(), ClassForm::of(class))).collect(),
        channels: channels.map(|(name, it)| (name.as_str(), ChannelForm::of(it))).collect(),
    };
    toml::to_string(&form).expect("a policy can be written")
}

#[derive(Serialize)]
struct PolicyForm<'p> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    classes: BTreeMap<&'p str, ClassForm>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    channels: BTreeMap<&'p str, ChannelForm<'p>>,
}

#[derive(Serialize)]
struct ClassForm {
    early_seconds: u32,
    late_seconds: u32,
    priority: u8,
    expires_after_seconds: Option<u32>,
    lateness_budget_seconds: u32,
}

impl ClassForm {
    fn of(contract: &Contract) -> Self {
        let Contract {
            early_seconds,
            late_seconds,
            priority,
            expires_after_seconds,
            lateness_budget_seconds,
        } = *contract;
        Self {
            early_seconds,
            late_seconds,
            priority,
            expires_after_seconds,
            lateness_budget_seconds,
        }
    }
}

#[derive(Serialize)]
struct ChannelForm<'p> {
    kind: &'static str,
    queue_url: Option<&'p str>,
    bus_name: Option<&'p str>,
    url: Option<&'p str>,
    secret_parameter: Option<&'p str>,
    allow_loopback: Option<bool>,
    template: Option<&'p str>,
    paused: bool,
    attempts_max: u32,
    backoff_seconds_min: u32,
    backoff_seconds_max: u32,
    send_timeout_millis: u32,
    rate_per_second: Option<u32>,
    burst: Option<u32>,
    reserve_per_second: Option<u32>,
}

impl<'p> ChannelForm<'p> {
    fn of(channel: &'p Channel) -> Self {
        let Retry { attempts_max, backoff_seconds_min, backoff_seconds_max } = channel.retry;
        let (mut queue_url, mut bus_name, mut webhook) = (None, None, None);
        let kind = match &channel.target {
            Target::Sqs { queue_url: url } => {
                queue_url = Some(url.as_str());
                SQS
            }
            Target::EventBridge { bus_name: name } => {
                bus_name = Some(name.as_str());
                EVENTBRIDGE
            }
            Target::Webhook(target) => {
                webhook = Some(target);
                WEBHOOK
            }
        };
        Self {
            kind,
            queue_url,
            bus_name,
            url: webhook.map(|it| it.url.as_str()),
            secret_parameter: webhook.map(|it| it.secret_parameter.as_str()),
            allow_loopback: webhook.map(|it| it.allow_loopback),
            template: channel.template.as_deref(),
            paused: channel.paused,
            attempts_max,
            backoff_seconds_min,
            backoff_seconds_max,
            send_timeout_millis: channel.send_timeout_millis,
            rate_per_second: channel.rate.map(Rate::per_second),
            burst: channel.rate.map(Rate::burst),
            reserve_per_second: channel.rate.map(Rate::reserve_per_second),
        }
    }
}
