//! Whatever a caller can get wrong: its status, its problem's type, and every field at fault.

use serde_json::{Value, json};

use super::api::{
    Answer, Api, event, fields_of, post, problem_of, put, spec, with_body, with_header,
};

const PUT: (&str, &str) = ("PUT", "/v1/jobs/{job_id}");

/// Checks that an answer is this problem, about these fields, and that nothing was stored.
#[track_caller]
fn assert_problem(what: &str, api: &Api, answer: &Answer, expected: (i64, &str, &[&str])) {
    let (status, problem, fields) = expected;
    assert_eq!((answer.status, answer.problem()), (status, problem), "{what}: {}", answer.body);
    assert_eq!(answer.content_type, "application/problem+json", "{what}");
    assert_eq!(answer.body["status"], json!(status), "{what}");
    assert!(!answer.text("title").is_empty() && !answer.text("detail").is_empty(), "{what}");
    assert_eq!(fields_of(&answer.body), fields, "{what}: {}", answer.body);
    assert_eq!(api.outside.store.jobs(), [], "{what}");
}

fn deep(depth: usize) -> Value {
    (0..depth).fold(json!(1), |value, _| json!([value]))
}

/// Checks that a job with these changes is refused, under its caller's id and under a chosen one.
#[track_caller]
fn assert_invalid(what: &str, changes: &Value, fields: &[&str]) {
    for call in [put("a", &spec(changes.clone())), post(&spec(changes.clone()))] {
        let api = Api::new();
        assert_problem(what, &api, &api.call(call), (422, "invalid-fields", fields));
    }
}

#[test]
fn an_instant_that_is_none_or_out_of_bounds_is_refused() {
    let at = |requested_at: &str| json!({ "requested_at": requested_at });
    let cases = [
        ("no requested_at", json!({ "requested_at": null })),
        ("a number for an instant", json!({ "requested_at": 1_796_112_000 })),
        ("a list for an instant", json!({ "requested_at": ["2026-12-01T09:00:00Z"] })),
        ("an empty instant", at("")),
        ("a date alone", at("2026-12-01")),
        ("no offset", at("2026-12-01T09:00:00")),
        ("no seconds", at("2026-12-01T09:00Z")),
        ("a blank for the T", at("2026-12-01 09:00:00Z")),
        ("a zone's name", at("2026-12-01T09:00:00[Europe/Berlin]")),
        ("an offset without a colon", at("2026-12-01T09:00:00+0100")),
        ("an offset of a day", at("2026-12-01T09:00:00+24:00")),
        ("an offset of 60 minutes", at("2026-12-01T09:00:00+01:60")),
        ("a leap second", at("2026-12-31T23:59:60Z")),
        ("a leap second with a fraction", at("2026-12-31T23:59:60.5Z")),
        ("hour 24", at("2026-12-01T24:00:00Z")),
        ("February 30th", at("2027-02-30T09:00:00Z")),
        ("February 29th of no leap year", at("2027-02-29T09:00:00Z")),
        ("month 13", at("2026-13-01T09:00:00Z")),
        ("ten digits of a fraction", at("2026-12-01T09:00:00.0000000001Z")),
        ("61 s in the past", at("2026-12-01T07:58:59Z")),
        ("60.001 s in the past", at("2026-12-01T07:58:59.999Z")),
        ("the epoch", at("1970-01-01T00:00:00Z")),
        ("the year 0", at("0000-01-01T00:00:00Z")),
        ("more than two years ahead", at("2028-12-01T08:00:00.001Z")),
        ("the last second that can be written", at("9999-12-31T23:59:59.999999999-23:59")),
        ("a year of five digits", at("12026-12-01T09:00:00Z")),
    ];
    for (what, changes) in cases {
        assert_invalid(what, &changes, &["requested_at"]);
    }
}

#[test]
fn each_field_of_a_job_that_is_not_as_it_must_be_is_named() {
    let cases = [
        ("no channel", json!({ "channel": null }), &["channel"][..]),
        ("a channel that is not there", json!({ "channel": "pigeon" }), &["channel"]),
        ("an address for a channel", json!({ "channel": "https://example.com/" }), &["channel"]),
        ("a number for a channel", json!({ "channel": 7 }), &["channel"]),
        ("an empty channel", json!({ "channel": "" }), &["channel"]),
        ("a class that is not there", json!({ "class": "opt" }), &["class"]),
        ("a class with a capital", json!({ "class": "OTP" }), &["class"]),
        ("a boolean for a class", json!({ "class": true }), &["class"]),
        ("early below 0", json!({ "early_seconds": -1 }), &["early_seconds"]),
        ("early above a day", json!({ "early_seconds": 86_401 }), &["early_seconds"]),
        ("late above a day", json!({ "late_seconds": 86_401 }), &["late_seconds"]),
        ("late with a fraction", json!({ "late_seconds": 1.5 }), &["late_seconds"]),
        ("late as a string", json!({ "late_seconds": "30" }), &["late_seconds"]),
        ("late beyond 64 bits", json!({ "late_seconds": 1e300 }), &["late_seconds"]),
        ("priority 10", json!({ "priority": 10 }), &["priority"]),
        ("priority 256, 0 as a byte", json!({ "priority": 256 }), &["priority"]),
        ("priority -0", json!({ "priority": -0.0 }), &["priority"]),
        ("an expiry of 0", json!({ "expires_after_seconds": 0 }), &["expires_after_seconds"]),
        (
            "an expiry inside the window",
            json!({ "late_seconds": 60, "expires_after_seconds": 60 }),
            &["expires_after_seconds"],
        ),
        (
            "an expiry inside the class's window",
            json!({ "class": "sync", "expires_after_seconds": 1_800 }),
            &["expires_after_seconds"],
        ),
        (
            "a window beyond the class's expiry",
            json!({ "class": "otp", "late_seconds": 60 }),
            &["expires_after_seconds"],
        ),
        (
            "an expiry of more than 366 days",
            json!({ "expires_after_seconds": 31_622_401 }),
            &["expires_after_seconds"],
        ),
        ("a payload nested 65 deep", json!({ "payload": deep(65) }), &["payload"]),
        ("an unknown field", json!({ "lates_seconds": 30 }), &["lates_seconds"]),
        ("a field of the answer", json!({ "due_at": "2026-12-01T09:00:00Z" }), &["due_at"]),
        ("a job_id in the body", json!({ "job_id": "a" }), &["job_id"]),
        (
            "a budget, which is the class's",
            json!({ "lateness_budget_seconds": 1 }),
            &["lateness_budget_seconds"],
        ),
    ];
    for (what, changes, fields) in cases {
        assert_invalid(what, &changes, fields);
    }
}

#[test]
fn every_field_at_fault_is_named_at_once_also_by_the_policy_and_the_clock() {
    let api = Api::new();
    let body = json!({
        "requested_at": "2036-12-01T09:00:00Z",
        "channel": "pigeon",
        "class": "opt",
        "early_seconds": -1,
        "late_seconds": 100,
        "priority": "high",
        "expires_after_seconds": 100,
        "payload": deep(65),
        "colour": "red",
    });
    let answer = api.put("a", &body);
    let fields = [
        "early_seconds",
        "payload",
        "priority",
        "colour",
        "channel",
        "class",
        "expires_after_seconds",
        "requested_at",
    ];
    assert_problem("everything", &api, &answer, (422, "invalid-fields", &fields));
}

#[test]
fn numbers_are_whole_and_in_digits() {
    for number in ["1e1", "1E1", "10.0", "-0", "0.0", "1e400", "123456789012345678901234567890"] {
        let api = Api::new();
        let body = format!(
            r#"{{"requested_at":"2026-12-01T09:00:00Z","channel":"inbox","late_seconds":{number}}}"#
        );
        let answer = api.call(with_body(event(PUT.0, PUT.1, Some("a")), &body));
        assert_problem(number, &api, &answer, (422, "invalid-fields", &["late_seconds"]));
    }
}

#[test]
fn a_field_given_twice_is_refused_whatever_its_values() {
    let cases = [
        (r#""channel":"inbox""#, "channel"),
        (r#""\u0063hannel":"bus""#, "channel"),
        (r#""requested_at":"2026-12-01T09:00:00Z""#, "requested_at"),
        (r#""payload":{"a":1,"a":1}"#, "payload"),
        (r#""payload":[{"a":{"b":1,"\u0062":2}}]"#, "payload"),
    ];
    for (more, field) in cases {
        let api = Api::new();
        let body = format!(r#"{{"requested_at":"2026-12-01T09:00:00Z","channel":"inbox",{more}}}"#);
        let answer = api.call(with_body(event(PUT.0, PUT.1, Some("a")), &body));
        assert_problem(more, &api, &answer, (422, "invalid-fields", &[field]));
    }
}

#[test]
fn text_that_is_not_unicode_is_refused() {
    let cases = [
        (r#""payload":"\ud800""#, "payload"),
        (r#""payload":{"\udfff":1}"#, "payload"),
        (r#""class":"\ud800""#, "class"),
    ];
    for (more, field) in cases {
        let api = Api::new();
        let body = format!(r#"{{"requested_at":"2026-12-01T09:00:00Z","channel":"inbox",{more}}}"#);
        let answer = api.call(with_body(event(PUT.0, PUT.1, Some("a")), &body));
        assert_problem(more, &api, &answer, (422, "invalid-fields", &[field]));
    }
}

#[test]
fn an_id_that_cannot_be_one_is_refused_by_every_call() {
    let long = "a".repeat(256);
    let long_in_bytes = "ü".repeat(128);
    let ids = [
        ("empty", ""),
        ("a space", "a b"),
        ("a space at the end", "a "),
        ("a tab", "a\tb"),
        ("a line break", "a\n"),
        ("a null", "\0"),
        ("a delete", "a\u{7f}"),
        ("a control of the upper half", "a\u{85}"),
        ("a space of another script", "a\u{3000}b"),
        ("a space that does not break", "a\u{a0}b"),
        ("a slash", "a/b"),
        ("a question mark", "a?b"),
        ("a hash", "a#b"),
        ("a percent sign", "100%"),
        ("an escape that the gateway left", "a%2520b"),
        ("a backslash", "a\\b"),
        ("a dot", "."),
        ("two dots", ".."),
        ("what was not UTF-8", "a\u{fffd}"),
        ("256 bytes", &long),
        ("256 bytes of 128 characters", &long_in_bytes),
    ];
    for (what, id) in ids {
        let api = Api::new();
        let expected = (422, "invalid-job-id", &["job_id"][..]);
        assert_problem(what, &api, &api.put(id, &spec(json!({}))), expected);
        assert_problem(what, &api, &api.get(id), expected);
        assert_problem(what, &api, &api.delete(id), expected);
    }
}

#[test]
fn a_body_that_cannot_be_read_is_refused() {
    let cases = [
        ("nothing", None, false, (400, "body-not-json")),
        ("no text", Some(""), false, (400, "body-not-json")),
        ("blanks", Some("  \n"), false, (400, "body-not-json")),
        ("a word", Some("hello"), false, (400, "body-not-json")),
        ("half an object", Some(r#"{"channel":"inbox""#), false, (400, "body-not-json")),
        ("a comma too many", Some(r#"{"channel":"inbox",}"#), false, (400, "body-not-json")),
        ("single quotes", Some("{'channel':'inbox'}"), false, (400, "body-not-json")),
        ("two values", Some("{} {}"), false, (400, "body-not-json")),
        ("NaN", Some(r#"{"late_seconds":NaN}"#), false, (400, "body-not-json")),
        ("a leading zero", Some(r#"{"late_seconds":030}"#), false, (400, "body-not-json")),
        ("a byte order mark", Some("\u{feff}{}"), false, (400, "body-not-json")),
        ("a control in a string", Some("{\"channel\":\"a\nb\"}"), false, (400, "body-not-json")),
        ("a name that is not Unicode", Some(r#"{"\ud800":1}"#), false, (400, "body-not-json")),
        ("a list", Some("[]"), false, (422, "not-an-object")),
        ("a string", Some(r#""a""#), false, (422, "not-an-object")),
        ("a number", Some("7"), false, (422, "not-an-object")),
        ("null", Some("null"), false, (422, "not-an-object")),
        (
            "100,000 lists in each other, left open",
            Some(&"[".repeat(100_000)),
            false,
            (400, "body-not-json"),
        ),
        (
            "base64 of bytes that are not UTF-8",
            Some("eyJhIjoi//4ifQ=="),
            true,
            (400, "body-not-utf-8"),
        ),
        ("base64 of a word", Some("aGVsbG8="), true, (400, "body-not-json")),
        ("base64 of a list", Some("W10="), true, (422, "not-an-object")),
    ];
    for (what, body, is_base64, (status, problem)) in cases {
        for (method, route, id) in [(PUT.0, PUT.1, Some("a")), ("POST", "/v1/jobs", None)] {
            let mut event = event(method, route, id);
            if let Some(body) = body {
                event = with_body(event, body);
            }
            event["isBase64Encoded"] = json!(is_base64);
            let api = Api::new();
            assert_problem(what, &api, &api.call(event), (status, problem, &[]));
        }
    }
}

#[test]
fn a_payload_of_64_kib_is_taken_and_one_byte_more_is_not() {
    let payload = |bytes: usize| json!({ "payload": "x".repeat(bytes - 2) });
    let api = Api::new();
    let answer = api.put("a", &spec(payload(65_537)));
    assert_problem("65,537 bytes", &api, &answer, (413, "payload-too-large", &["payload"]));
    assert_eq!(api.put("a", &spec(payload(65_536))).status, 201);
}

#[test]
fn a_payload_is_measured_without_the_blanks_around_its_values() {
    let api = Api::new();
    let body = format!(
        r#"{{"requested_at":"2026-12-01T09:00:00Z","channel":"inbox","payload":[{}1]}}"#,
        " ".repeat(70_000)
    );
    let answer = api.call(with_body(event(PUT.0, PUT.1, Some("a")), &body));
    assert_eq!((answer.status, &answer.body["payload"]), (201, &json!([1])));
}

#[test]
fn a_body_of_4_mib_is_read_and_one_byte_more_is_not() {
    let body = |bytes: usize| {
        let body = spec(json!({})).to_string();
        format!("{body}{}", " ".repeat(bytes - body.len()))
    };
    let api = Api::new();
    for (method, route, id) in [(PUT.0, PUT.1, Some("a")), ("POST", "/v1/jobs", None)] {
        let answer = api.call(with_body(event(method, route, id), &body(4_194_305)));
        assert_problem("4 MiB + 1", &api, &answer, (413, "request-too-large", &[]));
    }
    let answer = api.call(with_body(event(PUT.0, PUT.1, Some("a")), &body(4_194_304)));
    assert_eq!(answer.status, 201);
}

#[test]
fn a_bulk_call_that_is_none_is_refused_as_a_whole() {
    let job = spec(json!({}));
    let jobs = |count: usize| Value::from(vec![job.clone(); count]);
    let cases = [
        ("no jobs", json!({ "jobs": [] }), "bulk-size", &[][..]),
        ("501 jobs", json!({ "jobs": jobs(501) }), "bulk-size", &[]),
        ("an object of jobs", json!({ "jobs": { "a": job } }), "invalid-fields", &["jobs"]),
        ("null for jobs", json!({ "jobs": null }), "invalid-fields", &["jobs"]),
        ("a string for jobs", json!({ "jobs": "a" }), "invalid-fields", &["jobs"]),
        (
            "a job and jobs",
            spec(json!({ "jobs": jobs(1) })),
            "invalid-fields",
            &["channel", "payload", "requested_at"],
        ),
        (
            "an unknown field",
            json!({ "jobs": jobs(1), "dry_run": true }),
            "invalid-fields",
            &["dry_run"],
        ),
    ];
    for (what, body, problem, fields) in cases {
        let api = Api::new();
        assert_problem(what, &api, &api.post(&body), (422, problem, fields));
    }
    let api = Api::new();
    let twice = with_body(event("POST", "/v1/jobs", None), r#"{"jobs":[{}],"jobs":[{}]}"#);
    assert_problem("jobs twice", &api, &api.call(twice), (422, "invalid-fields", &["jobs"]));
}

#[test]
fn a_bad_entry_is_rejected_with_its_problem_and_its_id_as_it_was_given() {
    let entries = [
        (json!(7), json!(null), "not-an-object", &[][..]),
        (json!([]), json!(null), "not-an-object", &[]),
        (json!({}), json!(null), "invalid-fields", &["requested_at", "channel"]),
        (spec(json!({ "job_id": "a b" })), json!("a b"), "invalid-job-id", &["job_id"]),
        (spec(json!({ "job_id": "" })), json!(""), "invalid-job-id", &["job_id"]),
        (spec(json!({ "job_id": 7 })), json!(null), "invalid-job-id", &["job_id"]),
        (
            spec(json!({ "job_id": "b/c", "priority": 10 })),
            json!("b/c"),
            "invalid-job-id",
            &["job_id", "priority"],
        ),
        (spec(json!({ "job_id": "c", "class": "opt" })), json!("c"), "invalid-fields", &["class"]),
        (spec(json!({ "job_id": "d", "jobs": [] })), json!("d"), "invalid-fields", &["jobs"]),
        (
            spec(json!({ "job_id": "e", "requested_at": "2020-01-01T00:00:00Z" })),
            json!("e"),
            "invalid-fields",
            &["requested_at"],
        ),
        (
            spec(json!({ "job_id": "f", "payload": "x".repeat(65_535) })),
            json!("f"),
            "payload-too-large",
            &["payload"],
        ),
    ];
    let api = Api::new();
    let jobs: Vec<_> = entries.iter().map(|(entry, ..)| entry.clone()).collect();
    let answer = api.post(&json!({ "jobs": jobs }));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.results().len(), entries.len());
    for (result, (entry, job_id, problem, fields)) in answer.results().iter().zip(&entries) {
        assert_eq!(result["status"], "rejected", "{entry}");
        assert_eq!(&result["job_id"], job_id, "{entry}");
        assert_eq!(problem_of(&result["error"]), *problem, "{entry}");
        assert_eq!(fields_of(&result["error"]), *fields, "{entry}");
        assert!(result.get("job").is_none());
    }
    assert_eq!(api.outside.store.jobs(), []);
}

#[test]
fn the_second_of_two_equal_ids_in_one_call_is_rejected() {
    let api = Api::new();
    let entry = |id: &str, priority: u8| spec(json!({ "job_id": id, "priority": priority }));
    let jobs = [entry("a", 1), entry("b", 1), entry("a", 1), entry("a", 2)];
    let answer = api.post(&json!({ "jobs": jobs }));
    assert_eq!(answer.statuses(), ["created", "created", "rejected", "rejected"]);
    for result in &answer.results()[2..] {
        assert_eq!(
            (problem_of(&result["error"]), &result["error"]["status"]),
            ("duplicate-job-id", &json!(422))
        );
        assert_eq!(result["job_id"], "a");
    }
    assert_eq!(api.outside.store.job("a").unwrap().contract.priority, 1);
}

#[test]
fn an_idempotency_key_is_1_to_255_visible_ascii_characters() {
    let long = "k".repeat(256);
    for key in ["", "a b", " ", "a\tb", "ключ", &long] {
        let api = Api::new();
        let answer = api.call(with_header(post(&spec(json!({}))), "idempotency-key", key));
        assert_problem(key, &api, &answer, (400, "invalid-idempotency-key", &[]));
    }
    let api = Api::new();
    let answer = api.call(with_header(post(&spec(json!({}))), "idempotency-key", &"~".repeat(255)));
    assert_eq!(answer.status, 201);
}

#[test]
fn whatever_the_gateway_has_no_route_for_is_a_404_or_a_405() {
    let unrouted = |method: &str, path: &str| {
        let mut event = event(method, path, None);
        event["routeKey"] = json!("$default");
        event
    };
    let cases = [
        ("GET", "/", 404, "no-such-route", None),
        ("GET", "/v1", 404, "no-such-route", None),
        ("GET", "/v1/jobs/", 404, "no-such-route", None),
        ("PUT", "/v1/jobs/a/b", 404, "no-such-route", None),
        ("GET", "/v2/jobs/a", 404, "no-such-route", None),
        ("GET", "/v1/jobsa", 404, "no-such-route", None),
        ("GET", "", 404, "no-such-route", None),
        ("GET", "/v1/jobs/a", 404, "no-such-route", None),
        ("GET", "/v1/jobs", 405, "method-not-allowed", Some("POST")),
        ("PUT", "/v1/jobs", 405, "method-not-allowed", Some("POST")),
        ("PATCH", "/v1/jobs/a", 405, "method-not-allowed", Some("DELETE, GET, PUT")),
        ("POST", "/v1/jobs/a", 405, "method-not-allowed", Some("DELETE, GET, PUT")),
        ("OPTIONS", "/v1/jobs/a b", 405, "method-not-allowed", Some("DELETE, GET, PUT")),
        ("BREW", "/v1/jobs/..", 405, "method-not-allowed", Some("DELETE, GET, PUT")),
    ];
    for (method, path, status, problem, allow) in cases {
        let api = Api::new();
        let answer = api.call(unrouted(method, path));
        let what = format!("{method} {path}");
        assert_problem(&what, &api, &answer, (status, problem, &[]));
        assert_eq!(answer.header("allow").as_deref(), allow, "{what}");
    }
    // Only the body is left out of an answer to HEAD.
    let answer = Api::new().call(unrouted("HEAD", "/v1/jobs/a"));
    assert_eq!((answer.status, &answer.body), (405, &Value::Null));
}

#[test]
fn a_query_a_host_or_a_header_that_is_no_text_of_a_uri_is_no_fault() {
    for (field, value) in [
        ("rawQueryString", json!("a=<b>&c=\"d\" e")),
        ("headers", json!({ "host": "a b", "x-forwarded-proto": "", "x-name": "ü" })),
        ("rawPath", json!("")),
        ("rawPath", json!("no slash")),
        ("pathParameters", json!({ "job_id": "a", "other": "b" })),
    ] {
        let mut event = put("a", &spec(json!({})));
        event[field] = value.clone();
        assert_eq!(Api::new().call(event).status, 201, "{field}: {value}");
    }
}

#[test]
fn an_answer_names_32_problems_at_most_and_shortens_long_names() {
    let api = Api::new();
    let unknown: serde_json::Map<String, Value> =
        (0..1_000).map(|n| (format!("{}{n}", "x".repeat(300)), json!(n))).collect();
    let answer = api.put("a", &spec(Value::Object(unknown)));
    let fields = fields_of(&answer.body);
    assert_eq!((answer.status, fields.len()), (422, 32));
    assert!(fields.iter().all(|field| field.chars().count() == 65 && field.ends_with('…')));
}
