//! The channels' side, in memory: it records what arrives, and answers as scripted.

use std::collections::{HashMap, VecDeque};
use std::future;
use std::sync::{Arc, Mutex};

use spillway_app::ports::{ChannelSender, Clock as _, DELIVERIES_MAX, Delivery, PortError};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::policy::Target;
use spillway_domain::time::Instant;

use crate::clock::ManualClock;
use crate::fault::{FaultPlan, Operation};
use crate::lock::locked;
use crate::observer::{Observer, Observers};

/// How a channel takes one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It arrives, and the channel says so.
    Deliver,
    /// It arrives, and the channel says so so many milliseconds later.
    DeliverSlowly(i64),
    /// The channel refuses it for now.
    Refuse,
    /// The channel refuses it for good.
    RefuseForGood,
    /// It arrives, and the answer is lost.
    ArriveUnanswered,
    /// It is lost on its way; there is no answer.
    LoseUnanswered,
    /// It arrives, and the call never ends.
    ArriveAndHang,
    /// It is lost on its way, and the call never ends.
    LoseAndHang,
}

/// A delivery that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Where it arrived.
    pub target: Target,
    /// What arrived.
    pub delivery: Delivery,
    /// When, by the true clock.
    pub arrived_at: Instant,
    /// By which call, counted from 1.
    pub call: u64,
}

/// All channels. Clones share them.
///
/// ```
/// use spillway_app::ports::{ChannelSender, Delivery};
/// use spillway_domain::attempt::SendOutcome;
/// use spillway_testkit::build::{at, delivery, exact_job, policy};
/// use spillway_testkit::{Driver, FaultPlan, InMemoryChannel, ManualClock, Reply};
///
/// let now = at("2026-12-01T09:00:00Z");
/// let clock = ManualClock::at(now);
/// let faults = FaultPlan::new(&clock);
/// let channel = InMemoryChannel::new(&clock, &faults);
/// channel.reply_next("a", Reply::ArriveUnanswered);
///
/// let target = policy().channels.into_values().next().unwrap().target;
/// let sent = [delivery(&exact_job("a", now, now), now)];
/// let outcomes = Driver::new(&clock, &faults).run(channel.send(&target, &sent));
/// assert!(matches!(outcomes[0], SendOutcome::Unanswered(_)));
/// assert_eq!(channel.arrivals_of("a").len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct InMemoryChannel {
    clock: ManualClock,
    faults: FaultPlan,
    channels: Arc<Mutex<Channels>>,
    observers: Observers,
}

#[derive(Debug)]
struct Channels {
    calls: u64,
    arrivals: Vec<Arrival>,
    keeps_arrivals: bool,
    by_call: HashMap<u64, Reply>,
    by_job: HashMap<String, VecDeque<Reply>>,
    otherwise: Reply,
}

impl InMemoryChannel {
    /// Builds channels that take everything at once.
    pub fn new(clock: &ManualClock, faults: &FaultPlan) -> Self {
        let channels = Channels {
            calls: 0,
            arrivals: Vec::new(),
            keeps_arrivals: true,
            by_call: HashMap::new(),
            by_job: HashMap::new(),
            otherwise: Reply::Deliver,
        };
        Self {
            clock: clock.clone(),
            faults: faults.clone(),
            channels: Arc::new(Mutex::new(channels)),
            observers: Observers::default(),
        }
    }

    /// Lets somebody look on, from now on.
    ///
    /// # Panics
    /// When somebody does already.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.observers.set(observer);
    }

    /// Keeps no arrivals from now on: a run of millions of jobs counts them by an [`Observer`].
    pub fn keep_no_arrivals(&self) {
        locked(&self.channels).keeps_arrivals = false;
    }

    /// Scripts what becomes of a job's next delivery; several of them one after another.
    pub fn reply_next(&self, job_id: &str, reply: Reply) {
        locked(&self.channels).by_job.entry(job_id.to_owned()).or_default().push_back(reply);
    }

    /// Scripts what becomes of all deliveries of the `number`th call, counted from 1.
    pub fn reply_to_call(&self, number: u64, reply: Reply) {
        locked(&self.channels).by_call.insert(number, reply);
    }

    /// Scripts what becomes of every delivery that nothing else is scripted for.
    pub fn reply_otherwise(&self, reply: Reply) {
        locked(&self.channels).otherwise = reply;
    }

    /// Shows what arrived, in order.
    pub fn arrivals(&self) -> Vec<Arrival> {
        locked(&self.channels).arrivals.clone()
    }

    /// Shows what arrived of one job, in order.
    pub fn arrivals_of(&self, job_id: &str) -> Vec<Arrival> {
        let is_of_job = |arrival: &Arrival| arrival.delivery.job_id.as_str() == job_id;
        self.arrivals_that(is_of_job)
    }

    /// Shows what arrived at one target, in order.
    pub fn arrivals_at(&self, target: &Target) -> Vec<Arrival> {
        self.arrivals_that(|arrival| arrival.target == *target)
    }

    fn arrivals_that(&self, is_meant: impl Fn(&Arrival) -> bool) -> Vec<Arrival> {
        let channels = locked(&self.channels);
        channels.arrivals.iter().filter(|arrival| is_meant(arrival)).cloned().collect()
    }

    /// Takes the deliveries of a call, each by its reply.
    fn take(&self, target: &Target, deliveries: &[Delivery]) -> Vec<Reply> {
        let (now, mut channels) = (self.clock.now(), locked(&self.channels));
        channels.calls += 1;
        let take = |delivery| {
            let decided = self.faults.fate(|fate| fate.of_delivery(delivery)).flatten();
            let reply = channels.take(target, delivery, decided, now);
            if reply.arrives() {
                self.observers.delivery_arrived(target, delivery, now);
            }
            reply
        };
        deliveries.iter().map(take).collect()
    }

    /// Waits for as long as the slowest reply.
    async fn wait_for(&self, replies: &[Reply]) {
        if replies.iter().any(|reply| matches!(reply, Reply::ArriveAndHang | Reply::LoseAndHang)) {
            future::pending::<()>().await;
        }
        let slowest = replies.iter().map(|reply| match reply {
            Reply::DeliverSlowly(millis) => *millis,
            _ => 0,
        });
        let answered_at = self.clock.now().plus_millis(slowest.max().unwrap_or(0));
        self.clock.sleep_until(answered_at).await;
    }
}

impl Channels {
    fn take(
        &mut self,
        target: &Target,
        delivery: &Delivery,
        decided: Option<Reply>,
        now: Instant,
    ) -> Reply {
        let of_job = self.by_job.get_mut(delivery.job_id.as_str());
        let reply = of_job
            .and_then(VecDeque::pop_front)
            .or_else(|| self.by_call.get(&self.calls).copied())
            .or(decided)
            .unwrap_or(self.otherwise);
        if reply.arrives() && self.keeps_arrivals {
            self.arrivals.push(Arrival {
                target: target.clone(),
                delivery: delivery.clone(),
                arrived_at: now,
                call: self.calls,
            });
        }
        reply
    }
}

impl Reply {
    const fn arrives(self) -> bool {
        matches!(
            self,
            Self::Deliver | Self::DeliverSlowly(_) | Self::ArriveUnanswered | Self::ArriveAndHang
        )
    }

    fn outcome(self) -> SendOutcome {
        match self {
            Self::Deliver | Self::DeliverSlowly(_) => SendOutcome::Delivered,
            Self::Refuse => SendOutcome::Refused("scripted: refused for now".into()),
            Self::RefuseForGood => SendOutcome::RefusedForGood("scripted: refused for good".into()),
            Self::ArriveUnanswered
            | Self::LoseUnanswered
            | Self::ArriveAndHang
            | Self::LoseAndHang => SendOutcome::Unanswered("scripted: no answer".into()),
        }
    }
}

impl ChannelSender for InMemoryChannel {
    /// A scripted fault of the whole call leaves every delivery unanswered, or refused for now when
    /// it is a lasting one.
    ///
    /// # Panics
    /// When there are more than ten deliveries.
    async fn send(&self, target: &Target, deliveries: &[Delivery]) -> Vec<SendOutcome> {
        assert!(deliveries.len() <= DELIVERIES_MAX, "a call sends ten deliveries at most");
        let jobs = deliveries.iter().map(|delivery| delivery.job_id.as_str());
        let send = async {
            let replies = self.take(target, deliveries);
            self.wait_for(&replies).await;
            Ok(replies.into_iter().map(Reply::outcome).collect::<Vec<_>>())
        };
        let failed = |outcome: SendOutcome| vec![outcome; deliveries.len()];
        match self.faults.call(Operation::SendDeliveries, jobs, send).await {
            Ok(outcomes) => outcomes,
            Err(PortError::Transient(why)) => failed(SendOutcome::Unanswered(why.to_string())),
            Err(PortError::Permanent(why)) => failed(SendOutcome::Refused(why.to_string())),
        }
    }
}
