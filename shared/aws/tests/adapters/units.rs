use serde_json::{Value, json};
use spillway_app::ports::{
    CatchUp, Checkpoint, LeaseToken, Leased, PageKey, PortError, Progress, StagingUnits,
};
use spillway_aws::dynamodb_control::DynamoDbControl;
use spillway_domain::bucket::{Shard, ShardCount};
use spillway_domain::time::Instant;
use spillway_domain::unit::{Split, Unit};

use crate::sample::{self, NINE, at};
use crate::scripted::{Reply, Script, error};

/// Two days after the minute, when its items may be deleted.
const TTL: i64 = 1_796_288_460;

fn control(script: &Script) -> DynamoDbControl {
    DynamoDbControl::new(script.sdk().tables(), "control")
}

fn unit() -> Unit {
    Unit { minute: NINE.minute(), number: 3 }
}

fn token() -> LeaseToken {
    LeaseToken::of("run-1")
}

fn split(shards: u16, units: u16) -> Split {
    Split::new(ShardCount::new(shards).unwrap(), units).unwrap()
}

fn checkpoint(after: Option<&str>) -> Checkpoint {
    let after = after.map(|id| PageKey { release_at: at(5), job_id: sample::id(id) });
    Checkpoint { minute: NINE.minute(), shard: Shard::from_number(7).unwrap(), after }
}

fn done() -> Reply {
    Reply::Json(200, json!({}))
}

fn found(item: &Value) -> Reply {
    Reply::Json(200, json!({ "Item": item }))
}

/// An update that was done and answers the item as it is now.
fn updated(item: &Value) -> Reply {
    Reply::Json(200, json!({ "Attributes": item }))
}

fn refused(item: &Value) -> Reply {
    let code = "ConditionalCheckFailedException";
    Reply::Json(400, json!({ "__type": code, "message": "as scripted", "Item": item }))
}

fn text(text: &str) -> Value {
    json!({ "S": text })
}

fn number(number: impl Into<i128>) -> Value {
    json!({ "N": number.into().to_string() })
}

fn millis(seconds: i64) -> Value {
    number(at(seconds).as_millis())
}

/// Reads the names of an expression's attributes, which are what they stand for.
fn assert_names_are_spelt_out(body: &Value, names: &[&str]) {
    let expected: serde_json::Map<_, _> =
        names.iter().map(|name| (format!("#{name}"), json!(name))).collect();
    assert_eq!(body["ExpressionAttributeNames"], Value::Object(expected));
}

async fn lease(script: &Script) -> Result<Leased, PortError> {
    control(script).lease(unit(), &token(), at(0), at(60)).await
}

/// Expects a lasting error about an attribute.
fn assert_names<T: std::fmt::Debug>(answer: Result<T, PortError>, problem: &str) {
    let Err(PortError::Permanent(source)) = answer else { panic!("{answer:?}") };
    assert_eq!(source.to_string(), problem);
}

#[tokio::test]
async fn a_split_is_put_where_none_is_and_read_back_as_it_was_written() {
    for wanted in [split(64, 10), split(1, 1), split(10_000, 10_000)] {
        let script = Script::new([done()]);
        let control = control(&script);
        assert_eq!(control.write_split(NINE.minute(), wanted).await.unwrap(), wanted);
        let body = script.only_body();
        assert_eq!(body["ConditionExpression"], "attribute_not_exists(#key)");
        assert_eq!(
            body["Item"],
            json!({
                "key": text("split#2026-12-01T09:00Z"), "ttl": number(TTL),
                "shard_count": number(wanted.shards().get()),
                "unit_count": number(i128::try_from(wanted.units().count()).unwrap()),
            })
        );

        let script = Script::new([found(&body["Item"])]);
        let read = self::control(&script).split(NINE.minute()).await.unwrap();
        assert_eq!(read, Some(wanted));
        let body = script.only_body();
        assert_eq!(body["Key"], json!({ "key": text("split#2026-12-01T09:00Z") }));
        assert_eq!(body["ConsistentRead"], true);
    }
}

#[tokio::test]
async fn a_split_that_another_run_wrote_is_answered_instead() {
    let stored = json!({ "shard_count": number(64), "unit_count": number(5) });
    let script = Script::new([refused(&stored)]);
    let answer = control(&script).write_split(NINE.minute(), split(64, 10)).await.unwrap();
    assert_eq!(answer, split(64, 5));
}

#[tokio::test]
async fn a_split_whose_first_answer_was_lost_is_ones_own() {
    let stored = json!({ "shard_count": number(64), "unit_count": number(10) });
    let script = Script::new([Reply::Broken, refused(&stored)]);
    let answer = control(&script).write_split(NINE.minute(), split(64, 10)).await.unwrap();
    assert_eq!(answer, split(64, 10));
}

#[tokio::test]
async fn a_minute_that_no_run_came_to_has_no_split() {
    assert_eq!(control(&Script::new([done()])).split(NINE.minute()).await.unwrap(), None);
}

#[tokio::test]
async fn a_split_out_of_shape_is_a_permanent_error_that_names_the_attribute() {
    let broken = [
        (json!({ "unit_count": number(1) }), "attribute shard_count is missing"),
        (
            json!({ "shard_count": number(0), "unit_count": number(1) }),
            "attribute shard_count is no count of shards",
        ),
        (json!({ "shard_count": number(8) }), "attribute unit_count is missing"),
        (
            json!({ "shard_count": number(8), "unit_count": number(0) }),
            "attribute unit_count is no count of units",
        ),
        (
            json!({ "shard_count": number(8), "unit_count": number(9) }),
            "attribute unit_count is no count of units",
        ),
    ];
    for (item, problem) in broken {
        let script = Script::new([found(&item)]);
        assert_names(control(&script).split(NINE.minute()).await, problem);
        let script = Script::new([refused(&item)]);
        assert_names(control(&script).write_split(NINE.minute(), split(8, 1)).await, problem);
    }
}

#[tokio::test]
async fn a_lease_is_taken_unless_the_unit_is_done_or_another_run_has_it() {
    let script = Script::new([updated(&json!({ "lease_token": text("run-1") }))]);
    assert_eq!(lease(&script).await.unwrap(), Leased::Taken(None));
    let body = script.only_body();
    assert_eq!(body["Key"], json!({ "key": text("unit#2026-12-01T09:00Z#0003") }));
    assert_eq!(
        body["UpdateExpression"],
        "SET #lease_token = :token, #lease_until = :until, #ttl = :ttl"
    );
    assert_eq!(
        body["ConditionExpression"],
        "attribute_not_exists(#is_done) AND (attribute_not_exists(#lease_until) OR \
         #lease_until < :now OR #lease_token = :token)"
    );
    assert_names_are_spelt_out(&body, &["lease_token", "lease_until", "ttl", "is_done"]);
    assert_eq!(
        body["ExpressionAttributeValues"],
        json!({
            ":token": text("run-1"), ":now": millis(0), ":until": millis(60), ":ttl": number(TTL),
        })
    );
    assert_eq!(body["ReturnValues"], "ALL_NEW");
    assert_eq!(body["ReturnValuesOnConditionCheckFailure"], "ALL_OLD");
}

#[tokio::test]
async fn a_refused_lease_tells_whether_the_unit_is_done_or_held() {
    let held = json!({ "lease_token": text("run-2"), "lease_until": millis(9) });
    assert_eq!(lease(&Script::new([refused(&held)])).await.unwrap(), Leased::Held);
    let done = json!({ "lease_token": text("run-2"), "is_done": { "BOOL": true } });
    assert_eq!(lease(&Script::new([refused(&done)])).await.unwrap(), Leased::Done);
    assert_eq!(lease(&Script::new([refused(&json!({}))])).await.unwrap(), Leased::Held);
}

#[tokio::test]
async fn a_checkpoint_is_read_back_as_it_was_written() {
    for checkpoint in [checkpoint(None), checkpoint(Some("ü:\"half\""))] {
        let script = Script::new([done()]);
        let reached = Progress::Reached(checkpoint.clone());
        assert!(control(&script).write_progress(unit(), &token(), &reached).await.unwrap());
        let written = script.only_body()["ExpressionAttributeValues"][":checkpoint"].clone();
        let script = Script::new([updated(&json!({ "checkpoint": written }))]);
        assert_eq!(lease(&script).await.unwrap(), Leased::Taken(Some(checkpoint)));
    }
}

#[tokio::test]
async fn progress_stands_under_ones_own_lease() {
    let steps = [
        (
            Progress::Reached(checkpoint(Some("a"))),
            ("SET #checkpoint = :checkpoint", "checkpoint"),
            json!({ ":checkpoint": { "M": {
                "minute": text("2026-12-01T09:00Z"), "shard": number(7),
                "release_at": millis(5), "job_id": text("a") } } }),
        ),
        (
            Progress::Left,
            ("SET #lease_until = :over", "lease_until"),
            json!({ ":over": number(0) }),
        ),
        (Progress::Done, ("SET #is_done = :yes", "is_done"), json!({ ":yes": { "BOOL": true } })),
    ];
    for (progress, (update, name), mut values) in steps {
        let script = Script::new([done()]);
        assert!(control(&script).write_progress(unit(), &token(), &progress).await.unwrap());
        let body = script.only_body();
        values[":token"] = text("run-1");
        assert_eq!(body["Key"], json!({ "key": text("unit#2026-12-01T09:00Z#0003") }));
        assert_eq!(body["UpdateExpression"], update);
        assert_eq!(body["ConditionExpression"], "#lease_token = :token");
        assert_names_are_spelt_out(&body, &[name, "lease_token"]);
        assert_eq!(body["ExpressionAttributeValues"], values);

        let script = Script::new([refused(&json!({ "lease_token": text("run-2") }))]);
        assert!(!control(&script).write_progress(unit(), &token(), &progress).await.unwrap());
    }
}

#[tokio::test]
async fn a_unit_out_of_shape_is_a_permanent_error_that_names_the_attribute() {
    let with = |checkpoint: Value| updated(&json!({ "checkpoint": { "M": checkpoint } }));
    let nine = text("2026-12-01T09:00Z");
    let broken = [
        (updated(&json!({ "checkpoint": text("7") })), "attribute checkpoint is not a map"),
        (with(json!({ "job_id": text("a") })), "attribute minute is missing"),
        (with(json!({ "minute": text("9:00") })), "attribute minute is no minute"),
        (with(json!({ "minute": nine })), "attribute shard is missing"),
        (with(json!({ "minute": nine, "shard": number(10_000) })), "attribute shard is no shard"),
        (
            with(json!({ "minute": nine, "shard": number(1), "release_at": number(1) })),
            "attribute job_id is missing",
        ),
        (refused(&json!({ "is_done": text("yes") })), "attribute is_done is not a boolean"),
    ];
    for (reply, problem) in broken {
        assert_names(lease(&Script::new([reply])).await, problem);
    }
}

async fn reserve(script: &Script) -> Result<Option<Instant>, PortError> {
    control(script).reserve(250, at(0), at(60)).await
}

fn reserved(seconds: i64) -> Value {
    json!({ "reserved_until": millis(seconds) })
}

#[tokio::test]
async fn time_is_reserved_after_what_is_reserved_already() {
    let end = json!({ "reserved_until": number(at(10).as_millis() + 250) });
    let script = Script::new([updated(&end)]);
    assert_eq!(reserve(&script).await.unwrap(), Some(at(10)));
    let body = script.only_body();
    assert_eq!(body["Key"], json!({ "key": text("pace#catch-up") }));
    assert_eq!(body["UpdateExpression"], "SET #reserved_until = #reserved_until + :millis");
    assert_eq!(body["ConditionExpression"], "#reserved_until BETWEEN :now AND :last");
    assert_names_are_spelt_out(&body, &["reserved_until"]);
    assert_eq!(
        body["ExpressionAttributeValues"],
        json!({ ":millis": number(250), ":now": millis(0), ":last": millis(60) })
    );
}

#[tokio::test]
async fn time_is_reserved_from_now_on_when_what_is_reserved_is_past() {
    for before in [json!({}), reserved(-1)] {
        let script = Script::new([refused(&before), done()]);
        assert_eq!(reserve(&script).await.unwrap(), Some(at(0)));
        let body = &script.calls()[1].body;
        assert_eq!(body["UpdateExpression"], "SET #reserved_until = :until");
        assert_eq!(
            body["ConditionExpression"],
            "attribute_not_exists(#reserved_until) OR #reserved_until < :now"
        );
        assert_names_are_spelt_out(body, &["reserved_until"]);
        assert_eq!(
            body["ExpressionAttributeValues"],
            json!({ ":until": number(at(0).as_millis() + 250), ":now": millis(0) })
        );
    }
}

#[tokio::test]
async fn no_time_is_reserved_after_the_last_instant() {
    let script = Script::new([refused(&reserved(61))]);
    assert_eq!(reserve(&script).await.unwrap(), None);
    assert_eq!(script.calls().len(), 1);
}

#[tokio::test]
async fn no_call_is_made_when_the_last_instant_is_past() {
    let script = Script::new([]);
    assert_eq!(control(&script).reserve(250, at(0), at(-1)).await.unwrap(), None);
}

#[tokio::test]
async fn a_reservation_between_its_two_writes_makes_them_again() {
    let end = json!({ "reserved_until": number(at(10).as_millis() + 250) });
    let script = Script::new([refused(&reserved(-1)), refused(&reserved(10)), updated(&end)]);
    assert_eq!(reserve(&script).await.unwrap(), Some(at(10)));
}

#[tokio::test]
async fn reservations_that_never_cease_are_a_transient_error() {
    let script = Script::new(vec![refused(&reserved(-1)); 16]);
    let answer = reserve(&script).await;
    assert!(matches!(answer, Err(PortError::Transient(_))), "{answer:?}");
}

#[tokio::test]
async fn the_reserved_time_is_read_consistently() {
    let script = Script::new([found(&reserved(10)), done()]);
    let control = control(&script);
    assert_eq!(control.reserved_until().await.unwrap(), Some(at(10)));
    assert_eq!(script.only_body()["ConsistentRead"], true);
    assert_eq!(control.reserved_until().await.unwrap(), None);
}

#[tokio::test]
async fn reserved_time_out_of_shape_is_a_permanent_error_that_names_the_attribute() {
    let broken = json!({ "reserved_until": text("soon") });
    let problem = "attribute reserved_until is not a number";
    assert_names(control(&Script::new([found(&broken)])).reserved_until().await, problem);
    assert_names(reserve(&Script::new([updated(&broken)])).await, problem);
    assert_names(reserve(&Script::new([refused(&broken)])).await, problem);
}

#[tokio::test]
async fn a_throttled_control_table_is_transient() {
    let throttled = || Script::new(vec![error(400, "ProvisionedThroughputExceededException"); 4]);
    let answer = lease(&throttled()).await;
    assert!(matches!(answer, Err(PortError::Transient(_))), "{answer:?}");
    let answer = reserve(&throttled()).await;
    assert!(matches!(answer, Err(PortError::Transient(_))), "{answer:?}");
    let answer = control(&throttled()).write_split(NINE.minute(), split(8, 1)).await;
    assert!(matches!(answer, Err(PortError::Transient(_))), "{answer:?}");
    let answer = control(&throttled()).write_progress(unit(), &token(), &Progress::Done).await;
    assert!(matches!(answer, Err(PortError::Transient(_))), "{answer:?}");
}
