//! Holds jobs to their release, sends them, and gives back what is no longer sent.

use std::pin::pin;

use futures::future::{Either, join, select};
use futures::stream::{self, StreamExt};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::claim::last_send_at;
use spillway_domain::limiter::TokenLease;
use spillway_domain::pack::{PACK_JOBS_MAX, Pack};
use spillway_domain::policy::Channel;
use spillway_domain::time::Instant;

use super::pack::{left_to_run_out, passed_on};
use super::{DispatchPorts, Dispatcher, Ending, Held, Step, WRITES_AT_ONCE, was_done};
use crate::ports::{ChannelSender, Claims, Clock, Delivery};

/// What an invocation keeps back of its time to record what it sent, in milliseconds.
const RECORDING_MILLIS: i64 = 2_000;

/// What the channel made of a job.
#[derive(Debug)]
pub(super) struct Attempted {
    pub(super) held: Held,
    pub(super) outcome: SendOutcome,
    pub(super) sent_at: Instant,
    /// When the answer was there, or was given up.
    pub(super) answered_at: Instant,
}

/// What is to be done with a job at its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AtRelease {
    Send,
    Expire,
    /// The claim or the invocation has too little time left, or the tokens are lost.
    GiveBack,
}

impl<P: DispatchPorts> Dispatcher<'_, P> {
    /// Holds jobs of one release to their second; then each is sent, expired or given back.
    pub(super) async fn release(
        &self,
        pack: &Pack,
        channel: &Channel,
        release_at: Instant,
        held: Vec<Held>,
        lease: Option<TokenLease>,
    ) -> Vec<Step> {
        self.clock.sleep_until(release_at).await;
        let now = self.clock.now();
        let mut to_send = Vec::new();
        let mut others = Vec::new();
        for held in held {
            match self.at_release(&held, lease, now) {
                AtRelease::Send => to_send.push(held),
                AtRelease::Expire => others.push((held, true)),
                AtRelease::GiveBack => others.push((held, false)),
            }
        }
        let deliveries_max = channel.target.deliveries_a_call_max();
        let mut sends = Vec::new();
        while !to_send.is_empty() {
            let rest = to_send.split_off(to_send.len().min(deliveries_max));
            sends.push(self.send(channel, std::mem::replace(&mut to_send, rest)));
        }
        // All at once: none waits for another's answer, beyond its claim at worst.
        let sent = stream::iter(sends)
            .buffer_unordered(PACK_JOBS_MAX)
            .flat_map(stream::iter)
            .map(|sent| self.settle(pack, channel, sent))
            .buffer_unordered(WRITES_AT_ONCE)
            .collect::<Vec<_>>();
        let given_back =
            others.into_iter().map(|(held, is_expired)| self.give_back(pack, held, is_expired));
        let given_back =
            stream::iter(given_back.collect::<Vec<_>>()).buffer_unordered(WRITES_AT_ONCE);
        let (mut steps, given_back) = join(sent, given_back.collect::<Vec<_>>()).await;
        steps.extend(given_back);
        steps
    }

    fn at_release(&self, held: &Held, lease: Option<TokenLease>, now: Instant) -> AtRelease {
        let last_at =
            last_send_at(held.claim.until, self.writes_until().plus_millis(-RECORDING_MILLIS));
        if held.is_expired(now) {
            AtRelease::Expire
        } else if now > last_at || lease.is_some_and(|lease| now >= lease.until_at) {
            AtRelease::GiveBack
        } else {
            AtRelease::Send
        }
    }

    async fn send(&self, channel: &Channel, held: Vec<Held>) -> Vec<Attempted> {
        let sent_at = self.clock.now();
        let deliveries: Vec<_> = held.iter().map(|held| delivery(held, sent_at)).collect();
        let outcomes = self.send_within(channel, &deliveries, sent_at).await;
        let answered_at = self.clock.now();
        self.circuits.take_in(&held, &outcomes, answered_at);
        held.into_iter()
            .zip(outcomes)
            .map(|(held, outcome)| Attempted { held, outcome, sent_at, answered_at })
            .collect()
    }

    /// Sends, and counts a missing answer, or a late one, as none.
    async fn send_within(
        &self,
        channel: &Channel,
        deliveries: &[Delivery],
        sent_at: Instant,
    ) -> Vec<SendOutcome> {
        let timeout_millis = i64::from(channel.send_timeout_millis);
        let give_up_at = sent_at.plus_millis(timeout_millis).min(self.writes_until());
        let unanswered =
            || SendOutcome::Unanswered(format!("no answer within {timeout_millis} ms"));
        let sending = pin!(self.channels.send(&channel.target, deliveries));
        let giving_up = pin!(self.clock.sleep_until(give_up_at));
        let mut outcomes = match select(sending, giving_up).await {
            Either::Left((outcomes, _)) => outcomes,
            Either::Right(_) => Vec::new(),
        };
        outcomes.resize_with(deliveries.len(), unanswered);
        outcomes
    }

    /// Gives a claim back whose send never started. An expired job then ends; any other is taken
    /// further at once by the next invocation.
    async fn give_back(&self, pack: &Pack, held: Held, is_expired: bool) -> Step {
        let entry = held.entry();
        let token = &held.claim.token;
        let answer = self.persist(|| self.claims.give_back(&entry, token)).await;
        let is_given_back =
            answer.is_ok_and(|answer| was_done(&answer, &entry, |job| job.claim.is_none()));
        if !is_given_back {
            return left_to_run_out(pack, &held);
        }
        let now = self.clock.now();
        if !is_expired {
            return passed_on(pack, entry, now);
        }
        let ttl_at = held.job.ttl_at(now, self.retention_seconds);
        let answer = self.persist(|| self.claims.record_expired(&entry, now, ttl_at)).await;
        match answer {
            Ok(answer) if was_done(&answer, &entry, |job| job.state.is_finished()) => {
                Step::End(Ending::Expired)
            }
            _ => passed_on(pack, entry, now),
        }
    }
}

fn delivery(held: &Held, sent_at: Instant) -> Delivery {
    let job = &held.job;
    Delivery {
        job_id: job.id.clone(),
        created_at: job.created_at,
        requested_at: job.spec.requested_at,
        due_at: job.due_at,
        sent_at,
        class: job.spec.class.clone(),
        attempt: job.attempts,
        payload: job.payload_to_send().clone(),
    }
}
