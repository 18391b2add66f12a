//! Cancel is final, and says so only when it is (R7).

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::json;
use spillway_app::ports::{Claims as _, Clock as _, Conditional, NextAttempt};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::State;
use spillway_testkit::build::{at, claim_request, entry, shards, token};
use spillway_testkit::{Dice, Fault, Operation};

use super::api::{Answer, Api, event, spec};

#[test]
fn a_waiting_job_is_cancelled_and_stays_so() {
    let api = Api::new();
    api.put("a", &spec(json!({})));
    api.outside.clock.advance_seconds(1);
    let answer = api.delete("a");
    assert_eq!((answer.status, answer.text("state")), (200, "cancelled"));
    assert_eq!(answer.text("finished_at"), "2026-12-01T08:00:01Z");
    assert!(answer.body.get("maybe_sent").is_none());
    let row = api.outside.store.job("a").unwrap();
    assert_eq!((row.bucket, row.claim), (None, None));
    // Kept for a week after its time, not after the cancel: a replayed import finds it.
    assert_eq!(api.outside.store.ttl_at("a"), Some(at("2026-12-08T09:00:00Z")));
    api.outside.clock.advance_seconds(100);
    let again = api.delete("a");
    assert_eq!((again.status, &again.body), (200, &answer.body));
}

#[test]
fn a_claimed_or_finished_job_is_too_late() {
    for state in [State::Claimed, State::Delivered, State::Expired, State::Failed] {
        let api = Api::new();
        api.put("a", &spec(json!({})));
        let mut job = api.outside.store.job("a").unwrap();
        job.state = state;
        api.outside.store.put(job.clone());
        let answer = api.delete("a");
        assert_eq!((answer.status, answer.problem()), (409, "too-late"));
        assert_eq!(answer.body["job"]["state"], state.as_str());
        assert_eq!(api.outside.store.job("a"), Some(job));
    }
}

#[test]
fn a_cancelled_job_never_comes_back() {
    let api = Api::new();
    api.put("a", &spec(json!({})));
    api.delete("a");
    let row = api.outside.store.job("a");
    assert_eq!(api.put("a", &spec(json!({}))).text("state"), "cancelled");
    assert_eq!(api.put("a", &spec(json!({ "priority": 9 }))).problem(), "too-late");
    assert_eq!(api.outside.store.job("a"), row);
}

#[test]
fn a_cancel_that_comes_too_late_while_it_runs_says_so() {
    let api = Api::at(at("2026-12-01T08:59:59Z"));
    api.put("a", &spec(json!({})));
    let job = api.outside.store.job("a").unwrap();
    api.outside.faults.on_next(Operation::Cancel, Fault::Slow(200));
    let answer = beside(&api, {
        let api = api.clone();
        async move {
            let request = claim_request(&job, &token("t"), at("2026-12-01T08:59:59Z"));
            let claimed = api.outside.store.claim(&request).await;
            assert!(matches!(claimed, Ok(Conditional::Done(_))));
        }
    });
    assert_eq!((answer.status, answer.problem()), (409, "too-late"));
    assert_eq!(answer.body["job"]["state"], "claimed");
}

#[test]
fn a_cancel_tells_of_a_send_that_stayed_unanswered_while_it_ran() {
    let now = at("2026-12-01T08:59:59Z");
    let api = Api::at(now);
    api.put("a", &spec(json!({})));
    let job = api.outside.store.job("a").unwrap();
    api.outside.faults.on_next(Operation::Cancel, Fault::Slow(200));
    // Between the look at the row and the cancel, one attempt comes and goes.
    let answer = beside(&api, {
        let api = api.clone();
        async move {
            let request = claim_request(&job, &token("t"), now);
            assert!(matches!(api.outside.store.claim(&request).await, Ok(Conditional::Done(_))));
            let release_at = now.plus_seconds(5);
            let next = NextAttempt {
                release_at,
                bucket: Bucket::of(&job.id, release_at.minute(), shards(8)),
                maybe_sent: true,
                reason: "no answer".into(),
            };
            let retried = api.outside.store.retry(&entry(&job), &token("t"), &next).await;
            assert!(matches!(retried, Ok(Conditional::Done(()))));
        }
    });
    assert_eq!((answer.status, answer.text("state")), (200, "cancelled"));
    assert_eq!(answer.body["maybe_sent"], json!(true));
    assert_eq!(answer.body["attempts"], json!(1));
}

#[test]
fn a_cancel_follows_a_job_that_is_rescheduled_while_it_runs() {
    let api = Api::new();
    api.put("a", &spec(json!({})));
    api.outside.faults.on_next(Operation::Cancel, Fault::Slow(200));
    let answer = beside(&api, {
        let api = api.clone();
        async move {
            let moved = super::api::put("a", &spec(json!({ "priority": 9 })));
            assert_eq!(api.answer(moved).await.text("status"), "rescheduled");
        }
    });
    assert_eq!((answer.status, answer.text("state")), (200, "cancelled"));
    assert_eq!(answer.body["priority"], 9);
}

#[test]
fn a_cancel_whose_answer_was_lost_is_unavailable_and_done() {
    let api = Api::new();
    api.put("a", &spec(json!({})));
    api.outside.faults.on_next(Operation::Cancel, Fault::LoseAnswer);
    let answer = api.delete("a");
    assert_eq!((answer.status, answer.header("retry-after").as_deref()), (503, Some("1")));
    assert_eq!(api.delete("a").text("state"), "cancelled");
}

#[test]
fn a_row_that_never_keeps_still_ends_a_cancel_after_a_bounded_number_of_looks() {
    let api = Api::new();
    api.put("a", &spec(json!({})));
    api.outside.faults.on_every(Operation::Cancel, Fault::Slow(200));
    let answer = beside(&api, {
        let api = api.clone();
        async move {
            for priority in (0..10).cycle().take(30) {
                let moved = super::api::put("a", &spec(json!({ "priority": priority })));
                assert_eq!(api.clone().answer(moved).await.status, 200);
                api.outside.clock.sleep_until(api.outside.clock.now().plus_millis(100)).await;
            }
        }
    });
    assert_eq!((answer.status, answer.problem()), (503, "unavailable"));
    assert_eq!(api.outside.faults.call_count(Operation::Cancel), 5);
    assert_eq!(api.outside.store.job("a").unwrap().state, State::Scheduled);
}

#[test]
fn a_cancel_that_is_never_answered_is_unavailable_within_the_functions_time() {
    for fault in [Fault::Hang, Fault::HangAfter] {
        let api = Api::new();
        api.put("a", &spec(json!({})));
        api.outside.faults.on_next(Operation::Cancel, fault);
        assert_eq!(api.delete("a").problem(), "unavailable");
        assert_eq!(api.outside.clock.now(), at("2026-12-01T08:00:17Z"));
        assert_eq!(api.delete("a").text("state"), "cancelled");
    }
}

#[test]
fn of_racing_cancels_and_claims_each_says_what_happened() {
    let now = at("2026-12-01T08:59:59Z");
    for seed in 0..200 {
        println!("seed {seed}");
        let api = Api::at(now);
        api.put("a", &spec(json!({})));
        let job = api.outside.store.job("a").unwrap();
        let mut dice = Dice::from_seed(seed);
        let waits = [0, 1, 2, 3].map(Fault::Slow);
        let operations = [Operation::Read, Operation::Cancel, Operation::Claim];
        api.outside.faults.at_random(Dice::from_seed(dice.number()), 1_000, &operations, &waits);
        let mut driver = api.driver().shuffled(Dice::from_seed(dice.number()));
        let claimed = Rc::new(RefCell::new(None));
        let answers = Rc::new(RefCell::new(Vec::new()));
        for _ in 0..2 {
            let (api, answers) = (api.clone(), Rc::clone(&answers));
            driver.spawn(async move {
                let answer = api.answer(event("DELETE", "/v1/jobs/{job_id}", Some("a"))).await;
                answers.borrow_mut().push(answer);
            });
        }
        let (store, won) = (api.outside.store.clone(), Rc::clone(&claimed));
        driver.spawn(async move {
            let answer = store.claim(&claim_request(&job, &token("t"), now)).await.unwrap();
            *won.borrow_mut() = Some(matches!(answer, Conditional::Done(_)));
        });
        driver.run_to_rest();
        let is_claimed = claimed.borrow().unwrap();
        let state = api.outside.store.job("a").unwrap().state;
        assert_eq!(state, if is_claimed { State::Claimed } else { State::Cancelled });
        assert_eq!(answers.borrow().len(), 2);
        for answer in answers.borrow().iter() {
            assert_eq!(answer.status, if is_claimed { 409 } else { 200 });
        }
    }
}

/// Cancels job `a`, and 100 ms later begins something else while the cancel is under way.
fn beside(api: &Api, other: impl Future<Output = ()>) -> Answer {
    let answer = Rc::new(RefCell::new(None));
    let mut driver = api.driver();
    let (cancelling, answered) = (api.clone(), Rc::clone(&answer));
    driver.spawn(async move {
        let event = event("DELETE", "/v1/jobs/{job_id}", Some("a"));
        *answered.borrow_mut() = Some(cancelling.answer(event).await);
    });
    let clock = api.outside.clock.clone();
    driver.spawn(async move {
        clock.sleep_until(clock.now().plus_millis(100)).await;
        other.await;
    });
    driver.run_to_rest();
    answer.take().unwrap()
}
