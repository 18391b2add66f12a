//! Calls with many jobs: each entry for itself, and nothing acknowledged is lost (R8).

use serde_json::{Value, json};
use spillway_app::ports::{Clock as _, QueueMessage};
use spillway_domain::pack::Pack;
use spillway_domain::precision::Lane;
use spillway_domain::spec::JobSpec;
use spillway_testkit::build::at;
use spillway_testkit::{Dice, Fault, Operation};

use super::api::{Answer, Api, post, problem_of, spec, with_header};

fn jobs(count: usize, changes: &Value) -> Value {
    let entries = (0..count).map(|n| {
        let mut entry = spec(changes.clone());
        entry["job_id"] = json!(format!("job-{n}"));
        entry
    });
    json!({ "jobs": entries.collect::<Vec<_>>() })
}

/// Checks that an answer says of every entry what the store says.
fn assert_true(api: &Api, answer: &Answer) {
    assert_eq!(answer.status, 200);
    for (n, result) in answer.results().iter().enumerate() {
        let id = format!("job-{n}");
        assert_eq!(result["job_id"], json!(id));
        match result["status"].as_str().unwrap() {
            "created" | "unchanged" => {
                assert_eq!(result["job"]["job_id"], json!(id));
                assert!(api.outside.store.job(&id).is_some(), "{id} was acknowledged and is lost");
            }
            "unavailable" => {
                assert_eq!(problem_of(&result["error"]), "unavailable");
                assert!(result.get("job").is_none());
            }
            status => panic!("{status} for {id}"),
        }
    }
}

pub(super) fn packs(api: &Api, lane: Lane) -> Vec<Pack> {
    let sent = api.outside.queue.sent(lane).into_iter();
    sent.map(|sent| match sent.outgoing.message {
        QueueMessage::Release(pack) => pack,
        QueueMessage::Record(record) => panic!("a record: {record:?}"),
    })
    .collect()
}

#[test]
fn five_hundred_jobs_are_created_in_the_order_given_without_their_payloads() {
    let api = Api::new();
    let answer = api.post(&jobs(500, &json!({})));
    assert_true(&api, &answer);
    assert_eq!(answer.statuses(), ["created"; 500]);
    let result = &answer.results()[7];
    assert_eq!(result["job"]["due_at"], "2026-12-01T09:00:00Z");
    assert!(result["job"].get("payload").is_none());
    assert!(result["job"].get("status").is_none());
    assert_eq!(api.outside.store.jobs().len(), 500);
}

#[test]
fn an_entry_without_an_id_gets_one_and_a_bad_one_spoils_nothing() {
    let api = Api::new();
    let entries = json!({ "jobs": [
        spec(json!({})),
        { "job_id": "bad" },
        spec(json!({ "job_id": "named" })),
        spec(json!({})),
    ] });
    let answer = api.post(&entries);
    assert_eq!(answer.statuses(), ["created", "rejected", "created", "created"]);
    let ids: Vec<_> =
        answer.results().iter().map(|result| result["job_id"].as_str().unwrap()).collect();
    assert_eq!((ids[1], ids[2]), ("bad", "named"));
    assert!(ids[0].starts_with("chosen-") && ids[3].starts_with("chosen-") && ids[0] != ids[3]);
    assert_eq!(api.outside.store.jobs().len(), 3);
}

#[test]
fn every_status_can_stand_beside_every_other() {
    let api = Api::new();
    for id in ["same", "other", "finished"] {
        api.put(id, &spec(json!({})));
    }
    api.delete("finished");
    let entries = json!({ "jobs": [
        spec(json!({ "job_id": "new" })),
        spec(json!({ "job_id": "same" })),
        spec(json!({ "job_id": "other", "priority": 9 })),
        spec(json!({ "job_id": "finished", "priority": 9 })),
    ] });
    let answer = api.post(&entries);
    assert_eq!(answer.statuses(), ["created", "unchanged", "rescheduled", "rejected"]);
    let rejected = &answer.results()[3];
    assert_eq!(problem_of(&rejected["error"]), "too-late");
    assert_eq!(rejected["job"]["state"], "cancelled");
    assert!(rejected["error"].get("job").is_none());
}

#[test]
fn what_a_throttled_store_did_not_take_is_unavailable_and_can_be_sent_again() {
    for fault in [Fault::FailBefore, Fault::LoseAnswer, Fault::Refuse] {
        let api = Api::new();
        for number in (3..=500).step_by(3) {
            api.outside.faults.on_call(Operation::Create, number, fault);
        }
        let body = jobs(500, &json!({}));
        let answer = api.post(&body);
        assert_true(&api, &answer);
        let unavailable = answer.statuses().iter().filter(|s| **s == "unavailable").count();
        assert_eq!(unavailable, 166);
        let stored = api.outside.store.jobs().len();
        assert_eq!(stored, if fault == Fault::LoseAnswer { 500 } else { 334 });
        let again = api.post(&body);
        assert_true(&api, &again);
        let created = again.statuses().iter().filter(|s| **s == "created").count();
        assert_eq!(created, 500 - stored);
        assert_eq!(api.outside.store.jobs().len(), 500);
    }
}

#[test]
fn whatever_fails_a_call_that_is_repeated_until_it_is_answered_loses_nothing() {
    for seed in 0..60 {
        println!("seed {seed}");
        // Due soon, so that the queue fails as well.
        let api = Api::at(at("2026-12-01T08:58:00Z"));
        let operations = [Operation::Create, Operation::SendBatch, Operation::SendMessage];
        let faults = [Fault::FailBefore, Fault::LoseAnswer, Fault::Slow(700), Fault::Refuse];
        api.outside.faults.at_random(Dice::from_seed(seed), 200, &operations, &faults);
        let body = jobs(20, &json!({}));
        let mut acknowledged = Vec::new();
        for _ in 0..30 {
            let answer = api.post(&body);
            assert_true(&api, &answer);
            let statuses = answer.statuses();
            let done = (0..20).filter(|n| statuses[*n] != "unavailable");
            acknowledged.extend(done.map(|n| format!("job-{n}")));
            if !statuses.contains(&"unavailable") {
                break;
            }
        }
        let sent: Vec<_> =
            packs(&api, Lane::Exact).into_iter().flat_map(|pack| pack.entries).collect();
        for id in acknowledged {
            let job = api.outside.store.job(&id).unwrap();
            let entry = spillway_testkit::build::entry(&job);
            assert!(sent.contains(&entry), "{id} was acknowledged and never sent");
        }
        assert_eq!(api.outside.store.jobs().len(), 20);
    }
}

#[test]
fn one_failed_message_makes_its_jobs_unavailable_and_no_other() {
    let api = Api::at(at("2026-12-01T08:58:00Z"));
    let mut body = jobs(20, &json!({}));
    for n in 10..20 {
        body["jobs"][n]["requested_at"] = json!("2026-12-01T09:00:01Z");
    }
    // Two seconds, two messages; the second one is refused for good.
    api.outside.faults.on_call(Operation::SendMessage, 2, Fault::Refuse);
    let answer = api.post(&body);
    assert_true(&api, &answer);
    assert_eq!(answer.statuses()[..10], ["created"; 10]);
    assert_eq!(answer.statuses()[10..], ["unavailable"; 10]);
    assert_eq!(api.outside.store.jobs().len(), 20, "the writes stand");
    let again = api.post(&body);
    assert_eq!(again.statuses(), ["unchanged"; 20]);
    let seconds: Vec<_> = packs(&api, Lane::Exact)
        .iter()
        .map(|pack| pack.key.release_at.as_millis() % 60_000)
        .collect();
    assert_eq!(seconds, [0, 0, 1_000]);
}

#[test]
fn five_hundred_jobs_of_one_second_are_five_messages() {
    let api = Api::at(at("2026-12-01T08:58:00Z"));
    assert_eq!(api.post(&jobs(500, &json!({}))).statuses(), ["created"; 500]);
    let packs = packs(&api, Lane::Exact);
    assert_eq!(packs.iter().map(|pack| pack.entries.len()).collect::<Vec<_>>(), [100; 5]);
    assert_eq!(api.outside.faults.call_count(Operation::SendBatch), 1);
}

#[test]
fn exact_and_movable_jobs_of_one_call_go_to_their_own_queues() {
    let api = Api::at(at("2026-12-01T08:58:00Z"));
    let entries = json!({ "jobs": [
        spec(json!({ "job_id": "exact" })),
        spec(json!({ "job_id": "movable", "class": "reminder" })),
    ] });
    assert_eq!(api.post(&entries).statuses(), ["created"; 2]);
    let of = |lane| packs(&api, lane)[0].entries[0].job_id.as_str().to_owned();
    assert_eq!((of(Lane::Exact), of(Lane::Movable)), ("exact".into(), "movable".into()));
}

#[test]
fn a_call_that_takes_too_long_is_answered_with_what_is_known_by_then() {
    let api = Api::new();
    api.outside.faults.on_every(Operation::Create, Fault::Slow(2_500));
    let answer = api.post(&jobs(400, &json!({})));
    assert_true(&api, &answer);
    // Four rounds of 64 end within 12 s; the fifth is given up, and the rest not begun.
    let created = answer.statuses().iter().filter(|status| **status == "created").count();
    assert_eq!((created, api.outside.store.jobs().len()), (256, 256));
    assert_eq!(api.outside.clock.now(), at("2026-12-01T08:00:12Z"));
}

#[test]
fn one_write_that_never_ends_holds_up_no_other() {
    for fault in [Fault::Hang, Fault::HangAfter] {
        let api = Api::new();
        api.outside.faults.on_call(Operation::Create, 1, fault);
        let answer = api.post(&jobs(500, &json!({})));
        assert_true(&api, &answer);
        assert_eq!(answer.statuses()[0], "unavailable");
        assert_eq!(answer.statuses()[1..], ["created"; 499]);
    }
}

#[test]
fn a_bulk_call_under_an_idempotency_key_has_an_id_for_each_position() {
    let api = Api::new();
    let call = |body: &Value| api.call(with_header(post(body), "idempotency-key", "import-7"));
    let body = json!({ "jobs": [
        spec(json!({})),
        spec(json!({})),
        spec(json!({ "job_id": "named" })),
    ] });
    let first = call(&body);
    assert_eq!(first.statuses(), ["created"; 3]);
    let again = call(&body);
    assert_eq!(again.statuses(), ["unchanged"; 3]);
    let ids = |answer: &Answer| {
        answer.results().iter().map(|result| result["job_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&first), ids(&again));
    assert_eq!(api.outside.store.jobs().len(), 3);
    let other = call(&json!({ "jobs": [
        spec(json!({ "priority": 9 })),
        spec(json!({})),
        spec(json!({ "job_id": "named", "priority": 9 })),
    ] }));
    assert_eq!(other.statuses(), ["rejected", "unchanged", "rescheduled"]);
    assert_eq!(problem_of(&other.results()[0]["error"]), "idempotency-key-reused");
}

#[test]
fn every_job_of_a_call_is_stored_as_it_was_asked() {
    let api = Api::new();
    let entries: Vec<_> = (0..50)
        .map(|n| spec(json!({ "job_id": format!("job-{n}"), "late_seconds": n, "payload": n })))
        .collect();
    api.post(&json!({ "jobs": entries }));
    for job in api.outside.store.jobs() {
        let n: u32 = job.id.as_str().strip_prefix("job-").unwrap().parse().unwrap();
        let JobSpec { overrides, payload, .. } = job.spec;
        assert_eq!((overrides.late_seconds, payload.as_json()), (Some(n), n.to_string().as_str()));
    }
}
