//! Jobs through the deployed stack, from the HTTP call to their channel.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::stack::{
    arrivals_of, assert_each_arrives_once, call, get, instant, put, ticks, wait_until,
};

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

fn exact_at(at: Timestamp) -> Value {
    json!({ "requested_at": at.to_string(), "channel": "inbox", "payload": { "n": 1 } })
}

/// The first instant of the minute that begins at `at` or after it.
fn next_minute(at: Timestamp) -> Timestamp {
    let second = at.as_second();
    Timestamp::from_second(second + (60 - second.rem_euclid(60)) % 60).unwrap()
}

#[test]
fn jobs_of_all_classes_and_both_channels_arrive_once_and_none_is_early() {
    let requested_at = Timestamp::now() + seconds(45);
    let classes = [
        json!(null),
        json!("otp"),
        json!("alert"),
        json!("deadline"),
        json!("reminder"),
        json!("birthday"),
        json!("transactional"),
    ];
    let jobs: Vec<_> = (0..350)
        .map(|number| {
            let class = &classes[number % classes.len()];
            let channel = if number % 3 == 0 { "bus" } else { "inbox" };
            json!({
                "job_id": format!("mixed-{number}"), "requested_at": requested_at.to_string(),
                "channel": channel, "class": class, "payload": { "number": number },
            })
        })
        .collect();
    let answer = call("POST", "/v1/jobs", Some(&json!({ "jobs": jobs })));
    assert_eq!(answer.status, 200, "{answer:?}");
    let results = answer.body["results"].as_array().unwrap();
    assert!(results.iter().all(|result| result["status"] == "created"), "{answer:?}");

    let ids: Vec<_> = (0..350).map(|number| format!("mixed-{number}")).collect();
    assert_each_arrives_once(&ids);
    for (number, id) in ids.iter().enumerate() {
        let job = get(id);
        let delivered = &arrivals_of(id)[0];
        assert_eq!(job["state"], "delivered", "{job}");
        assert!(delivered.sent_at >= instant(&job["earliest_at"]), "{id}: {delivered:?}");
        assert_eq!(delivered.payload, json!({ "number": number }));
    }
}

/// The bucket of a minute is staged 60 s before it begins. Jobs of that bucket are created each
/// second from 120 s before the staging tick to 120 s after it.
#[test]
fn a_job_created_at_any_second_around_its_staging_arrives_once() {
    let minute = next_minute(Timestamp::now() + seconds(181));
    let due_at = minute + seconds(59);
    let tick = minute - seconds(60);
    let ids: Vec<_> = (-120..=118)
        .map(|offset| {
            wait_until(tick + seconds(offset));
            let id = format!("boundary{offset}");
            put(&id, &exact_at(due_at));
            id
        })
        .collect();
    assert_each_arrives_once(&ids);
}

#[test]
fn a_job_beyond_the_boundary_is_staged_by_its_tick_alone() {
    let due_at = next_minute(Timestamp::now() + seconds(215));
    let ids: Vec<_> = (0..25).map(|number| format!("far-{number}")).collect();
    for (number, id) in (0..).zip(&ids) {
        put(id, &exact_at(due_at + seconds(number % 5)));
    }
    wait_until(due_at);
    // Another test may have taken their tick away: they are late then, and not lost.
    drop(ticks().read());
    assert_each_arrives_once(&ids);
}

#[test]
fn a_cancel_that_races_with_dispatch_is_never_answered_wrongly() {
    let due_at = next_minute(Timestamp::now() + seconds(10)) + seconds(30);
    let ids: Vec<_> = (0..200).map(|number| format!("race-{number}")).collect();
    for id in &ids {
        put(id, &exact_at(due_at));
    }
    wait_until(due_at - SignedDuration::from_millis(1_800));
    let cancelled: Vec<_> = std::thread::scope(|scope| {
        let callers = ids.chunks(50).map(|ids| {
            scope.spawn(move || {
                let cancel = |id: &String| call("DELETE", &format!("/v1/jobs/{id}"), None).status;
                ids.iter().map(|id| (id.clone(), cancel(id))).collect::<Vec<_>>()
            })
        });
        let callers: Vec<_> = callers.collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let (kept, late): (Vec<_>, Vec<_>) = cancelled.iter().partition(|(_, status)| *status == 200);
    assert!(late.iter().all(|(_, status)| *status == 409), "{late:?}");
    let late: Vec<_> = late.into_iter().map(|(id, _)| id.clone()).collect();
    assert_each_arrives_once(&late);
    for (id, _) in kept {
        assert!(arrivals_of(id).is_empty(), "{id} was cancelled and has arrived");
        assert_eq!(get(id)["state"], "cancelled");
    }
}

#[test]
fn a_replay_after_the_delivery_changes_nothing_and_delivers_nothing() {
    let spec = exact_at(Timestamp::now() + seconds(5));
    put("replayed", &spec);
    assert_each_arrives_once(&["replayed".to_owned()]);
    let delivered = get("replayed");
    let again = put("replayed", &spec);
    assert_eq!(again["status"], "unchanged");
    std::thread::sleep(std::time::Duration::from_secs(5));
    assert_eq!(get("replayed"), delivered);
    assert_eq!(arrivals_of("replayed").len(), 1);
}

#[test]
fn a_rescheduled_job_arrives_with_its_new_content_alone() {
    put("moved", &exact_at(Timestamp::now() + seconds(20)));
    let mut later = exact_at(Timestamp::now() + seconds(40));
    later["payload"] = json!("new");
    assert_eq!(put("moved", &later)["status"], "rescheduled");
    assert_each_arrives_once(&["moved".to_owned()]);
    assert_eq!(arrivals_of("moved")[0].payload, json!("new"));
    assert_eq!(arrivals_of("moved")[0].delivery_id.len(), 64);
}
