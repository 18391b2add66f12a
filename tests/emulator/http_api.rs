//! The HTTP API behind the real gateway: ids, bodies, races.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::stack::{call, call_with, get};

fn in_an_hour() -> Value {
    let at = Timestamp::now() + SignedDuration::from_hours(1);
    json!({ "requested_at": at.to_string(), "channel": "inbox" })
}

fn problem(body: &Value) -> &str {
    body["type"].as_str().unwrap_or_default()
}

#[test]
fn ids_come_through_the_gateway_decoded_once() {
    for (path, id) in [
        ("birthday:42", "birthday:42"),
        ("%C3%BCn%C3%AFc%C3%B6d%C3%A9", "ünïcödé"),
        ("a+b", "a+b"),
        ("%22quoted%22", "\"quoted\""),
        ("a;b=c,d&e@f!$'()*~", "a;b=c,d&e@f!$'()*~"),
    ] {
        let answer = call("PUT", &format!("/v1/jobs/{path}"), Some(&in_an_hour()));
        assert_eq!(answer.status, 201, "{path}: {answer:?}");
        assert_eq!(answer.body["job_id"], id);
        assert_eq!(call("GET", &format!("/v1/jobs/{path}"), None).body["job_id"], id);
        assert_eq!(call("DELETE", &format!("/v1/jobs/{path}"), None).status, 200);
    }
}

#[test]
fn bad_ids_are_told_so() {
    let long = "x".repeat(256);
    for path in ["a%20b", "a%3Fb", "a%23b", "a%25b", "a%2520b", "%00", "%5C", "%E2%80%83", &long] {
        let answer = call("PUT", &format!("/v1/jobs/{path}"), Some(&in_an_hour()));
        assert_eq!(answer.status, 422, "{path}: {answer:?}");
        assert!(problem(&answer.body).ends_with("invalid-job-id"), "{path}: {answer:?}");
    }
}

#[test]
fn a_path_or_a_method_that_does_not_exist_is_a_problem_as_well() {
    assert_eq!(call("GET", "/v1/nothing", None).status, 404);
    assert_eq!(call("PATCH", "/v1/jobs/a", Some(&json!({}))).status, 405);
}

#[test]
fn a_body_over_four_mebibytes_is_too_large_and_one_below_is_read() {
    let fits = format!("{{\"jobs\":[],\"x\":\"{}\"}}", "x".repeat(4 * 1_048_576 - 100));
    let headers = [("content-type", "application/json")];
    assert_eq!(call_with("POST", "/v1/jobs", &headers, Some(fits)).status, 422);
    let too_large = "x".repeat(4 * 1_048_576 + 1);
    let answer = call_with("POST", "/v1/jobs", &headers, Some(too_large));
    assert_eq!(answer.status, 413, "{answer:?}");
}

#[test]
fn a_body_that_the_gateway_hands_over_as_base64_is_read_as_it_was_sent() {
    let headers = [("content-type", "application/octet-stream")];
    let body = Some(in_an_hour().to_string());
    assert_eq!(call_with("PUT", "/v1/jobs/base64", &headers, body).status, 201);
}

#[test]
fn an_idempotency_key_makes_one_job_of_a_repeated_call() {
    let headers = [("content-type", "application/json"), ("idempotency-key", "order-1")];
    let body = Some(in_an_hour().to_string());
    let first = call_with("POST", "/v1/jobs", &headers, body.clone());
    let again = call_with("POST", "/v1/jobs", &headers, body);
    assert_eq!((first.status, again.status), (201, 200), "{first:?} {again:?}");
    assert_eq!(first.body["job_id"], again.body["job_id"]);
}

#[test]
fn ten_writers_of_one_id_are_each_answered_truly() {
    let requested_at = Timestamp::now() + SignedDuration::from_hours(2);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let writers = (0..10).map(|writer| {
            scope.spawn(move || {
                let spec = json!({
                    "requested_at": requested_at.to_string(), "channel": "inbox",
                    "payload": { "writer": writer },
                });
                call("PUT", "/v1/jobs/contested", Some(&spec))
            })
        });
        let writers: Vec<_> = writers.collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let accepted: Vec<_> = answers.iter().filter(|answer| answer.status < 300).collect();
    let created = accepted.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(created, 1, "{answers:?}");
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 201 | 409)), "{answers:?}");
    let lost = answers.iter().filter(|answer| answer.status == 409);
    for answer in lost {
        assert!(problem(&answer.body).ends_with("conflict"), "{answer:?}");
    }
    // One of those who were told that their job is stored wrote what is stored.
    let stored = get("contested")["payload"].clone();
    assert!(accepted.iter().any(|answer| answer.body["payload"] == stored), "{stored}");
}
