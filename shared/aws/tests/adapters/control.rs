use serde_json::{Value, json};
use spillway_app::ports::{
    PolicyStore, PortError, SettingsSource, StagingState, StoredPolicy, Versioned,
};
use spillway_aws::config::Tables;
use spillway_aws::dynamodb_control::DynamoDbControl;
use spillway_aws::dynamodb_policy_store::DynamoDbPolicyStore;
use spillway_domain::bucket::{ShardCount, ShardCounts};
use spillway_domain::name::{ChannelName, ClassName};
use spillway_domain::policy::Removed;
use spillway_domain::reconcile::{Found, Visits};
use spillway_domain::time::Minute;

use crate::sample::{self, NINE, at};
use crate::scripted::{Reply, Script};

fn control(script: &Script) -> DynamoDbControl {
    DynamoDbControl::new(script.sdk().tables(), "control")
}

fn policies(script: &Script) -> DynamoDbPolicyStore {
    let tables = Tables { jobs: "jobs".into(), control: "control".into() };
    DynamoDbPolicyStore::new(script.sdk().tables(), tables)
}

fn done() -> Reply {
    Reply::Json(200, json!({}))
}

fn refused(item: &Value) -> Reply {
    let code = "ConditionalCheckFailedException";
    Reply::Json(400, json!({ "__type": code, "message": "as scripted", "Item": item }))
}

fn counts(readers: u16, writers: u16) -> ShardCounts {
    let count = |number| ShardCount::new(number).unwrap();
    ShardCounts { readers: count(readers), writers: count(writers), raised_at: NINE }
}

fn some_visits() -> Visits {
    let mut visits = Visits::default();
    let minute = NINE.minute();
    visits.take_in(minute, NINE, None);
    visits.take_in(minute.plus(2), NINE, None);
    visits.visited(minute, Found::Jobs, at(400));
    visits
}

/// What the last write put.
fn put_item(script: &Script) -> Value {
    script.calls().last().unwrap().body["Item"].clone()
}

#[tokio::test]
async fn visits_are_read_back_as_they_were_written() {
    for visits in [some_visits(), Visits::default()] {
        let script = Script::new([done()]);
        assert!(control(&script).write_visits(&visits, 4).await.unwrap());
        let script = Script::new([Reply::Json(200, json!({ "Item": put_item(&script) }))]);
        let read = control(&script).visits().await.unwrap();
        assert_eq!(read, Versioned { value: visits, version: 5 });
        assert_eq!(script.only_body()["ConsistentRead"], true);
    }
}

#[tokio::test]
async fn shard_counts_and_policy_are_read_back_as_they_were_written() {
    let script = Script::new([done()]);
    assert!(control(&script).write_shard_counts(&counts(64, 8), None).await.unwrap());
    let script = Script::new([Reply::Json(200, json!({ "Item": put_item(&script) }))]);
    assert_eq!(control(&script).shard_counts().await.unwrap(), Some(counts(64, 8)));

    let script = Script::new([done()]);
    assert!(policies(&script).store_policy("[classes]", Some(2)).await.unwrap());
    let script = Script::new([Reply::Json(200, json!({ "Item": put_item(&script) }))]);
    let stored = StoredPolicy { version: 3, text: "[classes]".into() };
    assert_eq!(policies(&script).stored_policy().await.unwrap(), Some(stored));
}

#[tokio::test]
async fn a_new_stack_has_nothing_stored() {
    let script = Script::new(vec![done(); 4]);
    let control = control(&script);
    assert_eq!(control.stored_policy().await.unwrap(), None);
    assert_eq!(control.shard_counts().await.unwrap(), None);
    assert_eq!(control.watermark().await.unwrap(), None);
    assert_eq!(control.visits().await.unwrap(), Versioned::default());
}

#[tokio::test]
async fn a_first_write_stands_where_nothing_is_and_a_later_one_names_what_it_saw() {
    let script = Script::new(vec![done(); 4]);
    control(&script).write_visits(&some_visits(), 0).await.unwrap();
    control(&script).write_visits(&some_visits(), 7).await.unwrap();
    control(&script).write_shard_counts(&counts(64, 8), Some(&counts(8, 8))).await.unwrap();
    policies(&script).store_policy("", None).await.unwrap();
    let calls = script.calls();
    let conditions: Vec<_> =
        calls.iter().map(|it| it.body["ConditionExpression"].as_str().unwrap()).collect();
    assert_eq!(
        conditions,
        [
            "attribute_not_exists(#key)",
            "#version = :seen",
            "#readers = :readers AND #writers = :writers AND #raised_at = :raised_at",
            "attribute_not_exists(#key)",
        ]
    );
    assert_eq!(calls[1].body["ExpressionAttributeValues"], json!({ ":seen": { "N": "7" } }));
    assert!(calls[0].body.get("ExpressionAttributeValues").is_none(), "empty is an error");
}

#[tokio::test]
async fn a_faster_run_makes_a_write_answer_no() {
    let script = Script::new([done()]);
    control(&script).write_visits(&Visits::default(), 7).await.unwrap();
    let script = Script::new([refused(&put_item(&script))]);
    assert!(!control(&script).write_visits(&some_visits(), 7).await.unwrap());
}

#[tokio::test]
async fn a_write_whose_first_answer_was_lost_is_ones_own() {
    let script = Script::new([done()]);
    control(&script).write_visits(&some_visits(), 7).await.unwrap();
    let script = Script::new([Reply::Broken, refused(&put_item(&script))]);
    assert!(control(&script).write_visits(&some_visits(), 7).await.unwrap());
}

#[tokio::test]
async fn a_watermark_that_is_further_already_stays() {
    let further =
        json!({ "key": { "S": "watermark#staging" }, "minute": { "S": "2026-12-01T10:00Z" } });
    let script = Script::new([refused(&further), Reply::Json(200, json!({ "Item": further }))]);
    let control = control(&script);
    control.advance_watermark(NINE.minute()).await.unwrap();
    let minute = Minute::parse("2026-12-01T10:00Z").unwrap();
    assert_eq!(control.watermark().await.unwrap(), Some(minute));
    let sent = &script.calls()[0].body;
    assert_eq!(sent["ExpressionAttributeValues"][":minute"]["S"], "2026-12-01T09:00Z");
    assert_eq!(sent["ConditionExpression"], "attribute_not_exists(#minute) OR #minute < :minute");
}

#[tokio::test]
async fn a_control_item_out_of_shape_is_a_permanent_error_that_names_the_attribute() {
    let item = json!({ "minute": { "S": "soon" } });
    let script = Script::new([Reply::Json(200, json!({ "Item": item }))]);
    let Err(PortError::Permanent(source)) = control(&script).watermark().await else {
        panic!("no minute");
    };
    assert_eq!(source.to_string(), "attribute minute is no minute");
}

fn waiting(id: &str, channel: &str, class: Option<&str>) -> Value {
    let mut item = json!({ "job_id": { "S": id }, "channel": { "S": channel } });
    if let Some(class) = class {
        item["class"] = json!({ "S": class });
    }
    item
}

fn removed(class: Option<&str>, channel: Option<&str>) -> Removed {
    Removed {
        classes: class.map(|name| ClassName::new(name).unwrap()).into_iter().collect(),
        channels: channel.map(|name| ChannelName::new(name).unwrap()).into_iter().collect(),
    }
}

#[tokio::test]
async fn a_job_that_waits_for_a_removed_name_is_found_on_any_page() {
    let last = json!({ "job_id": { "S": "a" } });
    let pages = || {
        Script::new([
            Reply::Json(
                200,
                json!({ "Items": [waiting("a", "inbox", None)], "LastEvaluatedKey": last }),
            ),
            Reply::Json(200, json!({ "Items": [], "LastEvaluatedKey": last })),
            Reply::Json(200, json!({ "Items": [waiting("b", "sms", Some("otp"))] })),
        ])
    };
    let script = pages();
    let found = policies(&script).waiting_job_of(&removed(Some("otp"), None)).await.unwrap();
    assert_eq!(found, Some(sample::id("b")));
    assert_eq!(script.calls()[1].body["ExclusiveStartKey"], last);
    assert_eq!(script.calls()[0].body["IndexName"], "due-minute");
    let found = policies(&pages()).waiting_job_of(&removed(None, Some("inbox"))).await.unwrap();
    assert_eq!(found, Some(sample::id("a")));
    let found = policies(&pages()).waiting_job_of(&removed(Some("a"), Some("b"))).await.unwrap();
    assert_eq!(found, None);
    let nothing = policies(&Script::new([])).waiting_job_of(&Removed::default()).await.unwrap();
    assert_eq!(nothing, None);
}
