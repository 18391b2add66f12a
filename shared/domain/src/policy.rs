//! The policy: which classes and channels there are (R21, R28).

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::name::{ChannelName, ClassName};
use crate::precision::Contract;
use crate::problem::FieldProblem;
use crate::rate::Rate;
use crate::spec::JobSpec;
use crate::webhook::{Webhook, is_parameter_name};

/// The classes and channels in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The named contracts.
    pub classes: BTreeMap<ClassName, Contract>,
    /// The named destinations.
    pub channels: BTreeMap<ChannelName, Channel>,
}

/// A named destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Where its jobs go.
    pub target: Target,
    /// Its jobs are held back, unclaimed, until this is taken away.
    pub paused: bool,
    /// How often and how soon a failed send is tried again.
    pub retry: Retry,
    /// The template that makes what is sent out of a job's payload (R22); without one it is the
    /// payload itself.
    pub template: Option<String>,
    /// How long a send may stay unanswered, in milliseconds, 100 to 10,000.
    pub send_timeout_millis: u32,
    /// How many jobs it takes a second; `None` is as many as there are.
    pub rate: Option<Rate>,
}

/// The address of a channel; callers never see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// An SQS queue, by its URL.
    Sqs {
        /// The queue's URL.
        queue_url: String,
    },
    /// An EventBridge bus, by its name or ARN.
    EventBridge {
        /// The bus's name or ARN.
        bus_name: String,
    },
    /// A URL that takes signed requests.
    Webhook(Webhook),
}

impl Target {
    /// Tells how many deliveries one call carries: ten, but for a webhook, which has an answer,
    /// and its time, for each.
    ///
    /// ```
    /// # use spillway_domain::policy::Target;
    /// assert_eq!(Target::Sqs { queue_url: "https://queue".into() }.deliveries_a_call_max(), 10);
    /// ```
    pub const fn deliveries_a_call_max(&self) -> usize {
        match self {
            Self::Sqs { .. } | Self::EventBridge { .. } => 10,
            Self::Webhook(_) => 1,
        }
    }
}

/// The bounds of a channel's retries (R20).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How many attempts there are before a job has failed, 1 to 100.
    pub attempts_max: u32,
    /// The bound of the first back-off in seconds, 1 to `backoff_seconds_max`.
    pub backoff_seconds_min: u32,
    /// The bound of every back-off in seconds, at most 86,400.
    pub backoff_seconds_max: u32,
}

impl Retry {
    /// Five attempts, up to 1 s after the first and never more than 300 s apart.
    pub const DEFAULT: Self =
        Self { attempts_max: 5, backoff_seconds_min: 1, backoff_seconds_max: 300 };
}

impl Channel {
    /// The time-out of a send when the policy names none, in milliseconds.
    pub const SEND_TIMEOUT_MILLIS: u32 = 3_000;

    /// Lists what is out of bounds; empty when the channel can be used.
    ///
    /// ```
    /// use spillway_domain::policy::{Channel, Retry, Target};
    /// let target = Target::Sqs { queue_url: "https://queue".into() };
    /// let retry = Retry { attempts_max: 0, ..Retry::DEFAULT };
    /// let channel = Channel {
    ///     target, paused: false, retry, template: None, send_timeout_millis: 3_000, rate: None,
    /// };
    /// assert_eq!(channel.problems()[0].field, "attempts_max");
    /// ```
    pub fn problems(&self) -> Vec<FieldProblem> {
        let Retry { attempts_max, backoff_seconds_min, backoff_seconds_max } = self.retry;
        let address = match &self.target {
            Target::Sqs { queue_url } => (!queue_url.is_empty(), "queue_url", "must not be empty"),
            Target::EventBridge { bus_name } => {
                (!bus_name.is_empty(), "bus_name", "must not be empty")
            }
            Target::Webhook(webhook) => (
                is_parameter_name(&webhook.secret_parameter),
                "secret_parameter",
                "must be 1 to 1011 letters, digits and any of . - _ /",
            ),
        };
        let checks = [
            address,
            ((1..=100).contains(&attempts_max), "attempts_max", "must be 1 to 100"),
            (
                (1..=backoff_seconds_max).contains(&backoff_seconds_min),
                "backoff_seconds_min",
                "must be 1 to backoff_seconds_max",
            ),
            (backoff_seconds_max <= 86_400, "backoff_seconds_max", "must be at most 86400"),
            (
                (100..=10_000).contains(&self.send_timeout_millis),
                "send_timeout_millis",
                "must be 100 to 10000",
            ),
        ];
        checks
            .into_iter()
            .filter(|(holds, ..)| !holds)
            .map(|(_, field, message)| FieldProblem::new(field, message))
            .collect()
    }
}

impl Policy {
    /// Gives a spec its contract: its class's, or [`Contract::EXACT`], with the spec's own fields
    /// in place.
    ///
    /// # Errors
    /// Every field at fault: a class or a channel that the policy does not name (never a default,
    /// R2), and each contract field out of bounds.
    ///
    /// ```
    /// use spillway_domain::{name::ChannelName, policy::Policy, spec::*, time::Instant};
    /// let spec = JobSpec {
    ///     requested_at: Instant::from_millis(0),
    ///     channel: ChannelName::new("sms").unwrap(),
    ///     class: None,
    ///     overrides: Overrides::default(),
    ///     payload: Payload::from_canonical_json("null").unwrap(),
    /// };
    /// assert_eq!(Policy::default().contract(&spec).unwrap_err()[0].field, "channel");
    /// ```
    pub fn contract(&self, spec: &JobSpec) -> Result<Contract, Vec<FieldProblem>> {
        let mut problems = Vec::new();
        if !self.channels.contains_key(&spec.channel) {
            let message = format!("names no channel of the policy: {}", spec.channel);
            problems.push(FieldProblem::new("channel", message));
        }
        let of_class = match &spec.class {
            None => Some(&Contract::EXACT),
            Some(class) => {
                let contract = self.classes.get(class);
                if contract.is_none() {
                    let message = format!("names no class of the policy: {class}");
                    problems.push(FieldProblem::new("class", message));
                }
                contract
            }
        };
        let contract = of_class.unwrap_or(&Contract::EXACT).with(&spec.overrides);
        problems.extend(contract.problems());
        if problems.is_empty() { Ok(contract) } else { Err(problems) }
    }

    /// Lists the channels that have a rate, each with it.
    ///
    /// ```
    /// use spillway_domain::{name::ChannelName, policy::*, rate::Rate};
    /// let channel = Channel {
    ///     target: Target::Sqs { queue_url: "https://queue".into() },
    ///     paused: false,
    ///     retry: Retry::DEFAULT,
    ///     send_timeout_millis: 3_000,
    ///     rate: Rate::new(500, None, 50).ok(),
    /// };
    /// let unlimited = Channel { rate: None, ..channel.clone() };
    /// let name = |name| ChannelName::new(name).unwrap();
    /// let channels = [(name("sms"), channel), (name("inbox"), unlimited)].into();
    /// let policy = Policy { channels, ..Policy::default() };
    /// assert_eq!(policy.rates().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["sms"]);
    /// ```
    pub fn rates(&self) -> impl Iterator<Item = (&ChannelName, Rate)> {
        self.channels.iter().filter_map(|(name, channel)| Some((name, channel.rate?)))
    }

    /// Lists the names that `next` no longer has: what must not be waited for when it takes over
    /// (R28).
    ///
    /// ```
    /// use spillway_domain::policy::Policy;
    /// assert!(Policy::default().removed_in(&Policy::default()).is_empty());
    /// ```
    pub fn removed_in(&self, next: &Self) -> Removed {
        let classes = self.classes.keys().filter(|name| !next.classes.contains_key(*name));
        let channels = self.channels.keys().filter(|name| !next.channels.contains_key(*name));
        Removed { classes: classes.cloned().collect(), channels: channels.cloned().collect() }
    }
}

/// The names that a new policy takes away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Classes that are gone.
    pub classes: Vec<ClassName>,
    /// Channels that are gone.
    pub channels: Vec<ChannelName>,
}

impl Removed {
    /// Tells whether nothing is taken away.
    ///
    /// ```
    /// assert!(spillway_domain::policy::Removed::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty() && self.channels.is_empty()
    }
}
