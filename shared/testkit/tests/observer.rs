//! Whoever looks on sees what the logs would have kept.

use std::sync::{Arc, Mutex, PoisonError};

use spillway_app::ports::{
    ChannelSender as _, Claims as _, Delivery, DueIndex as _, DuePage, Intake as _, JobQueue as _,
    OutgoingMessage, QueueMessage,
};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::{Job, State};
use spillway_domain::pack::{DueJob, packs};
use spillway_domain::policy::Target;
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;
use spillway_testkit::build::{BUS_NAME, at, claim_request, delivery, exact_job, token};
use spillway_testkit::{Fault, Observer, Operation, Outside, Reply, RowWrite};

/// Writes down what it sees, a word for each.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, note: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Notes {
    fn row_written(&self, write: RowWrite<'_>) {
        let state = |job: Option<&Job>| job.map(|job| job.state);
        let (before, after) = (state(write.before), state(write.after));
        self.note(format!("{:?} {before:?} {after:?}", write.operation));
    }

    fn row_read(&self, row: Option<&Job>) {
        self.note(format!("read {}", row.is_some()));
    }

    fn page_read(&self, _: Bucket, page: &DuePage) {
        self.note(format!("page {}", page.jobs.len()));
    }

    fn batch_sent(&self, lane: Lane, batch: &[OutgoingMessage], _: Instant) {
        self.note(format!("batch {} {}", lane.as_str(), batch.len()));
    }

    fn message_sent(&self, _: Lane, sent: &OutgoingMessage, _: Instant) {
        self.note(format!("message {}", sent.delay_seconds));
    }

    fn delivery_arrived(&self, _: &Target, delivery: &Delivery, _: Instant) {
        self.note(format!("arrived {}", delivery.job_id));
    }
}

fn observed() -> (Outside, Arc<Notes>, Job) {
    let now = at("2026-12-01T09:00:00Z");
    let (outside, notes) = (Outside::at(now), Arc::new(Notes::default()));
    outside.observe_instead_of_logs(notes.clone());
    (outside, notes, exact_job("a", now, now))
}

#[test]
fn writes_are_seen_with_the_row_before_and_after_and_refusals_without() {
    let (outside, notes, job) = observed();
    outside.driver().run(async {
        outside.store.create(&job).await.unwrap();
        outside.store.create(&job).await.unwrap();
        outside.store.claim(&claim_request(&job, &token("t"), job.due_at)).await.unwrap();
        outside.store.read(&job.id).await.unwrap();
        outside.store.page(job.bucket.unwrap(), None).await.unwrap();
    });
    let (scheduled, claimed) = (Some(State::Scheduled), Some(State::Claimed));
    let none = None::<State>;
    let expected = [
        format!("Create {none:?} {scheduled:?}"),
        format!("Create {scheduled:?} {none:?}"),
        format!("Claim {scheduled:?} {claimed:?}"),
        "read true".into(),
        "page 1".into(),
    ];
    assert_eq!(notes.taken(), expected);
}

#[test]
fn messages_and_arrivals_are_seen_and_not_kept() {
    let (outside, notes, job) = observed();
    let message = QueueMessage::Release(packs([DueJob::of(&job)]).remove(0));
    let outgoing = OutgoingMessage { message, delay_seconds: 7 };
    let target = Target::EventBridge { bus_name: BUS_NAME.into() };
    outside.driver().run(async {
        outside.queue.send_batch(Lane::Exact, &[outgoing]).await;
        outside.channel.send(&target, &[delivery(&job, job.due_at)]).await;
    });
    assert_eq!(notes.taken(), ["batch exact 1", "message 7", "arrived a"]);
    assert!(outside.queue.sent(Lane::Exact).is_empty());
    assert!(outside.channel.arrivals().is_empty());
    assert_eq!(outside.queue.message_count(Lane::Exact), 1, "the message itself is there");
}

#[test]
fn what_has_no_effect_is_not_seen() {
    let (outside, notes, job) = observed();
    outside.faults.on_next(Operation::Create, Fault::FailBefore);
    outside.channel.reply_next("a", Reply::LoseUnanswered);
    let target = Target::EventBridge { bus_name: BUS_NAME.into() };
    outside.driver().run(async {
        assert!(outside.store.create(&job).await.is_err());
        outside.channel.send(&target, &[delivery(&job, job.due_at)]).await;
    });
    assert_eq!(notes.taken(), Vec::<String>::new());
}
