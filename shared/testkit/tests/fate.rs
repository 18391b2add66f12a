//! A fate decides what was not scripted.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::sync::{Arc, Mutex};

use spillway_app::ports::{
    ChannelSender, Clock, Delivery, DueIndex, Intake, JobQueue, OutgoingMessage, QueueMessage,
};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::job::Job;
use spillway_domain::limiter::TokenLease;
use spillway_domain::name::ChannelName;
use spillway_domain::pack::{DueJob, packs};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;
use spillway_testkit::build::{at, delivery, exact_job, policy};
use spillway_testkit::{CallFate, Fate, Fault, Operation, Outside, Reply};

const NOW: &str = "2026-12-01T08:00:00Z";
const DUE: &str = "2026-12-01T09:00:00Z";

/// A fate that a test sets, and that notes the writes it sees.
#[derive(Clone, Default)]
struct Set {
    call: CallFate,
    copies: Vec<i64>,
    index_lags_millis: Arc<Mutex<Vec<i64>>>,
    reply: Option<Reply>,
    writes: Arc<Mutex<Vec<(bool, String)>>>,
}

impl Fate for Set {
    fn of_call(&mut self, _: Operation, _: &[&str]) -> CallFate {
        self.call
    }

    fn of_message(&mut self, _: Lane, _: &OutgoingMessage, _: Instant) -> Vec<i64> {
        self.copies.clone()
    }

    fn of_index_entry(&mut self, _: &Job) -> i64 {
        self.index_lags_millis.lock().unwrap().pop().unwrap_or(0)
    }

    fn of_delivery(&mut self, _: &Delivery) -> Option<Reply> {
        self.reply
    }

    fn wrote(&mut self, before: Option<&Job>, after: &Job, _: Instant) {
        self.writes.lock().unwrap().push((before.is_some(), after.id.to_string()));
    }

    fn leased(&mut self, _: &ChannelName, _: TokenLease) {}
}

fn under(fate: &Set) -> Outside {
    let outside = Outside::at(at(NOW));
    outside.faults.decided_by(fate.clone());
    outside
}

fn message(id: &str) -> OutgoingMessage {
    let pack = packs([DueJob::of(&exact_job(id, at(DUE), at(NOW)))]).remove(0);
    OutgoingMessage { message: QueueMessage::Release(pack), delay_seconds: 0 }
}

#[test]
fn a_call_and_its_answer_take_their_time_and_a_scripted_fault_comes_first() {
    let call = CallFate { before_millis: 30, fault: Some(Fault::FailBefore), after_millis: 20 };
    let outside = under(&Set { call, ..Set::default() });
    let job = exact_job("a", at(DUE), at(NOW));
    assert!(outside.driver().run(outside.store.create(&job)).is_err());
    assert_eq!(outside.clock.now(), at(NOW).plus_millis(50));
    outside.faults.on_next(Operation::Create, Fault::LoseAnswer);
    assert!(outside.driver().run(outside.store.create(&job)).is_err());
    assert_eq!(outside.store.job("a"), Some(job));
}

#[test]
fn a_message_comes_as_often_and_as_late_as_decided() {
    for (copies, count_at_once, count_later) in
        [(vec![], 0, 0), (vec![0, 0], 2, 2), (vec![0, 5_000], 1, 2), (vec![5_000], 0, 1)]
    {
        let outside = under(&Set { copies, ..Set::default() });
        let sent = outside.driver().run(outside.queue.send_batch(Lane::Exact, &[message("a")]));
        assert!(sent[0].is_ok());
        let at_once = outside.queue.receive(Lane::Exact).len();
        outside.clock.advance_seconds(5);
        let later = at_once + outside.queue.receive(Lane::Exact).len();
        assert_eq!((at_once, later), (count_at_once, count_later));
    }
}

#[test]
fn an_index_entry_has_a_delay_of_its_own_and_overtakes_none_of_its_row() {
    // Taken from the end: the first write of "a", the one of "b", the second of "a".
    let lags = Arc::new(Mutex::new(vec![0, 0, 9_000]));
    let outside = under(&Set { index_lags_millis: lags, ..Set::default() });
    let mut driver = outside.driver();
    let (first, other) = (exact_job("a", at(DUE), at(NOW)), exact_job("b", at(DUE), at(NOW)));
    driver.run(outside.store.create(&first)).unwrap();
    driver.run(outside.store.create(&other)).unwrap();
    let later = Job { release_at: at(DUE).plus_seconds(5), ..first.clone() };
    outside.store.put(later.clone());
    let mut shown = |bucket| driver.run(outside.store.page(bucket, None)).unwrap().jobs;
    assert_eq!(
        shown(other.bucket.unwrap()).iter().filter(|job| **job == DueJob::of(&other)).count(),
        1
    );
    assert!(!shown(first.bucket.unwrap()).iter().any(|job| job.entry.job_id == first.id));
    outside.clock.advance_seconds(9);
    let mut shown = |bucket| driver.run(outside.store.page(bucket, None)).unwrap().jobs;
    let of_first: Vec<_> = shown(first.bucket.unwrap());
    assert!(of_first.contains(&DueJob::of(&later)), "the later write is the last to be seen");
    assert!(!of_first.contains(&DueJob::of(&first)));
}

#[test]
fn a_channel_takes_a_delivery_as_decided_and_every_write_is_seen() {
    let fate = Set { reply: Some(Reply::Refuse), ..Set::default() };
    let outside = under(&fate);
    let job = exact_job("a", at(DUE), at(NOW));
    let target = policy().channels.into_values().next().unwrap().target;
    let sent = [delivery(&job, at(DUE))];
    let outcomes = outside.driver().run(outside.channel.send(&target, &sent));
    assert!(matches!(outcomes[0], SendOutcome::Refused(_)));
    outside.driver().run(outside.store.create(&job)).unwrap();
    outside.store.put(job);
    let writes = fate.writes.lock().unwrap().clone();
    assert_eq!(writes, [(false, "a".to_owned()), (true, "a".to_owned())]);
}
