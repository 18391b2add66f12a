use serde_json::{Value, json};
use spillway_app::ports::{Limiter as _, PortError};
use spillway_aws::dynamodb_limiter::DynamoDbLimiter;
use spillway_domain::limiter::{Leasing, MOVABLE_AHEAD_MILLIS, Slice, TokenRequest};
use spillway_domain::name::ChannelName;
use spillway_domain::precision::Lane;
use spillway_domain::rate::Rate;

use crate::sample::at;
use crate::scripted::{Reply, Script};

const NANOS: i64 = 1_000_000;

fn request(lane: Lane, reserve: u32) -> TokenRequest {
    let slice = Slice::of(Rate::new(500, None, reserve).unwrap(), lane, 0);
    TokenRequest { slice, lane, need: 10, now: at(0), from: at(0) }
}

async fn ask(script: &Script, request: TokenRequest) -> Result<Leasing, PortError> {
    let limiter = DynamoDbLimiter::new(script.sdk().tables(), "control");
    limiter.lease_tokens(&ChannelName::new("sms").unwrap(), &request).await
}

/// A `tat` so many milliseconds after the request's now.
fn nanos(millis: i64) -> Value {
    json!({ "N": (at(0).plus_millis(millis).as_millis() * NANOS).to_string() })
}

fn refused(item: &Value) -> Reply {
    let code = "ConditionalCheckFailedException";
    Reply::Json(400, json!({ "__type": code, "message": "as scripted", "Item": item }))
}

fn updated(item: &Value) -> Reply {
    Reply::Json(200, json!({ "Attributes": item }))
}

#[tokio::test]
async fn a_lease_goes_on_from_where_the_slice_is_without_being_read() {
    let script = Script::new([updated(&json!({ "tat": nanos(90) }))]);
    let Leasing::Leased(lease) = ask(&script, request(Lane::Exact, 0)).await.unwrap() else {
        panic!("a lease");
    };
    assert_eq!((lease.tokens, lease.begin_at), (10, at(0).plus_millis(70)));
    let body = script.only_body();
    assert_eq!(body["Key"], json!({ "key": { "S": "limiter#sms#0000" } }));
    assert_eq!(body["UpdateExpression"], "SET #tat = #tat + :span");
    assert_eq!(body["ConditionExpression"], "#tat BETWEEN :from AND :limit");
    let values = json!({
        ":span": { "N": (20 * NANOS).to_string() }, ":from": nanos(0), ":limit": nanos(1_000),
    });
    assert_eq!(body["ExpressionAttributeValues"], values);
}

#[tokio::test]
async fn a_slice_that_lies_in_the_past_starts_anew() {
    for found in [json!({}), json!({ "tat": nanos(-1) })] {
        let script = Script::new([refused(&found), updated(&json!({ "tat": nanos(20) }))]);
        let Leasing::Leased(lease) = ask(&script, request(Lane::Exact, 0)).await.unwrap() else {
            panic!("a lease");
        };
        assert_eq!(lease.begin_at, at(0));
        let body = &script.calls()[1].body;
        assert_eq!(body["UpdateExpression"], "SET #tat = :start");
        assert_eq!(body["ConditionExpression"], "attribute_not_exists(#tat) OR #tat < :from");
        let values = json!({ ":start": nanos(20), ":from": nanos(0) });
        assert_eq!(body["ExpressionAttributeValues"], values);
    }
}

#[tokio::test]
async fn a_slice_beyond_the_limit_says_when_to_ask_again() {
    let beyond = MOVABLE_AHEAD_MILLIS + 30;
    let script = Script::new([refused(&json!({ "tat": nanos(beyond) }))]);
    let answer = ask(&script, request(Lane::Movable, 0)).await.unwrap();
    assert_eq!(answer, Leasing::AskAgain(at(0).plus_millis(30)));
}

#[tokio::test]
async fn movable_work_moves_what_it_may_use_of_the_rate_as_well() {
    let script = Script::new([
        refused(&json!({ "tat": nanos(40), "movable_tat": nanos(-5) })),
        updated(&json!({ "tat": nanos(60), "movable_tat": nanos(40) })),
    ]);
    let Leasing::Leased(lease) = ask(&script, request(Lane::Movable, 250)).await.unwrap() else {
        panic!("a lease");
    };
    assert_eq!(lease.begin_at, at(0).plus_millis(40));
    let body = &script.calls()[1].body;
    assert_eq!(body["UpdateExpression"], "SET #tat = #tat + :span, #movable_tat = :movable_start");
    let values = json!({
        ":span": { "N": (20 * NANOS).to_string() }, ":from": nanos(0),
        ":limit": nanos(MOVABLE_AHEAD_MILLIS), ":movable_start": nanos(40),
    });
    assert_eq!(body["ExpressionAttributeValues"], values);
}

#[tokio::test]
async fn a_slice_that_others_move_all_the_time_is_a_temporary_error() {
    let replies = (0..8).map(|number| {
        refused(&if number % 2 == 0 { json!({}) } else { json!({ "tat": nanos(5) }) })
    });
    let script = Script::new(replies);
    let answer = ask(&script, request(Lane::Exact, 0)).await;
    assert!(matches!(answer, Err(PortError::Transient(_))), "{answer:?}");
}
