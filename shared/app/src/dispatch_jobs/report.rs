//! What an invocation of dispatch tells.

use std::collections::BTreeMap;

use spillway_domain::claim::DropReason;
use spillway_domain::name::{ChannelName, ClassName};

/// What has become of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// Delivered, and recorded.
    Delivered,
    /// Delivered; a message of its own will record it.
    RecordPassedOn,
    /// Delivered, although the row says that another dispatcher delivered it as well.
    DeliveredTwice,
    /// Waits for its next attempt.
    Retried,
    /// Failed.
    Failed,
    /// Expired.
    Expired,
    /// In a message of its own again, unclaimed.
    PassedOn,
    /// Back in the table, until its minute is staged.
    Returned,
    /// Dropped: there was nothing to do.
    Dropped(DropReason),
}

impl Ending {
    /// Names the ending as it is logged and counted.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::RecordPassedOn => "record_passed_on",
            Self::DeliveredTwice => "delivered_twice",
            Self::Retried => "retried",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::PassedOn => "passed_on",
            Self::Returned => "returned",
            Self::Dropped(DropReason::Gone) => "dropped_gone",
            Self::Dropped(DropReason::Finished) => "dropped_duplicate",
            Self::Dropped(DropReason::Superseded) => "dropped_superseded",
        }
    }
}

/// A delivery, as the lateness metrics see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryFact {
    /// The job's class, when it has one.
    pub class: Option<ClassName>,
    /// Its channel.
    pub channel: ChannelName,
    /// `delivered_at − max(due_at, accepted_at)`, in milliseconds; none for a job that had failed
    /// and was put back, whose lateness is not the service's.
    pub lateness_millis: Option<i64>,
    /// An earlier send of it was never answered, so that the channel may have had it before.
    pub maybe_twice: bool,
    /// How the delivery was recorded.
    pub ending: Ending,
}

/// What an invocation has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchReport {
    /// The messages that must come back.
    pub failed_message_ids: Vec<String>,
    /// How many entries ended in which way.
    pub endings: BTreeMap<Ending, u64>,
    /// The deliveries.
    pub deliveries: Vec<DeliveryFact>,
}

impl DispatchReport {
    pub(super) fn plus(mut self, other: Self) -> Self {
        self.failed_message_ids.extend(other.failed_message_ids);
        self.deliveries.extend(other.deliveries);
        for (ending, count) in other.endings {
            *self.endings.entry(ending).or_default() += count;
        }
        self
    }

    pub(super) fn deliver(&mut self, fact: DeliveryFact) {
        self.count(fact.ending);
        self.deliveries.push(fact);
    }

    pub(super) fn count(&mut self, ending: Ending) {
        *self.endings.entry(ending).or_default() += 1;
    }
}
