use std::collections::BTreeSet;

use serde_json::{Value, json};
use spillway_app::ports::{
    Claims, Conditional, FailedBy, Failure, Intake, NextAttempt, PortError, Redrives,
};
use spillway_aws::dynamodb_claims::DynamoDbClaims;
use spillway_aws::dynamodb_intake::DynamoDbIntake;
use spillway_aws::dynamodb_redrives::DynamoDbRedrives;
use spillway_aws::item::{Item, to_item};
use spillway_aws::schema;
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{Claim, ClaimToken, Generation, Job, State};
use spillway_domain::pack::PackEntry;

use crate::sample::{self, NINE, at};
use crate::scripted::{Call, Reply, Script, error};

fn intake(script: &Script) -> DynamoDbIntake {
    DynamoDbIntake::new(script.sdk().tables(), "jobs")
}

fn claims(script: &Script) -> DynamoDbClaims {
    DynamoDbClaims::new(script.sdk().tables(), "jobs")
}

/// An item as `DynamoDB` writes it.
fn wire(item: &Item) -> Value {
    let attributes = item.iter().map(|(name, value)| {
        let value = match (value.as_s(), value.as_n(), value.as_bool()) {
            (Ok(text), ..) => json!({ "S": text }),
            (_, Ok(digits), _) => json!({ "N": digits }),
            (.., Ok(flag)) => json!({ "BOOL": flag }),
            _ => panic!("{value:?}"),
        };
        (name.clone(), value)
    });
    attributes.collect::<serde_json::Map<_, _>>().into()
}

fn done() -> Reply {
    Reply::Json(200, json!({}))
}

fn answered(job: &Job) -> Reply {
    Reply::Json(200, json!({ "Attributes": wire(&to_item(job)) }))
}

fn refused(row: Option<&Job>) -> Reply {
    let mut body = json!({ "__type": "ConditionalCheckFailedException", "message": "as scripted" });
    if let Some(job) = row {
        body["Item"] = wire(&to_item(job));
    }
    Reply::Json(400, body)
}

fn claim_request(entry: PackEntry) -> ClaimRequest {
    let token = sample::token();
    ClaimRequest { entry, token, now: at(-1), until: at(19), attempts_max: 5 }
}

fn claimed_by(token: &str, until: i64) -> Job {
    let mut job = sample::job("a");
    job.state = State::Claimed;
    job.attempts = 1;
    job.claim = Some(Claim { token: ClaimToken::from_text(token), until: at(until) });
    job
}

fn record(job: &Job) -> DeliveryRecord {
    DeliveryRecord {
        job_id: job.id.clone(),
        generation: job.generation,
        attempts: 1,
        sent_at: NINE,
        delivered_at: NINE.plus_millis(20),
        ttl_at: NINE.plus_millis(604_800_001),
    }
}

fn failure(by: FailedBy) -> Failure {
    Failure { by, maybe_sent: false, reason: "refused".into(), finished_at: NINE, ttl_at: at(60) }
}

fn next(maybe_sent: bool) -> NextAttempt {
    NextAttempt { release_at: at(4), bucket: sample::bucket(), maybe_sent, reason: "busy".into() }
}

/// Makes every write once and gives the calls.
async fn every_write() -> Vec<Call> {
    let job = sample::job("a");
    let (entry, token) = (sample::entry(&job), sample::token());
    let run_out = refused(Some(&claimed_by("another", -2)));
    let script =
        Script::new([vec![done(); 3], vec![run_out, answered(&job)], vec![done(); 10]].concat());
    let (intake, claims) = (intake(&script), claims(&script));
    intake.create(&job).await.unwrap();
    intake.reschedule(&job, Generation::from_number(1)).await.unwrap();
    intake.cancel(&entry, NINE, at(60)).await.unwrap();
    claims.claim(&claim_request(entry.clone())).await.unwrap();
    claims.give_back(&entry, &token).await.unwrap();
    claims.retry(&entry, &token, &next(false)).await.unwrap();
    claims.retry(&entry, &token, &next(true)).await.unwrap();
    claims.record_delivered(&record(&job)).await.unwrap();
    claims.record_failed(&entry, &failure(FailedBy::Holder(token.clone()))).await.unwrap();
    let by = FailedBy::RunOut { now: NINE, attempts_max: 5 };
    claims.record_failed(&entry, &failure(by)).await.unwrap();
    claims.record_expired(&entry, NINE, at(60)).await.unwrap();
    claims.return_to_table(&entry, at(300), sample::bucket()).await.unwrap();
    let redrives = DynamoDbRedrives::new(script.sdk().tables(), "jobs");
    redrives.redrive(&job).await.unwrap();
    let expiring = Job { expires_at: Some(at(60)), redriven_at: Some(NINE), ..job };
    redrives.redrive(&expiring).await.unwrap();
    script.calls()
}

/// The words of the expressions that begin with `sign`.
fn words(call: &Call, sign: char) -> BTreeSet<String> {
    let expressions = ["UpdateExpression", "ConditionExpression"];
    let texts = expressions.iter().filter_map(|name| call.body[*name].as_str());
    texts
        .flat_map(|text| text.split(|c: char| !(c == '_' || c == sign || c.is_alphanumeric())))
        .filter(|word| word.starts_with(sign))
        .map(str::to_owned)
        .collect()
}

fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().map(|it| it.keys().cloned().collect()).unwrap_or_default()
}

#[tokio::test]
async fn every_write_defines_exactly_the_words_that_it_uses() {
    for call in every_write().await {
        assert_eq!(words(&call, '#'), keys(&call.body["ExpressionAttributeNames"]), "{call:?}");
        assert_eq!(words(&call, ':'), keys(&call.body["ExpressionAttributeValues"]), "{call:?}");
    }
}

#[tokio::test]
async fn every_write_names_only_attributes_of_the_schema() {
    for call in every_write().await {
        for (word, name) in call.body["ExpressionAttributeNames"].as_object().unwrap() {
            let name = name.as_str().unwrap();
            assert!(word == &format!("#{name}") && schema::job::ALL.contains(&name), "{word}");
        }
    }
}

#[tokio::test]
async fn every_write_stands_under_a_condition_and_asks_for_the_row_that_refuses_it() {
    let calls = every_write().await;
    let puts = calls.iter().filter(|call| call.target == "DynamoDB_20120810.PutItem").count();
    assert_eq!((calls.len(), puts), (15, 2));
    for call in calls {
        assert!(call.body["ConditionExpression"].is_string(), "{call:?}");
        assert_eq!(call.body["ReturnValuesOnConditionCheckFailure"], "ALL_OLD", "{call:?}");
        assert_eq!(call.body["TableName"], "jobs");
    }
}

#[tokio::test]
async fn whoever_leaves_claimed_or_finishes_a_job_removes_the_claim() {
    let leaving = every_write().await.into_iter().filter(|call| {
        let changes = call.body["UpdateExpression"].as_str().unwrap_or_default();
        changes.contains("#state = ") && !changes.contains("#state = :claimed")
    });
    let leaving: Vec<_> = leaving.collect();
    assert_eq!(leaving.len(), 10);
    for call in leaving {
        let changes = call.body["UpdateExpression"].as_str().unwrap();
        let removed = changes.split("REMOVE").nth(1).unwrap();
        assert!(removed.contains("#claim_token") && removed.contains("#claim_until"), "{changes}");
        let is_waiting = changes.contains("#state = :scheduled");
        assert_ne!(removed.contains("#bucket"), is_waiting, "{changes}");
        assert_ne!(changes.contains("#ttl = :ttl"), is_waiting, "{changes}");
    }
}

#[tokio::test]
async fn a_refused_write_answers_the_row() {
    let job = sample::job("a");
    let script = Script::new([refused(Some(&job)), refused(None)]);
    let intake = intake(&script);
    match intake.create(&job).await.unwrap() {
        Conditional::Refused(Some(row)) => assert_eq!(*row, job),
        other => panic!("{other:?}"),
    }
    let outcome = intake.cancel(&sample::entry(&job), NINE, NINE).await.unwrap();
    assert!(matches!(outcome, Conditional::Refused(None)), "{outcome:?}");
}

#[tokio::test]
async fn a_claim_answers_the_row_as_it_is_then() {
    let job = claimed_by(sample::token().as_str(), 19);
    let script = Script::new([answered(&job)]);
    match claims(&script).claim(&claim_request(sample::entry(&job))).await.unwrap() {
        Conditional::Done(row) => assert_eq!(*row, job),
        Conditional::Refused(row) => panic!("{row:?}"),
    }
    let body = script.only_body();
    assert_eq!(body["ReturnValues"], "ALL_NEW");
    assert!(!body["UpdateExpression"].as_str().unwrap().contains("maybe_sent"));
    assert_eq!(body["ExpressionAttributeValues"][":release_at_max"]["N"], "1796115600500");
}

#[tokio::test]
async fn a_run_out_claim_is_taken_over_and_marked_as_maybe_sent() {
    let (old, new) = (claimed_by("another", -2), claimed_by(sample::token().as_str(), 19));
    let script = Script::new([refused(Some(&old)), answered(&new)]);
    let outcome = claims(&script).claim(&claim_request(sample::entry(&old))).await.unwrap();
    assert!(matches!(outcome, Conditional::Done(_)), "{outcome:?}");
    let body = &script.calls()[1].body;
    assert!(body["UpdateExpression"].as_str().unwrap().contains("#maybe_sent = :true"));
    let condition = body["ConditionExpression"].as_str().unwrap();
    assert!(
        condition.contains("#claim_token = :old_token") && condition.contains("#claim_until <")
    );
    assert_eq!(body["ExpressionAttributeValues"][":old_token"]["S"], "another");
}

#[tokio::test]
async fn a_live_claim_or_one_of_ones_own_is_not_taken_over() {
    for row in [claimed_by("another", -1), claimed_by(sample::token().as_str(), -2)] {
        let script = Script::new([refused(Some(&row))]);
        let outcome = claims(&script).claim(&claim_request(sample::entry(&row))).await.unwrap();
        assert!(matches!(outcome, Conditional::Refused(Some(_))), "{outcome:?}");
        assert_eq!(script.calls().len(), 1);
    }
}

#[tokio::test]
async fn a_lost_race_for_a_run_out_claim_answers_the_winners_row() {
    let (old, won) = (claimed_by("another", -2), claimed_by("a third", 19));
    let script = Script::new([refused(Some(&old)), refused(Some(&won))]);
    match claims(&script).claim(&claim_request(sample::entry(&old))).await.unwrap() {
        Conditional::Refused(Some(row)) => assert_eq!(*row, won),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_ttl_is_in_whole_seconds_rounded_up() {
    let script = Script::new([done()]);
    claims(&script).record_delivered(&record(&sample::job("a"))).await.unwrap();
    assert_eq!(
        script.only_body()["ExpressionAttributeValues"][":ttl"]["N"],
        "1796720401",
        "a millisecond past the second"
    );
}

#[tokio::test]
async fn faults_that_pass_are_transient_and_all_others_permanent() {
    let transient = [
        error(400, "ProvisionedThroughputExceededException"),
        error(400, "com.amazonaws.dynamodb.v20120810#ThrottlingException"),
        error(400, "RequestLimitExceeded"),
        error(400, "TransactionConflictException"),
        error(500, "InternalServerError"),
        error(503, "ServiceUnavailable"),
        Reply::Text(500, ""),
        Reply::Broken,
        Reply::TimedOut,
        Reply::ConnectionRefused,
    ];
    for reply in transient {
        let script = Script::new(vec![reply.clone(); 4]);
        let outcome = intake(&script).create(&sample::job("a")).await;
        assert!(matches!(outcome, Err(PortError::Transient(_))), "{reply:?}: {outcome:?}");
    }
    let permanent = [
        error(400, "ResourceNotFoundException"),
        error(400, "AccessDeniedException"),
        error(400, "ValidationException"),
        error(400, "UnrecognizedClientException"),
    ];
    for reply in permanent {
        let script = Script::new([reply.clone()]);
        let outcome = intake(&script).create(&sample::job("a")).await;
        assert!(matches!(outcome, Err(PortError::Permanent(_))), "{reply:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn an_error_says_which_call_failed_and_what_was_answered() {
    let script = Script::new([error(400, "ResourceNotFoundException")]);
    let Err(PortError::Permanent(source)) = intake(&script).read(&sample::id("a")).await else {
        panic!("a missing table is no row");
    };
    let text = source.to_string();
    assert_eq!(text, "GetItem failed: 400 ResourceNotFoundException as scripted");
}

#[tokio::test]
async fn a_throttled_write_is_tried_again_by_the_client() {
    let script = Script::new([error(400, "ThrottlingException"), done()]);
    let outcome = intake(&script).create(&sample::job("a")).await.unwrap();
    assert!(matches!(outcome, Conditional::Done(())), "{outcome:?}");
}

#[tokio::test]
async fn a_row_out_of_shape_is_a_permanent_error_that_names_the_attribute() {
    let mut row = wire(&to_item(&sample::job("a")));
    row["state"] = json!({ "S": "lost" });
    let script = Script::new([Reply::Json(200, json!({ "Item": row }))]);
    match intake(&script).read(&sample::id("a")).await {
        Err(PortError::Permanent(source)) => {
            assert_eq!(source.to_string(), "attribute state names no state");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_row_is_read_consistently_and_none_is_none() {
    let script = Script::new([Reply::Json(200, json!({}))]);
    assert_eq!(intake(&script).read(&sample::id("a")).await.unwrap(), None);
    assert_eq!(script.only_body()["ConsistentRead"], true);
}
