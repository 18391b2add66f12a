//! Sends: each is checked as it starts.

use spillway_app::ports::Delivery;
use spillway_domain::attempt::{DeliveryRecord, SendOutcome};
use spillway_domain::job::Job;
use spillway_domain::name::JobId;
use spillway_domain::time::Instant;
use spillway_testkit::Reply;

use super::notes::{Notes, Send, SendState};
use super::{Invariant, Ledger, SKEW_MILLIS};

impl Ledger {
    /// Takes in that an invocation hands deliveries to a channel, at `now` by its own clock.
    pub(in crate::faults) fn sends(
        &mut self,
        invocation: u64,
        deliveries: &[Delivery],
        now: Instant,
    ) {
        for delivery in deliveries {
            self.note(|| {
                let (id, attempt) = (&delivery.job_id, delivery.attempt);
                format!(
                    "SEND {id} attempt {attempt} {} by {invocation}",
                    delivery.payload.as_json()
                )
            });
            self.check_send(delivery, now);
            self.check_causes(&delivery.job_id);
            self.check_rate(&delivery.job_id);
            let notes = self.notes(&delivery.job_id);
            let claim = notes.row.as_ref().and_then(|row| row.claim.as_ref());
            let send = Send {
                invocation,
                sent_at: delivery.sent_at,
                attempt: delivery.attempt,
                state: SendState::UnderWay,
                has_arrived: false,
                created_at: delivery.created_at,
                claim_until: claim.map(|claim| claim.until),
                record_tries: 0,
                recorded_at: None,
            };
            notes.sends.push(send);
        }
    }

    fn check_send(&mut self, delivery: &Delivery, now: Instant) {
        let id = &delivery.job_id;
        let notes = self.notes(id);
        let Some((generation, life)) = notes.life_of(delivery.payload.as_json()) else {
            let what = format!("{id} was sent with a content that no row ever had");
            return self.breaks(Invariant::NoOldGeneration, what);
        };
        let is_early = now < life.times.due_at || delivery.sent_at < life.times.due_at;
        let is_expired = life.times.expires_at.is_some_and(|expires_at| now > expires_at);
        let is_old = notes.acknowledged.is_some_and(|acknowledged| generation < acknowledged);
        let cancelled_at = notes.cancelled_at;
        if cancelled_at.is_some() {
            self.breaks(Invariant::CancelIsFinal, format!("{id}"));
        }
        if is_old {
            let what = format!("{id} of generation {}", generation.number());
            self.breaks(Invariant::NoOldGeneration, what);
        }
        if is_early {
            self.breaks(Invariant::NeverEarly, format!("{id} at {}", now.as_millis()));
        }
        if is_expired {
            self.breaks(Invariant::NeverExpired, format!("{id} at {}", now.as_millis()));
        }
    }

    /// An earlier send that arrived, or may have, must have been cut off: by a crash, by a missing
    /// answer, or by a claim that ran out before the record was written (rule 6).
    fn check_causes(&mut self, id: &JobId) {
        let Some(notes) = self.jobs.get(id) else { return };
        let blameless = notes.sends.iter().find(|send| {
            let is_crashed = self.ended.contains(&send.invocation);
            match send.state {
                SendState::Refused | SendState::Unanswered => false,
                SendState::UnderWay => !is_crashed,
                SendState::Delivered => !(is_crashed || record_was_late(send, notes)),
            }
        });
        if let Some(send) = blameless {
            let what = format!(
                "{id}: attempt {} by invocation {} had no cause to be repeated",
                send.attempt, send.invocation
            );
            self.breaks(Invariant::TwiceOnlyWithCause, what);
        }
    }

    pub(in crate::faults) fn answered(
        &mut self,
        invocation: u64,
        deliveries: &[Delivery],
        outcomes: &[SendOutcome],
    ) {
        for (delivery, outcome) in deliveries.iter().zip(outcomes) {
            let state = match outcome {
                SendOutcome::Delivered => SendState::Delivered,
                SendOutcome::Refused(_)
                | SendOutcome::Deferred { .. }
                | SendOutcome::RefusedForGood(_) => SendState::Refused,
                SendOutcome::Unanswered(_) => SendState::Unanswered,
            };
            self.note(|| format!("{state:?} {}", delivery.job_id));
            self.settle(invocation, delivery, state);
        }
    }

    /// Takes in that an invocation does not wait for a channel's answer any more.
    pub(in crate::faults) fn given_up(&mut self, invocation: u64, deliveries: &[Delivery]) {
        for delivery in deliveries {
            self.settle(invocation, delivery, SendState::Unanswered);
        }
    }

    fn settle(&mut self, invocation: u64, delivery: &Delivery, state: SendState) {
        let is_it = |send: &&mut Send| send.invocation == invocation && is_of(send, delivery);
        let sends = &mut self.notes(&delivery.job_id).sends;
        if let Some(send) = sends.iter_mut().rev().find(is_it) {
            send.state = state;
        }
    }

    /// Takes in that a delivery reached its channel, which takes it as `reply` says.
    pub(in crate::faults) fn reached_channel(&mut self, delivery: &Delivery, reply: Reply) {
        let has_arrived = matches!(
            reply,
            Reply::Deliver
                | Reply::DeliverSlowly(_)
                | Reply::ArriveUnanswered
                | Reply::ArriveAndHang
        );
        self.note(|| format!("at the channel: {} {reply:?}", delivery.job_id));
        let sends = &mut self.notes(&delivery.job_id).sends;
        if let Some(send) = sends.iter_mut().rev().find(|send| is_of(send, delivery)) {
            send.has_arrived |= has_arrived;
        }
    }

    /// Takes in that somebody tries to record a delivery.
    pub(in crate::faults) fn tries_to_record(&mut self, record: &DeliveryRecord) {
        let is_it =
            |send: &&mut Send| send.sent_at == record.sent_at && send.attempt == record.attempts;
        let sends = &mut self.notes(&record.job_id).sends;
        sends.iter_mut().filter(is_it).for_each(|send| send.record_tries += 1);
    }

    /// Takes in that a message of `asked` claimed a job.
    pub(in crate::faults) fn claimed(
        &mut self,
        asked: spillway_domain::job::Generation,
        job: &Job,
    ) {
        if job.generation != asked {
            let (asked, got) = (asked.number(), job.generation.number());
            let what = format!("{}: asked for generation {asked}, got {got}", job.id);
            self.breaks(Invariant::ClaimOfOwnGeneration, what);
        }
    }
}

fn is_of(send: &Send, delivery: &Delivery) -> bool {
    send.sent_at == delivery.sent_at && send.attempt == delivery.attempt
}

/// Tells whether a delivery's record was tried, and was not in the row when the next dispatcher
/// took the job over from a claim that had run out.
fn record_was_late(send: &Send, notes: &Notes) -> bool {
    let Some((claimed_at, until)) = notes.claimed_at.zip(send.claim_until) else { return false };
    let has_run_out = claimed_at >= until.plus_millis(-SKEW_MILLIS);
    let was_recorded = send.recorded_at.is_some_and(|recorded_at| recorded_at < claimed_at);
    send.record_tries > 0 && has_run_out && !was_recorded
}
