//! What is accepted, and how it is answered and shown.

use serde_json::{Value, json};
use spillway_domain::job::State;
use spillway_testkit::build::{at, job_id};

use super::api::{Api, event, post, put, spec, with_body, with_header};

#[test]
fn a_job_is_answered_with_its_times_and_its_contract_in_utc() {
    let api = Api::new();
    let body = json!({
        "class": "reminder",
        "requested_at": "2026-12-01T10:00:00.0001+01:00",
        "channel": "inbox",
        "late_seconds": 60,
        "priority": 5,
        "expires_after_seconds": 3600,
        "payload": { "user": 42 },
    });
    let answer = api.put("birthday:42:2026", &body);
    assert_eq!((answer.status, answer.content_type.as_str()), (201, "application/json"));
    // The offset of this id in 60 seconds is 39.
    let expected = json!({
        "job_id": "birthday:42:2026",
        "status": "created",
        "state": "scheduled",
        "requested_at": "2026-12-01T09:00:00.001Z",
        "earliest_at": "2026-12-01T09:00:00.001Z",
        "due_at": "2026-12-01T09:00:40Z",
        "latest_at": "2026-12-01T09:01:00Z",
        "release_at": "2026-12-01T09:00:40Z",
        "expires_at": "2026-12-01T10:00:00.001Z",
        "class": "reminder",
        "channel": "inbox",
        "early_seconds": 0,
        "late_seconds": 60,
        "priority": 5,
        "expires_after_seconds": 3600,
        "lateness_budget_seconds": 30,
        "attempts": 0,
        "created_at": "2026-12-01T08:00:00Z",
        "accepted_at": "2026-12-01T08:00:00Z",
        "payload": { "user": 42 },
    });
    assert_eq!(answer.body, expected);
    let mut shown = expected;
    shown.as_object_mut().unwrap().remove("status");
    assert_eq!(api.get("birthday:42:2026").body, shown);
}

#[test]
fn a_job_without_a_class_is_exact() {
    let api = Api::new();
    let answer = api.put("a", &json!({ "requested_at": "2026-12-01T09:00:00Z", "channel": "bus" }));
    assert_eq!(answer.status, 201);
    assert_eq!(answer.body["class"], Value::Null);
    assert_eq!(answer.body["payload"], Value::Null);
    assert_eq!(answer.body["due_at"], answer.body["requested_at"]);
    assert_eq!([&answer.body["early_seconds"], &answer.body["late_seconds"]], [0, 0]);
}

#[test]
fn a_field_that_is_null_is_a_field_that_was_left_out() {
    let api = Api::new();
    let nulls = json!({
        "class": null,
        "early_seconds": null,
        "late_seconds": null,
        "priority": null,
        "expires_after_seconds": null,
        "payload": null,
    });
    assert_eq!(api.put("a", &spec(nulls)).status, 201);
    let bare = json!({ "requested_at": "2026-12-01T09:00:00Z", "channel": "inbox" });
    assert_eq!(api.put("a", &bare).text("status"), "unchanged");
}

#[test]
fn the_bounds_themselves_are_accepted() {
    let cases = [
        json!({ "requested_at": "2026-12-01T07:59:00Z" }),
        json!({ "requested_at": "2028-12-01T08:00:00Z" }),
        json!({ "early_seconds": 86_400, "late_seconds": 86_400 }),
        json!({ "priority": 0 }),
        json!({ "priority": 9 }),
        json!({ "expires_after_seconds": 1 }),
        json!({ "expires_after_seconds": 31_622_400 }),
        json!({ "late_seconds": 59, "expires_after_seconds": 60 }),
        json!({ "requested_at": "2028-02-29T09:00:00z" }),
        json!({ "requested_at": "2026-12-01t09:00:00.123456789-00:00" }),
    ];
    for changes in cases {
        assert_eq!(Api::new().put("a", &spec(changes.clone())).status, 201, "{changes}");
    }
}

#[test]
fn an_id_may_be_whatever_the_gateway_passes_on_as_one() {
    let longest = "ü".repeat(127) + "a";
    for id in
        ["birthday:42", "ünïcødé", "a+b", "a\"b'c<d>", "{a}", "...", "a&b=c;d", "😀", &longest]
    {
        let api = Api::new();
        assert_eq!(api.put(id, &spec(json!({}))).text("job_id"), id);
        assert_eq!(api.get(id).text("job_id"), id);
        assert_eq!(api.delete(id).text("state"), "cancelled");
    }
}

#[test]
fn a_payload_keeps_its_numbers_as_they_were_written() {
    let api = Api::new();
    let body = r#"{"channel":"inbox","requested_at":"2026-12-01T09:00:00Z",
        "payload":{"z":1.0,"a":[1e3,12345678901234567890123,-0],"\u0062":"\u00e9\/"}}"#;
    let answer = api.call(with_body(event("PUT", "/v1/jobs/{job_id}", Some("a")), body));
    assert_eq!(answer.status, 201);
    let stored = api.outside.store.job("a").unwrap().spec.payload;
    let canonical = r#"{"a":[1e3,12345678901234567890123,-0],"b":"é/","z":1.0}"#;
    assert_eq!(stored.as_json(), canonical);
}

#[test]
fn a_payload_is_compared_as_a_value_with_numbers_as_written() {
    let api = Api::new();
    let put = |payload: &str| {
        let body = format!(
            r#"{{"requested_at":"2026-12-01T09:00:00Z","channel":"inbox","payload":{payload}}}"#
        );
        let answer = api.call(with_body(event("PUT", "/v1/jobs/{job_id}", Some("a")), &body));
        answer.text("status").to_owned()
    };
    assert_eq!(put(r#"{"a":1,"b":"é"}"#), "created");
    assert_eq!(put(r#" { "b" : "\u00E9" , "a" : 1 } "#), "unchanged");
    assert_eq!(put(r#"{"a":1.0,"b":"é"}"#), "rescheduled");
    assert_eq!(put(r#"{"a":1.0,"b":"e\u0301"}"#), "rescheduled");
    assert_eq!(put(r#"{"a":10e-1,"b":"e\u0301"}"#), "rescheduled");
}

#[test]
fn a_job_whose_caller_has_no_id_gets_one() {
    let api = Api::new();
    let (first, second) = (api.post(&spec(json!({}))), api.post(&spec(json!({}))));
    assert_eq!((first.status, first.text("status")), (201, "created"));
    assert_ne!(first.text("job_id"), second.text("job_id"));
    assert_eq!(api.get(first.text("job_id")).status, 200);
    assert_eq!(api.outside.store.jobs().len(), 2);
}

#[test]
fn a_body_that_the_gateway_encoded_is_decoded_and_its_content_type_does_not_matter() {
    // {"requested_at":"2026-12-01T09:00:00Z","channel":"inbox"}
    let text = "eyJyZXF1ZXN0ZWRfYXQiOiIyMDI2LTEyLTAxVDA5OjAwOjAwWiIsImNoYW5uZWwiOiJpbmJveCJ9";
    for content_type in ["application/octet-stream", "text/plain", "application/json"] {
        let event = with_body(event("PUT", "/v1/jobs/{job_id}", Some("a")), text);
        let mut event = with_header(event, "content-type", content_type);
        event["isBase64Encoded"] = json!(true);
        assert_eq!(Api::new().call(event).status, 201, "{content_type}");
    }
}

#[test]
fn a_different_spec_reschedules_a_waiting_job() {
    let api = Api::new();
    api.put("a", &spec(json!({})));
    let before = api.outside.store.job("a").unwrap();
    api.outside.clock.advance_seconds(10);
    let later = spec(json!({ "requested_at": "2026-12-01T10:00:00Z" }));
    let answer = api.put("a", &later);
    assert_eq!((answer.status, answer.text("status")), (200, "rescheduled"));
    assert_eq!(answer.text("due_at"), "2026-12-01T10:00:00Z");
    assert_eq!(answer.text("created_at"), "2026-12-01T08:00:00Z");
    assert_eq!(answer.text("accepted_at"), "2026-12-01T08:00:10Z");
    let after = api.outside.store.job("a").unwrap();
    assert!(after.generation > before.generation);
    assert_eq!(after.bucket.unwrap().minute, at("2026-12-01T10:00:00Z").minute());
}

#[test]
fn a_job_that_can_no_longer_be_changed_is_a_conflict_that_shows_it() {
    for state in [State::Claimed, State::Delivered, State::Cancelled, State::Expired, State::Failed]
    {
        let api = Api::new();
        api.put("a", &spec(json!({})));
        let mut job = api.outside.store.job("a").unwrap();
        job.state = state;
        api.outside.store.put(job);
        let answer = api.put("a", &spec(json!({ "priority": 9 })));
        assert_eq!((answer.status, answer.problem()), (409, "too-late"));
        assert_eq!(answer.body["job"]["state"], state.as_str());
        assert_eq!(answer.body["job"]["payload"], json!({ "user": 42 }));
    }
}

#[test]
fn a_job_that_may_have_been_sent_takes_no_other_content() {
    let api = Api::new();
    api.put("a", &spec(json!({})));
    let mut job = api.outside.store.job("a").unwrap();
    job.maybe_sent = true;
    api.outside.store.put(job);
    let answer = api.put("a", &spec(json!({ "payload": 1 })));
    assert_eq!((answer.status, answer.problem()), (409, "maybe-sent"));
    assert_eq!(answer.body["job"]["maybe_sent"], json!(true));
    assert_eq!(api.put("a", &spec(json!({}))).text("status"), "unchanged");
}

#[test]
fn a_delivered_job_shows_when_and_how_late() {
    let api = Api::new();
    api.put("a", &spec(json!({})));
    let mut job = api.outside.store.job("a").unwrap();
    job.state = State::Delivered;
    job.attempts = 2;
    job.reason = Some("busy".into());
    job.sent_at = Some(at("2026-12-01T09:00:00.001Z"));
    job.delivered_at = Some(at("2026-12-01T09:00:00.012Z"));
    job.finished_at = job.delivered_at;
    api.outside.store.put(job);
    let answer = api.get("a");
    assert_eq!(answer.body["lateness_seconds"], json!(0.012));
    assert_eq!(answer.text("sent_at"), "2026-12-01T09:00:00.001Z");
    assert_eq!(answer.text("delivered_at"), "2026-12-01T09:00:00.012Z");
    assert_eq!(answer.text("finished_at"), "2026-12-01T09:00:00.012Z");
    assert_eq!((answer.text("reason"), &answer.body["attempts"]), ("busy", &json!(2)));
}

#[test]
fn an_unknown_id_is_a_404() {
    let api = Api::new();
    for answer in [api.get("nobody"), api.delete("nobody")] {
        assert_eq!((answer.status, answer.problem()), (404, "not-found"));
        assert!(answer.text("detail").contains("nobody"));
    }
}

#[test]
fn an_idempotency_key_stands_for_one_job() {
    let api = Api::new();
    let call = |key: &str, body: &Value| api.call(with_header(post(body), "idempotency-key", key));
    let first = call("order-1", &spec(json!({})));
    assert_eq!((first.status, first.text("status")), (201, "created"));
    let again = call("order-1", &spec(json!({})));
    assert_eq!((again.status, again.text("status")), (200, "unchanged"));
    assert_eq!(again.text("job_id"), first.text("job_id"));
    let other = call("order-1", &spec(json!({ "priority": 9 })));
    assert_eq!((other.status, other.problem()), (422, "idempotency-key-reused"));
    assert_eq!(other.body["job"]["job_id"], first.body["job_id"]);
    assert_eq!(call("order-2", &spec(json!({}))).status, 201);
    assert_eq!(api.outside.store.jobs().len(), 2);
    let id = job_id(first.text("job_id"));
    assert_eq!(id.as_str().len(), "idem-".len() + 32);
    // The id is one like any other: by it, the job can be rescheduled.
    let moved = api.call(put(id.as_str(), &spec(json!({ "priority": 9 }))));
    assert_eq!(moved.text("status"), "rescheduled");
}
