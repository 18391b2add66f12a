//! Faults happen as they are scripted, and the outside is left as they say.

use spillway_app::ports::{
    ChannelSender as _, Claims as _, Clock as _, Conditional, DeadLetter, DeadLetters as _,
    DueIndex as _, Intake as _, PortError,
};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::job::{Job, State};
use spillway_domain::policy::Target;
use spillway_domain::time::Instant;
use spillway_testkit::build::{
    BUS_NAME, at, channel, claim_request, delivery, entry, exact_job, job_id, token,
};
use spillway_testkit::{Dice, Ended, Fault, Operation, Outside, Reply};

fn now() -> Instant {
    at("2026-12-01T09:00:00Z")
}

fn outside_with(job: &Job) -> Outside {
    let outside = Outside::at(now());
    outside.store.put(job.clone());
    outside
}

fn a_job() -> Job {
    exact_job("a", now(), now())
}

fn bus() -> Target {
    Target::EventBridge { bus_name: BUS_NAME.into() }
}

/// Claims the job under one fault; tells how the call ended and what the row is then.
fn claimed_under(fault: Fault) -> (Ended<Option<bool>>, State) {
    let (job, outside) = (a_job(), outside_with(&a_job()));
    outside.faults.on_next(Operation::Claim, fault);
    let request = claim_request(&job, &token("t"), now());
    let ended = outside.driver().try_run(async {
        match outside.store.claim(&request).await {
            Ok(answer) => Some(matches!(answer, Conditional::Done(_))),
            Err(PortError::Transient(_)) => None,
            Err(error) => panic!("{error:?}"),
        }
    });
    (ended, outside.store.job("a").map_or(State::Failed, |job| job.state))
}

#[test]
fn a_call_fails_before_its_effect_or_after_it() {
    assert_eq!(claimed_under(Fault::FailBefore), (Ended::Finished(None), State::Scheduled));
    assert_eq!(claimed_under(Fault::LoseAnswer), (Ended::Finished(None), State::Claimed));
}

#[test]
fn a_call_hangs_before_its_effect_or_after_it() {
    assert_eq!(claimed_under(Fault::Hang), (Ended::Stuck, State::Scheduled));
    assert_eq!(claimed_under(Fault::HangAfter), (Ended::Stuck, State::Claimed));
}

#[test]
fn an_invocation_crashes_before_a_calls_effect_or_after_it() {
    assert_eq!(claimed_under(Fault::CrashBefore), (Ended::Crashed, State::Scheduled));
    assert_eq!(claimed_under(Fault::CrashAfter), (Ended::Crashed, State::Claimed));
}

#[test]
fn a_slow_call_has_its_effect_when_its_time_is_over() {
    let outside = outside_with(&a_job());
    outside.faults.on_next(Operation::Claim, Fault::Slow(700));
    let request = claim_request(&a_job(), &token("t"), now());
    outside.driver().run(outside.store.claim(&request)).unwrap();
    assert_eq!(outside.clock.now(), now().plus_millis(700));
}

#[test]
fn a_refused_call_is_a_lasting_error() {
    let outside = outside_with(&a_job());
    outside.faults.on_next(Operation::Read, Fault::Refuse);
    let answer = outside.driver().run(outside.store.read(&job_id("a")));
    assert!(matches!(answer, Err(PortError::Permanent(_))));
}

#[test]
fn a_crash_ends_its_own_task_alone() {
    let outside = outside_with(&a_job());
    outside.faults.on_call(Operation::Read, 2, Fault::CrashAfter);
    let mut driver = outside.driver();
    let tasks = [(); 3].map(|()| {
        let (store, clock) = (outside.store.clone(), outside.clock.clone());
        driver.spawn(async move {
            store.read(&job_id("a")).await.unwrap();
            clock.sleep_until(now().plus_seconds(1)).await;
        })
    });
    driver.settle();
    assert_eq!(tasks.map(|task| driver.is_running(task)), [true, false, true]);
    driver.run_to_rest();
    assert_eq!(driver.task_count(), 0);
}

#[test]
fn a_fault_of_a_call_happens_once_and_one_of_every_call_until_it_is_stopped() {
    let outside = outside_with(&a_job());
    outside.faults.on_call(Operation::Read, 2, Fault::FailBefore);
    let mut driver = outside.driver();
    let mut reads = |count: usize| -> Vec<bool> {
        let read = |_| driver.run(outside.store.read(&job_id("a"))).is_ok();
        (0..count).map(read).collect()
    };
    assert_eq!(reads(3), [true, false, true]);
    outside.faults.on_every(Operation::Read, Fault::FailBefore);
    assert_eq!(reads(2), [false, false]);
    outside.faults.stop();
    assert_eq!(reads(1), [true]);
    assert_eq!(outside.faults.call_count(Operation::Read), 6);
    assert_eq!(outside.faults.fault_count(), 3);
}

#[test]
fn a_fault_of_a_job_happens_to_that_job() {
    let outside = outside_with(&a_job());
    outside.faults.on_job(Operation::Read, &job_id("b"), Fault::FailBefore);
    let mut driver = outside.driver();
    assert!(driver.run(outside.store.read(&job_id("a"))).is_ok());
    assert!(driver.run(outside.store.read(&job_id("b"))).is_err());
    assert!(driver.run(outside.store.read(&job_id("b"))).is_ok());
}

#[test]
fn random_faults_are_repeated_by_their_seed() {
    let faults_of = |seed| {
        let outside = outside_with(&a_job());
        let ways = [Fault::FailBefore, Fault::LoseAnswer];
        outside.faults.at_random(Dice::from_seed(seed), 300, &[Operation::Read], &ways);
        let mut driver = outside.driver();
        let read = |_| driver.run(outside.store.read(&job_id("a"))).is_err();
        (0..200).map(read).collect::<Vec<_>>()
    };
    assert_eq!(faults_of(1), faults_of(1));
    assert_ne!(faults_of(1), faults_of(2));
    assert!((30..90).contains(&faults_of(1).into_iter().filter(|failed| *failed).count()));
}

/// Sends the job under one reply; tells the outcome and how often it arrived.
fn sent_under(reply: Reply) -> (Ended<SendOutcome>, usize) {
    let outside = Outside::at(now());
    outside.channel.reply_next("a", reply);
    let sent = [delivery(&a_job(), now())];
    let ended =
        outside.driver().try_run(async { outside.channel.send(&bus(), &sent).await.remove(0) });
    (ended, outside.channel.arrivals_of("a").len())
}

#[test]
fn a_channel_answers_as_scripted() {
    let outcome = |reply| match sent_under(reply) {
        (Ended::Finished(SendOutcome::Delivered), count) => ("delivered", count),
        (Ended::Finished(SendOutcome::Refused(_)), count) => ("refused", count),
        (Ended::Finished(SendOutcome::Deferred { .. }), count) => ("deferred", count),
        (Ended::Finished(SendOutcome::RefusedForGood(_)), count) => ("refused for good", count),
        (Ended::Finished(SendOutcome::Unanswered(_)), count) => ("unanswered", count),
        (Ended::Stuck, count) => ("hangs", count),
        (Ended::Crashed, count) => ("crashed", count),
    };
    assert_eq!(outcome(Reply::Deliver), ("delivered", 1));
    assert_eq!(outcome(Reply::DeliverSlowly(4_000)), ("delivered", 1));
    assert_eq!(outcome(Reply::Refuse), ("refused", 0));
    assert_eq!(outcome(Reply::RefuseForGood), ("refused for good", 0));
    assert_eq!(outcome(Reply::ArriveUnanswered), ("unanswered", 1));
    assert_eq!(outcome(Reply::LoseUnanswered), ("unanswered", 0));
    assert_eq!(outcome(Reply::ArriveAndHang), ("hangs", 1));
    assert_eq!(outcome(Reply::LoseAndHang), ("hangs", 0));
}

#[test]
fn a_slow_channel_takes_the_delivery_at_once_and_answers_later() {
    let outside = Outside::at(now());
    outside.channel.reply_next("a", Reply::DeliverSlowly(4_000));
    outside.driver().run(outside.channel.send(&bus(), &[delivery(&a_job(), now())]));
    assert_eq!(outside.clock.now(), now().plus_seconds(4));
    let arrivals = outside.channel.arrivals_at(&bus());
    assert_eq!((arrivals[0].arrived_at, arrivals[0].call), (now(), 1));
}

#[test]
fn replies_go_by_job_then_by_call_then_otherwise() {
    let outside = Outside::at(now());
    outside.channel.reply_otherwise(Reply::Refuse);
    outside.channel.reply_to_call(2, Reply::LoseUnanswered);
    outside.channel.reply_next("a", Reply::Deliver);
    let sent = [delivery(&a_job(), now())];
    let mut driver = outside.driver();
    let outcomes = [(); 3].map(|()| driver.run(outside.channel.send(&bus(), &sent)).remove(0));
    assert!(matches!(outcomes[0], SendOutcome::Delivered));
    assert!(matches!(outcomes[1], SendOutcome::Unanswered(_)));
    assert!(matches!(outcomes[2], SendOutcome::Refused(_)));
}

#[test]
fn a_crash_right_after_the_send_leaves_an_arrival() {
    let outside = Outside::at(now());
    outside.faults.on_job(Operation::SendDeliveries, &job_id("a"), Fault::CrashAfter);
    let sent = [delivery(&a_job(), now())];
    let ended = outside.driver().try_run(outside.channel.send(&bus(), &sent));
    assert_eq!(ended, Ended::Crashed);
    assert_eq!(outside.channel.arrivals().len(), 1);
}

#[test]
#[should_panic = "ten deliveries at most"]
fn eleven_deliveries_in_one_call_are_a_bug() {
    let outside = Outside::at(now());
    let sent = vec![delivery(&a_job(), now()); 11];
    outside.driver().run(outside.channel.send(&bus(), &sent));
}

#[test]
fn a_dead_letter_whose_answer_is_lost_is_there() {
    let outside = Outside::at(now());
    outside.faults.on_next(Operation::SendDeadLetter, Fault::LoseAnswer);
    let job = a_job();
    let letter = DeadLetter {
        job_id: job.id.clone(),
        generation: job.generation,
        channel: channel("inbox"),
        class: None,
        attempts: 5,
        reason: "busy".into(),
        failed_at: now(),
    };
    assert!(outside.driver().run(outside.dead_letters.send(&letter)).is_err());
    assert_eq!(outside.dead_letters.letters(), [letter]);
}

#[test]
fn the_index_shows_a_write_when_its_lag_is_over() {
    let outside = Outside::at(now());
    outside.store.set_index_lag_millis(2_000);
    let (job, mut driver) = (a_job(), outside.driver());
    let bucket = job.bucket.unwrap();
    let mut shown = || driver.run(outside.store.page(bucket, None)).unwrap().jobs.len();
    outside.store.put(job.clone());
    outside.clock.advance_millis(1_999);
    assert_eq!(shown(), 0);
    outside.clock.advance_millis(1);
    assert_eq!(shown(), 1);
    outside.store.put(Job { bucket: None, state: State::Delivered, ..job });
    outside.clock.advance_millis(1_999);
    assert_eq!(shown(), 1);
    outside.clock.advance_millis(1);
    assert_eq!(shown(), 0);
}

#[test]
fn an_empty_page_has_a_next_one_as_long_as_there_are_jobs() {
    let outside = outside_with(&a_job());
    outside.store.set_every_nth_page_empty(2);
    let (bucket, mut driver) = (a_job().bucket.unwrap(), outside.driver());
    let mut page = |after: Option<_>| driver.run(outside.store.page(bucket, after.as_ref()));
    assert_eq!(page(None).unwrap().next, None);
    let empty = page(None).unwrap();
    assert_eq!((empty.jobs.len(), empty.next.is_some()), (0, true));
    assert_eq!(page(empty.next).unwrap().jobs.len(), 1);
}

#[test]
fn a_finished_row_is_deleted_after_its_ttl_and_not_before() {
    let outside = outside_with(&a_job());
    let ttl_at = now().plus_seconds(60);
    outside.driver().run(outside.store.cancel(&entry(&a_job()), now(), ttl_at)).unwrap();
    assert_eq!(outside.store.ttl_at("a"), Some(ttl_at));
    for (seconds, is_there) in [(60, true), (1, false)] {
        outside.clock.advance_seconds(seconds);
        outside.store.delete_outlived();
        assert_eq!(outside.store.job("a").is_some(), is_there);
    }
}
