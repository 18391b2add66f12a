//! R22: a channel's template makes what is sent, when the job is accepted.

use serde_json::{Value, json};
use spillway_app::ports::PolicyStore;

use super::api::{Api, fields_of, problem_of, spec};

const POLICY: &str = r#"
[channels.inbox]
kind = "eventbridge"
bus_name = "bus"
template = """
{
  "to": {{ payload.to }},
  "text": {{ "Hello " ~ payload.name }}
}"""
"#;

fn api(policy: &str) -> Api {
    let api = Api::new();
    store(&api, policy, None);
    api
}

fn store(api: &Api, policy: &str, seen: Option<u64>) {
    let storing = api.outside.store.store_policy(policy, seen);
    assert!(api.driver().run(storing).unwrap());
}

fn good(name: &str) -> Value {
    spec(json!({ "payload": { "to": "a@b.example", "name": name } }))
}

fn rendered(api: &Api, id: &str) -> Option<String> {
    let job = api.outside.store.job(id).unwrap();
    job.rendered.map(|payload| payload.as_json().to_owned())
}

#[test]
fn what_is_sent_is_rendered_and_what_is_shown_is_what_was_asked() {
    let api = api(POLICY);
    let answer = api.put("a", &good("Ada"));
    assert_eq!((answer.status, answer.text("status")), (201, "created"));
    assert_eq!(api.get("a").body["payload"], good("Ada")["payload"]);
    let made = r#"{"text":"Hello Ada","to":"a@b.example"}"#;
    assert_eq!(rendered(&api, "a").as_deref(), Some(made));
    let job = api.outside.store.job("a").unwrap();
    assert_eq!(job.payload_to_send().as_json(), made);
}

#[test]
fn the_same_payload_is_unchanged_and_another_is_rendered_anew() {
    let api = api(POLICY);
    api.put("a", &good("Ada"));
    assert_eq!(api.put("a", &good("Ada")).text("status"), "unchanged");
    assert_eq!(api.put("a", &good("Bob")).text("status"), "rescheduled");
    assert_eq!(rendered(&api, "a").unwrap(), r#"{"text":"Hello Bob","to":"a@b.example"}"#);
}

#[test]
fn a_replay_is_unchanged_when_the_template_has_changed_or_no_longer_fits() {
    let api = api(POLICY);
    api.put("a", &good("Ada"));
    let made = rendered(&api, "a");
    store(&api, &POLICY.replace("payload.name", "payload.surname"), Some(1));
    api.driver().run_for_seconds(60);
    assert_eq!(api.put("b", &good("Ada")).problem(), "invalid-fields", "the new one is in force");
    assert_eq!(api.put("a", &good("Ada")).text("status"), "unchanged");
    assert_eq!(rendered(&api, "a"), made);
}

#[test]
fn a_payload_that_does_not_fit_is_the_caller_s_to_mend() {
    let api = api(POLICY);
    let answer = api.put("a", &spec(json!({ "payload": { "to": "a@b.example" } })));
    assert_eq!((answer.status, answer.problem()), (422, "invalid-fields"));
    assert_eq!(fields_of(&answer.body), ["payload"]);
    let detail = answer.body["errors"][0]["detail"].as_str().unwrap();
    assert!(detail.starts_with("does not fit the channel's template, line 3: "), "{detail}");
    assert!(api.outside.store.job("a").is_none());
}

#[test]
fn what_does_not_fit_is_named_with_whatever_else_is_wrong() {
    let api = api(POLICY);
    let body = spec(json!({ "payload": {}, "class": "none", "late_seconds": -1 }));
    let mut fields =
        fields_of(&api.put("a", &body).body).into_iter().map(str::to_owned).collect::<Vec<_>>();
    fields.sort();
    assert_eq!(fields, ["class", "late_seconds", "payload"]);
}

#[test]
fn an_entry_that_does_not_fit_spoils_no_other() {
    let api = api(POLICY);
    let mut entries = [good("Ada"), spec(json!({ "payload": 5 })), good("Bob")];
    for (number, entry) in entries.iter_mut().enumerate() {
        entry["job_id"] = json!(format!("job-{number}"));
    }
    let answer = api.post(&json!({ "jobs": entries }));
    assert_eq!(answer.statuses(), ["created", "rejected", "created"]);
    let error = &answer.results()[1]["error"];
    assert_eq!((problem_of(error), fields_of(error)), ("invalid-fields", vec!["payload"]));
    assert_eq!(rendered(&api, "job-2").unwrap(), r#"{"text":"Hello Bob","to":"a@b.example"}"#);
}

#[test]
fn a_channel_without_a_template_sends_the_payload() {
    let api = api(&POLICY.lines().take(4).collect::<Vec<_>>().join("\n"));
    api.put("a", &good("Ada"));
    assert_eq!(rendered(&api, "a"), None);
}
