//! The staging boundary: what is due soon is sent before it is acknowledged (R9).

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::json;
use spillway_app::ports::{Clock as _, QueueMessage};
use spillway_domain::job::State;
use spillway_domain::precision::Lane;
use spillway_domain::staging::DIRECT_STAGING_MARGIN_SECONDS;
use spillway_domain::time::Instant;
use spillway_testkit::build::{at, entry};
use spillway_testkit::{Fault, Operation};

use super::api::{Api, LOOKAHEAD_SECONDS, put, spec};

/// The last instant at which a job of 09:00 is left to prefetch is a millisecond before this.
fn boundary() -> Instant {
    let seconds = i64::from(LOOKAHEAD_SECONDS) + i64::from(DIRECT_STAGING_MARGIN_SECONDS);
    at("2026-12-01T09:00:00Z").plus_seconds(-seconds)
}

fn sent_count(api: &Api) -> usize {
    api.outside.queue.sent(Lane::Exact).len() + api.outside.queue.sent(Lane::Movable).len()
}

#[test]
fn a_job_is_sent_from_the_boundary_on_and_left_to_prefetch_before() {
    for (millis, sent) in [(-1_000, 0), (-1, 0), (0, 1), (1, 1), (60_000, 1), (509_000, 1)] {
        let api = Api::at(boundary().plus_millis(millis));
        assert_eq!(api.put("a", &spec(json!({}))).status, 201);
        assert_eq!(sent_count(&api), sent, "{millis} ms after the boundary");
    }
}

#[test]
fn the_boundary_is_that_of_the_minute_and_not_of_the_job() {
    let api = Api::at(boundary());
    api.put("a", &spec(json!({ "requested_at": "2026-12-01T09:00:59Z" })));
    assert_eq!(sent_count(&api), 1);
}

#[test]
fn the_message_names_the_life_and_waits_for_the_release() {
    let api = Api::at(at("2026-12-01T08:58:00.300Z"));
    api.put("a", &spec(json!({})));
    let sent = api.outside.queue.sent(Lane::Exact).remove(0);
    // 119.7 s, less the head start of 0.4 s.
    assert_eq!(sent.outgoing.delay_seconds, 119);
    let QueueMessage::Release(pack) = sent.outgoing.message else { panic!("a release") };
    assert_eq!(pack.entries, [entry(&api.outside.store.job("a").unwrap())]);
    assert_eq!(pack.key.release_at, at("2026-12-01T09:00:00Z"));
}

#[test]
fn a_job_whose_time_has_just_passed_is_sent_without_a_delay() {
    let api = Api::at(at("2026-12-01T09:00:59Z"));
    assert_eq!(api.put("a", &spec(json!({}))).status, 201);
    assert_eq!(api.outside.queue.sent(Lane::Exact)[0].outgoing.delay_seconds, 0);
}

#[test]
fn the_clock_is_read_after_the_write_was_answered() {
    // The call begins before the boundary; prefetch may have passed when its write is seen.
    let api = Api::at(boundary().plus_millis(-500));
    api.outside.faults.on_next(Operation::Create, Fault::Slow(500));
    assert_eq!(api.put("a", &spec(json!({}))).status, 201);
    assert_eq!(sent_count(&api), 1);
}

#[test]
fn a_rescheduled_job_is_sent_by_its_new_time() {
    let api = Api::at(at("2026-12-01T08:58:00Z"));
    api.put("a", &spec(json!({ "requested_at": "2026-12-01T12:00:00Z" })));
    assert_eq!(sent_count(&api), 0);
    assert_eq!(api.put("a", &spec(json!({}))).text("status"), "rescheduled");
    assert_eq!(sent_count(&api), 1);
    assert_eq!(api.put("a", &spec(json!({ "priority": 7 }))).text("status"), "rescheduled");
    let QueueMessage::Release(pack) =
        api.outside.queue.sent(Lane::Exact).remove(1).outgoing.message
    else {
        panic!("a release")
    };
    assert_eq!(pack.entries, [entry(&api.outside.store.job("a").unwrap())]);
}

#[test]
fn an_unchanged_job_is_sent_again_while_it_waits_and_only_then() {
    let api = Api::at(at("2026-12-01T08:58:00Z"));
    api.put("a", &spec(json!({})));
    assert_eq!(api.put("a", &spec(json!({}))).text("status"), "unchanged");
    assert_eq!(sent_count(&api), 2);
    for state in [State::Claimed, State::Delivered, State::Cancelled, State::Expired, State::Failed]
    {
        let mut job = api.outside.store.job("a").unwrap();
        job.state = state;
        api.outside.store.put(job);
        assert_eq!(api.put("a", &spec(json!({}))).text("status"), "unchanged");
        assert_eq!(sent_count(&api), 2, "{state:?}");
    }
}

#[test]
fn what_was_refused_is_not_sent() {
    let api = Api::at(at("2026-12-01T08:58:00Z"));
    api.put("a", &spec(json!({})));
    api.delete("a");
    assert_eq!(api.put("a", &spec(json!({ "priority": 9 }))).status, 409);
    assert_eq!(api.put("b", &spec(json!({ "priority": 10 }))).status, 422);
    assert_eq!(sent_count(&api), 1);
}

#[test]
fn no_success_is_answered_before_the_message_was_taken() {
    let api = Api::at(at("2026-12-01T08:58:00Z"));
    api.outside.faults.on_next(Operation::SendBatch, Fault::Slow(3_000));
    let answered = Rc::new(RefCell::new(None));
    let mut driver = api.driver();
    let (answer, clone) = (Rc::clone(&answered), api.clone());
    driver.spawn(async move {
        let status = clone.answer(put("a", &spec(json!({})))).await.status;
        *answer.borrow_mut() = Some(status);
    });
    driver.run_until(at("2026-12-01T08:58:02.999Z"));
    assert!(api.outside.store.job("a").is_some(), "it is written");
    assert_eq!((*answered.borrow(), sent_count(&api)), (None, 0));
    driver.run_until(at("2026-12-01T08:58:03Z"));
    assert_eq!((*answered.borrow(), sent_count(&api)), (Some(201), 1));
}

#[test]
fn a_message_that_the_queue_does_not_take_at_first_is_sent_again() {
    for operation in [Operation::SendBatch, Operation::SendMessage] {
        let api = Api::at(at("2026-12-01T08:58:00Z"));
        for number in 1..=3 {
            api.outside.faults.on_call(operation, number, Fault::FailBefore);
        }
        assert_eq!(api.put("a", &spec(json!({}))).status, 201, "{operation:?}");
        assert_eq!(sent_count(&api), 1);
    }
}

#[test]
fn a_job_that_is_stored_but_could_not_be_sent_is_unavailable_and_trying_again_is_safe() {
    for (fault, calls) in [(Fault::FailBefore, 10..=30), (Fault::Refuse, 1..=1)] {
        let api = Api::at(at("2026-12-01T08:58:00Z"));
        api.outside.faults.on_every(Operation::SendBatch, fault);
        let answer = api.put("a", &spec(json!({})));
        assert_eq!((answer.status, answer.problem()), (503, "unavailable"));
        assert_eq!(answer.header("retry-after").as_deref(), Some("1"));
        assert!(calls.contains(&api.outside.faults.call_count(Operation::SendBatch)), "{fault:?}");
        assert!(api.outside.clock.now() <= at("2026-12-01T08:58:17Z"), "within its time");
        let stored = api.outside.store.job("a").unwrap();
        api.outside.faults.stop();
        assert_eq!(api.put("a", &spec(json!({}))).text("status"), "unchanged");
        assert_eq!((api.outside.store.job("a"), sent_count(&api)), (Some(stored), 1));
    }
}

#[test]
fn a_queue_that_never_answers_is_not_waited_for_beyond_the_functions_time() {
    for fault in [Fault::Hang, Fault::HangAfter] {
        let api = Api::at(at("2026-12-01T08:58:00Z"));
        api.outside.faults.on_next(Operation::SendBatch, fault);
        let answer = api.put("a", &spec(json!({})));
        assert_eq!((answer.status, answer.problem()), (503, "unavailable"));
        assert_eq!(api.outside.clock.now(), at("2026-12-01T08:58:17Z"));
        assert_eq!(api.put("a", &spec(json!({}))).text("status"), "unchanged");
    }
}

#[test]
fn a_store_that_never_answers_is_not_waited_for_beyond_the_functions_time() {
    let api = Api::new();
    api.outside.faults.on_next(Operation::Create, Fault::Hang);
    assert_eq!(api.put("a", &spec(json!({}))).status, 503);
    assert_eq!(api.outside.clock.now(), at("2026-12-01T08:00:12Z"));
}

#[test]
fn a_delay_is_worked_out_again_for_every_try() {
    let api = Api::at(at("2026-12-01T08:58:00Z"));
    api.outside.faults.on_call(Operation::SendBatch, 1, Fault::Slow(1_500));
    api.outside.faults.on_call(Operation::SendMessage, 1, Fault::FailBefore);
    assert_eq!(api.put("a", &spec(json!({}))).status, 201);
    // The first try took 1.5 s and failed; the second begins at 1.55 s.
    assert_eq!(api.outside.queue.sent(Lane::Exact)[0].outgoing.delay_seconds, 118);
}

#[test]
fn a_store_that_does_not_answer_is_unavailable() {
    let ways = [(Operation::Create, Fault::FailBefore), (Operation::Create, Fault::Refuse)];
    for (operation, fault) in ways {
        let api = Api::new();
        api.outside.faults.on_every(operation, fault);
        let answer = api.put("a", &spec(json!({})));
        assert_eq!((answer.status, answer.problem()), (503, "unavailable"));
        let answer = api.post(&spec(json!({})));
        assert_eq!(answer.status, 503);
        // The caller can go on with the id that was chosen, and makes no second job.
        api.outside.faults.stop();
        assert_eq!(api.put(answer.text("job_id"), &spec(json!({}))).status, 201);
        assert_eq!(api.outside.store.jobs().len(), 1);
    }
}

#[test]
fn a_lost_answer_of_the_store_is_found_out_by_trying_again() {
    let api = Api::new();
    api.outside.faults.on_next(Operation::Create, Fault::LoseAnswer);
    let answer = api.post(&spec(json!({})));
    assert_eq!(answer.status, 503);
    let again = api.put(answer.text("job_id"), &spec(json!({})));
    assert_eq!((again.status, again.text("status")), (200, "unchanged"));
    assert_eq!(api.outside.store.jobs().len(), 1);
}

#[test]
fn settings_that_cannot_be_read_and_never_were_are_unavailable() {
    let api = Api::new();
    api.outside.faults.on_every(Operation::StoredPolicy, Fault::FailBefore);
    assert_eq!(api.put("a", &spec(json!({}))).status, 503);
    assert_eq!(api.get("a").status, 404, "reading needs no settings");
    api.outside.faults.stop();
    assert_eq!(api.put("a", &spec(json!({}))).status, 201);
    api.outside.clock.advance_seconds(60);
    api.outside.faults.on_every(Operation::StoredPolicy, Fault::FailBefore);
    assert_eq!(api.put("b", &spec(json!({}))).status, 201, "the last ones stay in force");
}

#[test]
fn a_read_that_fails_is_unavailable() {
    for fault in [Fault::FailBefore, Fault::Refuse] {
        let api = Api::new();
        api.outside.faults.on_every(Operation::Read, fault);
        for answer in [api.get("a"), api.delete("a")] {
            assert_eq!((answer.status, answer.problem()), (503, "unavailable"));
            assert!(!answer.body.to_string().contains("scripted"), "nothing leaks");
        }
    }
}
