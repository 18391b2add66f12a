use std::collections::BTreeMap;

use spillway_domain::name::ChannelName;
use spillway_domain::policy::{Channel, Retry, Target};
use spillway_domain::rate::Rate;
use spillway_domain::webhook::{Webhook, WebhookUrl};

use crate::CheckTemplate;
use crate::findings::Findings;
use crate::section::Section;

/// The kinds of channels, each with the fields of its own.
pub(crate) const SQS: &str = "sqs";
pub(crate) const EVENTBRIDGE: &str = "eventbridge";
pub(crate) const WEBHOOK: &str = "webhook";
const KINDS: [(&str, &[&str]); 3] = [
    (SQS, &["queue_url"]),
    (EVENTBRIDGE, &["bus_name"]),
    (WEBHOOK, &["url", "secret_parameter", "allow_loopback"]),
];

const FIELDS: [&str; 15] = [
    "kind",
    "queue_url",
    "bus_name",
    "url",
    "secret_parameter",
    "allow_loopback",
    "template",
    "paused",
    "attempts_max",
    "backoff_seconds_min",
    "backoff_seconds_max",
    "send_timeout_millis",
    RATE,
    "burst",
    "reserve_per_second",
];

const RATE: &str = "rate_per_second";

/// Reads the channels. Where something is noted as wrong, the answer is a stand-in.
pub(crate) fn channels(
    root: &Section<'_>,
    check_template: CheckTemplate,
    findings: &mut Findings<'_>,
) -> BTreeMap<ChannelName, Channel> {
    let mut channels = BTreeMap::new();
    for (name, section) in root.sections("channels", findings) {
        let channel = channel(&section, check_template, findings);
        match ChannelName::new(name) {
            Ok(name) => {
                channels.insert(name, channel);
            }
            Err(error) => section.note(format!("is not a name: {error}"), findings),
        }
    }
    channels
}

fn channel(
    section: &Section<'_>,
    check_template: CheckTemplate,
    findings: &mut Findings<'_>,
) -> Channel {
    section.refuse_others(&FIELDS, findings);
    let send_timeout_millis = section.number("send_timeout_millis", findings);
    let channel = Channel {
        // What stands in for an address must not be empty, which would be noted once more.
        target: target(section, findings)
            .unwrap_or_else(|| Target::EventBridge { bus_name: "unread".to_owned() }),
        paused: section.flag("paused", findings).unwrap_or(false),
        retry: retry(section, findings),
        template: template(section, check_template, findings),
        send_timeout_millis: send_timeout_millis.unwrap_or(Channel::SEND_TIMEOUT_MILLIS),
        rate: rate(section, findings),
    };
    section.note_problems(channel.problems(), findings);
    channel
}

fn target(section: &Section<'_>, findings: &mut Findings<'_>) -> Option<Target> {
    section.required("kind", findings);
    let kind = section.text("kind", findings)?;
    if !KINDS.iter().any(|(name, _)| *name == kind) {
        section.refuse("kind", "must be sqs, eventbridge or webhook", findings);
        return None;
    }
    for (other, foreign) in KINDS.into_iter().filter(|(name, _)| *name != kind) {
        let message = format!("is a field of kind {other}; this channel is of kind {kind}");
        for field in foreign {
            section.refuse(field, &message, findings);
        }
    }
    match kind {
        SQS => Some(Target::Sqs { queue_url: required_text(section, "queue_url", findings)? }),
        EVENTBRIDGE => {
            Some(Target::EventBridge { bus_name: required_text(section, "bus_name", findings)? })
        }
        _ => webhook(section, findings).map(Target::Webhook),
    }
}

fn required_text(
    section: &Section<'_>,
    field: &str,
    findings: &mut Findings<'_>,
) -> Option<String> {
    section.required(field, findings);
    section.text(field, findings).map(str::to_owned)
}

fn webhook(section: &Section<'_>, findings: &mut Findings<'_>) -> Option<Webhook> {
    let allow_loopback = section.flag("allow_loopback", findings).unwrap_or(false);
    let url = required_text(section, "url", findings);
    let secret_parameter = required_text(section, "secret_parameter", findings);
    match WebhookUrl::parse(&url?, allow_loopback) {
        Ok(url) => Some(Webhook { url, secret_parameter: secret_parameter?, allow_loopback }),
        Err(error) => {
            section.refuse("url", &error.to_string(), findings);
            None
        }
    }
}

fn template(
    section: &Section<'_>,
    check_template: CheckTemplate,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let template = section.text("template", findings)?;
    if let Err(message) = check_template(template) {
        section.refuse("template", &message, findings);
    }
    Some(template.to_owned())
}

fn retry(section: &Section<'_>, findings: &mut Findings<'_>) -> Retry {
    let attempts_max = section.number("attempts_max", findings);
    let backoff_seconds_min = section.number("backoff_seconds_min", findings);
    let backoff_seconds_max = section.number("backoff_seconds_max", findings);
    let retry = Retry {
        attempts_max: attempts_max.unwrap_or(Retry::DEFAULT.attempts_max),
        backoff_seconds_min: backoff_seconds_min.unwrap_or(Retry::DEFAULT.backoff_seconds_min),
        backoff_seconds_max: backoff_seconds_max.unwrap_or(Retry::DEFAULT.backoff_seconds_max),
    };
    let bound_is_unread = backoff_seconds_max.is_none() && section.holds("backoff_seconds_max");
    if bound_is_unread { Retry { backoff_seconds_max: 86_400, ..retry } } else { retry }
}

/// Reads a rate if there is one; what hangs on it may not stand without it.
fn rate(section: &Section<'_>, findings: &mut Findings<'_>) -> Option<Rate> {
    let per_second = section.number(RATE, findings);
    let burst = section.number("burst", findings);
    let reserve_per_second = section.number("reserve_per_second", findings).unwrap_or(0);
    if !section.holds(RATE) {
        for field in ["burst", "reserve_per_second"] {
            section.refuse(field, "needs rate_per_second", findings);
        }
    }
    let rate = Rate::new(per_second?, burst, reserve_per_second);
    rate.map_err(|problems| section.note_problems(problems, findings)).ok()
}
