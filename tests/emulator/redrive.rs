//! A job that fails and is put back.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use spillway_aws::clients::Sdk;

use crate::stack::{get, instant, invoke, put, variable};

/// How long the job may take to another state.
const PATIENCE: Duration = Duration::from_secs(90);

fn wait_for(id: &str, state: &str) -> Value {
    let give_up_at = Instant::now() + PATIENCE;
    loop {
        let job = get(id);
        if job["state"] == state {
            return job;
        }
        assert!(Instant::now() < give_up_at, "never {state}: {job}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Makes the queue behind the channel `closed`.
fn open_the_channel() {
    let name = format!("{}-closed", variable("INBOX_QUEUE_URL").rsplit('/').next().unwrap());
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(async {
        Sdk::load().await.queues().create_queue().queue_name(name).send().await.unwrap();
    });
}

#[test]
fn a_job_that_failed_is_redriven_and_delivered_with_its_own_times() {
    let requested_at = Timestamp::now() + SignedDuration::from_secs(3);
    let spec = json!({
        "requested_at": requested_at.to_string(), "channel": "closed",
        "expires_after_seconds": 5, "payload": { "n": 1 },
    });
    put("closed", &spec);
    let failed = wait_for("closed", "failed");
    assert_eq!(failed["attempts"], 2, "{failed}");
    assert!(failed["reason"].is_string(), "{failed}");

    // Its expiry is past by now.
    std::thread::sleep(Duration::from_secs(5));
    open_the_channel();
    let refused = invoke(&variable("PREFETCH_FUNCTION"), &json!({ "redrive": {} }));
    assert!(refused["errorMessage"].as_str().unwrap().contains("window_seconds"), "{refused}");
    let event = json!({ "redrive": { "window_seconds": 2 } });
    let answer = invoke(&variable("PREFETCH_FUNCTION"), &event);
    assert_eq!(
        answer,
        json!({ "moved": 1, "dropped": 0, "left": 0, "unreadable": 0, "has_more": false })
    );

    let delivered = wait_for("closed", "delivered");
    for kept in ["requested_at", "due_at", "created_at", "accepted_at", "latest_at"] {
        assert_eq!(delivered[kept], failed[kept], "{kept}");
    }
    assert_eq!(delivered["attempts"], 1, "they began again");
    let (redriven_at, released_at) =
        (instant(&delivered["redriven_at"]), instant(&delivered["release_at"]));
    assert!(redriven_at > instant(&failed["finished_at"]), "{delivered}");
    assert!(instant(&delivered["sent_at"]) >= released_at, "{delivered}");
    assert!(instant(&delivered["expires_at"]) > released_at, "{delivered}");
    assert!(delivered["lateness_seconds"].as_f64().unwrap() > 4.0, "as late as it is: {delivered}");
    let again = invoke(&variable("PREFETCH_FUNCTION"), &event);
    assert_eq!((&again["moved"], &again["dropped"]), (&json!(0), &json!(0)), "{again}");
}
