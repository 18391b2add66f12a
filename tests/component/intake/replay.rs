//! The same call again: nothing changes, and nothing comes back to life (R6).

use serde_json::json;
use spillway_app::ports::PolicyStore as _;
use spillway_domain::job::{Job, State};
use spillway_domain::precision::Lane;
use spillway_testkit::build::at;

use super::api::{Api, fields_of, post, put, spec, with_header};

/// Puts a job into a state at a time long after its own, and forgets what was sent.
fn later(api: &Api, state: State) -> Job {
    let mut job = api.outside.store.job("a").unwrap();
    job.state = state;
    if state.is_finished() {
        job.bucket = None;
        job.finished_at = Some(at("2026-12-01T09:00:01Z"));
    }
    api.outside.store.put(job.clone());
    api.outside.clock.move_to(at("2026-12-03T00:00:00Z"));
    job
}

fn sent_count(api: &Api) -> usize {
    api.outside.queue.sent(Lane::Exact).len() + api.outside.queue.sent(Lane::Movable).len()
}

#[test]
fn a_replay_is_unchanged_in_every_state_and_long_after_its_time() {
    for state in State::ALL {
        let api = Api::new();
        api.put("a", &spec(json!({ "class": "otp" })));
        let before = later(&api, state);
        let answer = api.put("a", &spec(json!({ "class": "otp" })));
        assert_eq!((answer.status, answer.text("status")), (200, "unchanged"), "{state:?}");
        assert_eq!(answer.text("state"), state.as_str());
        assert_eq!(api.outside.store.job("a"), Some(before));
        // Only what still waits is sent again; the claim drops it when it is expired or doubled.
        assert_eq!(sent_count(&api), usize::from(state == State::Scheduled), "{state:?}");
    }
}

#[test]
fn a_replayed_import_changes_and_sends_nothing_once_its_jobs_are_finished() {
    let finished = [State::Delivered, State::Cancelled, State::Expired, State::Failed];
    for state in finished {
        let api = Api::new();
        let import = json!({ "jobs": [spec(json!({ "job_id": "a" }))] });
        assert_eq!(api.post(&import).statuses(), ["created"]);
        let before = later(&api, state);
        assert_eq!(api.post(&import).statuses(), ["unchanged"]);
        assert_eq!(api.outside.store.job("a"), Some(before));
        assert_eq!(sent_count(&api), 0);
    }
}

#[test]
fn a_replay_under_an_idempotency_key_is_unchanged_too() {
    let api = Api::new();
    let call = || api.call(with_header(post(&spec(json!({}))), "idempotency-key", "k"));
    let id = call().text("job_id").to_owned();
    api.delete(&id);
    api.outside.clock.move_to(at("2027-06-01T00:00:00Z"));
    let again = call();
    assert_eq!((again.status, again.text("state")), (200, "cancelled"));
}

#[test]
fn a_different_spec_whose_time_has_passed_is_refused_and_changes_nothing() {
    let api = Api::new();
    api.put("a", &spec(json!({})));
    let before = later(&api, State::Scheduled);
    let answer = api.put("a", &spec(json!({ "priority": 9 })));
    assert_eq!((answer.status, answer.problem()), (422, "invalid-fields"));
    assert_eq!(api.outside.store.job("a"), Some(before));
    // Of a finished job that is not the news.
    later(&api, State::Delivered);
    let answer = api.put("a", &spec(json!({ "priority": 9 })));
    assert_eq!((answer.status, answer.problem()), (409, "too-late"));
}

#[test]
fn a_replay_is_unchanged_after_its_class_has_changed_and_after_it_is_gone() {
    let api = Api::new();
    let reminder = spec(json!({ "class": "reminder" }));
    api.put("a", &reminder);
    let before = api.outside.store.job("a");
    let channels = "channels.other = { kind = \"eventbridge\", bus_name = \"b\" }\n";
    let policies = [
        format!(
            "{channels}channels.inbox = {{ kind = \"eventbridge\", bus_name = \"b\" }}\n\
             [classes.reminder]\nearly_seconds = 0\nlate_seconds = 900\npriority = 9\n\
             lateness_budget_seconds = 9\n"
        ),
        channels.to_owned(),
    ];
    for (version, text) in policies.iter().enumerate() {
        let seen = u64::try_from(version).ok().filter(|version| *version > 0);
        assert!(api.driver().run(api.outside.store.store_policy(text, seen)).unwrap());
        api.outside.clock.advance_seconds(60);
        let answer = api.call(put("a", &reminder));
        assert_eq!((answer.status, answer.text("status")), (200, "unchanged"), "{text}");
        assert_eq!(api.outside.store.job("a"), before);
    }
    // The policy is the new one: it knows neither the class nor the channel.
    let answer = api.put("b", &reminder);
    assert_eq!((answer.status, fields_of(&answer.body)), (422, vec!["channel", "class"]));
}

#[test]
fn a_new_policy_is_in_force_within_a_minute_for_what_is_created() {
    let api = Api::new();
    let text = "channels.inbox = { kind = \"eventbridge\", bus_name = \"b\" }\n\
                [classes.reminder]\nearly_seconds = 5\nlate_seconds = 900\npriority = 9\n\
                lateness_budget_seconds = 9\n";
    assert_eq!(api.put("a", &spec(json!({ "class": "reminder" }))).body["late_seconds"], 30);
    assert!(api.driver().run(api.outside.store.store_policy(text, None)).unwrap());
    api.outside.clock.advance_seconds(60);
    assert_eq!(api.put("b", &spec(json!({ "class": "reminder" }))).body["late_seconds"], 900);
}

#[test]
fn the_same_call_twice_keeps_jitter_due_time_and_generation() {
    let api = Api::new();
    let body = spec(json!({ "class": "digest" }));
    let first = api.put("a", &body);
    let stored = api.outside.store.job("a");
    api.outside.clock.advance_seconds(1_234);
    let second = api.put("a", &body);
    assert_eq!(first.body["due_at"], second.body["due_at"]);
    assert_eq!(api.outside.store.job("a"), stored);
}
