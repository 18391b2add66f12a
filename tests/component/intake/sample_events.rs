//! The sample events: real shapes, each answered by the whole function.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use spillway_testkit::build::at;

use super::api::Api;

/// Each sample event, the status of its answer, and the problem's type when it is one.
const EXPECTED: [(&str, i64, &str); 27] = [
    ("captured-default-unknown-path", 404, "no-such-route"),
    ("captured-default-wrong-method", 405, "method-not-allowed"),
    ("captured-delete", 404, "not-found"),
    ("captured-get", 404, "not-found"),
    ("captured-get-forecast", 404, "no-such-route"),
    ("captured-post-bulk", 200, ""),
    ("captured-post-idempotency-key", 201, ""),
    ("captured-put", 201, ""),
    ("captured-put-body-base64", 201, ""),
    ("captured-put-body-not-utf8-base64", 400, "body-not-utf-8"),
    ("captured-put-body-not-utf8-json-type", 422, "invalid-fields"),
    ("captured-put-id-control", 422, "invalid-job-id"),
    ("captured-put-id-dots", 422, "invalid-job-id"),
    ("captured-put-id-not-utf8", 422, "invalid-job-id"),
    ("captured-put-id-percent", 422, "invalid-job-id"),
    ("captured-put-id-percent-encoded-twice", 422, "invalid-job-id"),
    ("captured-put-id-question-mark", 422, "invalid-job-id"),
    ("captured-put-id-slash-encoded", 404, "no-such-route"),
    ("captured-put-id-space", 422, "invalid-job-id"),
    ("captured-put-id-unicode", 201, ""),
    ("captured-put-no-body", 400, "body-not-json"),
    ("generated-default-route", 404, "no-such-route"),
    ("generated-delete-job", 404, "not-found"),
    ("generated-get-job", 404, "not-found"),
    ("generated-post-bulk", 200, ""),
    ("generated-post-job", 201, ""),
    ("generated-put-job", 201, ""),
];

fn events() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../functions/intake/events");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
        })
        .collect()
}

fn api() -> Api {
    Api::at(at("2026-11-30T17:23:10Z"))
}

#[test]
fn each_sample_event_is_answered_as_it_should_be() {
    let answers = events().into_iter().map(|(name, event)| {
        let answer = api().call(event);
        let problem = if answer.body.get("type").is_some() { answer.problem() } else { "" };
        (name, answer.status, problem.to_owned())
    });
    let expected =
        EXPECTED.map(|(name, status, problem)| (name.to_owned(), status, problem.to_owned()));
    assert_eq!(answers.collect::<Vec<_>>(), expected);
}

#[test]
fn the_generated_events_tell_one_story() {
    let (api, events) = (api(), events());
    let call = |name: &str| api.call(events[name].clone());
    assert_eq!(call("generated-put-job").text("job_id"), "birthday:42");
    assert_eq!(call("generated-put-job").text("status"), "unchanged");
    assert_eq!(call("generated-get-job").text("requested_at"), "2026-12-01T08:00:00Z");
    assert_eq!(call("generated-post-bulk").statuses(), ["unchanged", "created", "rejected"]);
    let first = call("generated-post-job");
    assert_eq!(first.text("job_id"), call("generated-post-job").text("job_id"));
    assert_eq!(call("generated-delete-job").text("state"), "cancelled");
    assert_eq!(call("generated-get-job").text("state"), "cancelled");
}
