//! A stored policy takes over without a redeploy.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use spillway_app::ports::{PolicyStore as _, SettingsSource as _};
use spillway_aws::clients::Sdk;
use spillway_aws::config::Tables;
use spillway_aws::dynamodb_policy_store::DynamoDbPolicyStore;

use crate::stack::{call, variable};

#[test]
fn a_new_class_is_in_force_within_a_minute() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(async {
        let tables = Tables { jobs: variable("JOBS_TABLE"), control: variable("CONTROL_TABLE") };
        let store = DynamoDbPolicyStore::new(Sdk::load().await.tables(), tables);
        let stored = store.stored_policy().await.unwrap().unwrap();
        let new_class = "[classes.newsletter]\nearly_seconds = 0\nlate_seconds = 7\npriority = 9\n\
            lateness_budget_seconds = 60\n";
        let text = format!("{new_class}\n{}", stored.text);
        assert!(store.store_policy(&text, Some(stored.version)).await.unwrap());
    });
    let at = Timestamp::now() + SignedDuration::from_hours(1);
    let spec = json!({ "requested_at": at.to_string(), "channel": "inbox", "class": "newsletter" });
    let give_up_at = Instant::now() + Duration::from_mins(1);
    loop {
        let answer = call("PUT", "/v1/jobs/of-the-new-class", Some(&spec));
        if answer.status == 201 {
            assert_eq!(answer.body["late_seconds"], 7);
            return;
        }
        assert_eq!(answer.status, 422, "{answer:?}");
        assert!(Instant::now() < give_up_at, "not in force after a minute: {answer:?}");
        std::thread::sleep(Duration::from_secs(1));
    }
}
