use serde_json::{Value, json};
use spillway_app::ports::{PortError, StagingUnits};
use spillway_aws::dynamodb_control::DynamoDbControl;
use spillway_domain::drain_plan::PlanRecord;

use crate::sample::NINE;
use crate::scripted::{Reply, Script};

/// Two days after the minute, when its items may be deleted.
const TTL: &str = "1796288460";
const PLAN: &str =
    "channel sms 500 100 50\nexact 0 -60 otp 7 8000000000000000\nmovable 9 0 - 900\n";

fn control(script: &Script) -> DynamoDbControl {
    DynamoDbControl::new(script.sdk().tables(), "control")
}

fn record(text: &str) -> PlanRecord {
    PlanRecord::parse(NINE.minute(), text).unwrap()
}

fn item(text: &str) -> Value {
    json!({
        "key": { "S": "plan#2026-12-01T09:00Z" }, "minute": { "S": "2026-12-01T09:00Z" },
        "text": { "S": text }, "ttl": { "N": TTL },
    })
}

fn refused(item: &Value) -> Reply {
    let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
    Reply::Json(400, json!({ "__type": kind, "message": "no", "Item": item }))
}

#[tokio::test]
async fn a_plan_is_put_where_none_is_and_read_back_as_it_was_written() {
    for text in [PLAN, ""] {
        let script = Script::new([Reply::Json(200, json!({}))]);
        let wanted = record(text);
        assert_eq!(control(&script).write_plan(&wanted).await.unwrap(), wanted);
        let body = script.only_body();
        assert_eq!(body["ConditionExpression"], "attribute_not_exists(#key)");
        assert_eq!(body["Item"], item(text));

        let script = Script::new([Reply::Json(200, json!({ "Item": item(text) }))]);
        let read = control(&script).plan(NINE.minute()).await.unwrap();
        assert_eq!(read, Some(wanted));
        let body = script.only_body();
        assert_eq!(body["Key"], json!({ "key": { "S": "plan#2026-12-01T09:00Z" } }));
        assert_eq!(body["ConsistentRead"], true);
    }
}

#[tokio::test]
async fn a_plan_that_another_run_wrote_is_answered_instead() {
    let script = Script::new([refused(&item(PLAN))]);
    let answer = control(&script).write_plan(&record("")).await.unwrap();
    assert_eq!(answer, record(PLAN));
}

#[tokio::test]
async fn a_minute_that_no_run_came_to_has_no_plan() {
    let script = Script::new([Reply::Json(200, json!({}))]);
    assert_eq!(control(&script).plan(NINE.minute()).await.unwrap(), None);
}

#[tokio::test]
async fn a_plan_out_of_shape_is_a_permanent_error_that_names_the_attribute() {
    for (broken, problem) in [
        (item("exact 0 0 - 1\n"), "attribute text is no plan"),
        (json!({ "text": { "S": "" } }), "attribute minute is missing"),
        (json!({ "minute": { "S": "2026-12-01T09:00Z" } }), "attribute text is missing"),
    ] {
        let script = Script::new([Reply::Json(200, json!({ "Item": broken }))]);
        let answer = control(&script).plan(NINE.minute()).await;
        let Err(PortError::Permanent(source)) = answer else { panic!("{answer:?}") };
        assert_eq!(source.to_string(), problem);
    }
}
