use serde_json::{Value, json};
use spillway_app::ports::{ChannelSender, Delivery};
use spillway_aws::channel_sender::AwsChannelSender;
use spillway_domain::attempt::SendOutcome;
use spillway_domain::policy::Target;

use crate::sample;
use crate::scripted::{Reply, Script, error};

fn sqs() -> Target {
    Target::Sqs { queue_url: "http://q/inbox".into() }
}

fn bus() -> Target {
    Target::EventBridge { bus_name: "bus".into() }
}

fn deliveries(count: usize) -> Vec<Delivery> {
    (0..count).map(|number| sample::delivery(&format!("job-{number}"), "{\"user\":42}")).collect()
}

fn large(count: usize) -> Vec<Delivery> {
    let payload = format!("\"{}\"", "x".repeat(65_000));
    (0..count).map(|number| sample::delivery(&format!("job-{number}"), &payload)).collect()
}

async fn send(script: &Script, target: &Target, deliveries: &[Delivery]) -> Vec<SendOutcome> {
    AwsChannelSender::new(script.sdk().channels()).send(target, deliveries).await
}

fn taken(id: &str) -> Value {
    json!({ "Id": id, "MessageId": "m", "MD5OfMessageBody": "d" })
}

fn refused(id: &str, code: &str) -> Value {
    json!({ "Id": id, "Code": code, "SenderFault": true, "Message": "as scripted" })
}

/// The kind of an outcome, without its reason.
fn kinds(outcomes: &[SendOutcome]) -> Vec<&'static str> {
    let kind = |outcome: &SendOutcome| match outcome {
        SendOutcome::Delivered => "delivered",
        SendOutcome::Refused(_) => "refused",
        SendOutcome::Deferred { .. } => "deferred",
        SendOutcome::RefusedForGood(_) => "refused for good",
        SendOutcome::Unanswered(_) => "unanswered",
    };
    outcomes.iter().map(kind).collect()
}

#[tokio::test]
async fn jobs_go_to_a_queue_in_one_batch() {
    let answer = json!({ "Successful": [taken("0"), taken("1")] });
    let script = Script::new([Reply::Json(200, answer)]);
    let outcomes = send(&script, &sqs(), &deliveries(2)).await;
    assert_eq!(kinds(&outcomes), ["delivered", "delivered"]);
    let body = script.only_body();
    assert_eq!(body["QueueUrl"], "http://q/inbox");
    let sent: Value =
        serde_json::from_str(body["Entries"][1]["MessageBody"].as_str().unwrap()).unwrap();
    assert_eq!((&sent["job_id"], &sent["payload"]["user"]), (&json!("job-1"), &json!(42)));
}

#[tokio::test]
async fn each_message_of_a_batch_has_its_own_outcome() {
    let answer = json!({
        "Successful": [taken("4"), taken("0")],
        "Failed": [refused("1", "InvalidMessageContents"), refused("2", "RequestThrottled"),
                   refused("3", "InternalError")],
    });
    let script = Script::new([Reply::Json(200, answer)]);
    let outcomes = send(&script, &sqs(), &deliveries(6)).await;
    assert_eq!(
        kinds(&outcomes),
        ["delivered", "refused for good", "refused", "unanswered", "delivered", "unanswered"]
    );
    let reason = SendOutcome::RefusedForGood("InvalidMessageContents as scripted".into());
    assert_eq!(outcomes[1], reason);
}

#[tokio::test]
async fn jobs_go_to_a_bus_as_events_of_spillway() {
    let answer = json!({ "FailedEntryCount": 0, "Entries": [{ "EventId": "e" }] });
    let script = Script::new([Reply::Json(200, answer)]);
    assert_eq!(kinds(&send(&script, &bus(), &deliveries(1)).await), ["delivered"]);
    let event = &script.only_body()["Entries"][0];
    assert_eq!(event["EventBusName"], "bus");
    assert_eq!((&event["Source"], &event["DetailType"]), (&json!("spillway"), &json!("job")));
    let detail: Value = serde_json::from_str(event["Detail"].as_str().unwrap()).unwrap();
    assert_eq!(detail["job_id"], "job-0");
}

#[tokio::test]
async fn each_event_of_a_call_has_its_own_outcome() {
    let answer = json!({ "FailedEntryCount": 3, "Entries": [
        { "EventId": "e" },
        { "ErrorCode": "ThrottlingException", "ErrorMessage": "slower" },
        { "ErrorCode": "MalformedDetail", "ErrorMessage": "no object" },
        { "ErrorCode": "InternalFailure", "ErrorMessage": "" },
        {},
    ]});
    let script = Script::new([Reply::Json(200, answer)]);
    let outcomes = send(&script, &bus(), &deliveries(6)).await;
    assert_eq!(
        kinds(&outcomes),
        ["delivered", "refused", "refused for good", "unanswered", "unanswered", "unanswered"]
    );
    assert_eq!(outcomes[1], SendOutcome::Refused("ThrottlingException slower".into()));
}

#[tokio::test]
async fn a_batch_of_which_nothing_was_taken_has_the_outcome_of_each_message() {
    for (code, expected) in [
        ("MessageTooLong", "refused for good"),
        ("RequestThrottled", "refused"),
        ("KmsThrottled", "refused"),
        ("ServiceUnavailable", "unanswered"),
    ] {
        let failed = ["0", "1", "2"].map(|id| refused(id, code));
        let script = Script::new([Reply::Json(200, json!({ "Failed": failed }))]);
        let outcomes = send(&script, &sqs(), &deliveries(3)).await;
        assert_eq!(kinds(&outcomes), [expected; 3], "{code}");
        assert_eq!(script.calls().len(), 1, "only dispatch tries again");
    }
    let script = Script::new([Reply::Json(200, json!({}))]);
    let outcomes = send(&script, &sqs(), &deliveries(3)).await;
    assert_eq!(kinds(&outcomes), ["unanswered"; 3], "an answer that mentions no message");
}

#[tokio::test]
async fn events_of_which_nothing_was_taken_have_an_outcome_each() {
    for (code, expected) in [
        ("MalformedDetail", "refused for good"),
        ("ThrottlingException", "refused"),
        ("NotAuthorizedForSourceException", "refused"),
        ("InternalFailure", "unanswered"),
    ] {
        let entries = vec![json!({ "ErrorCode": code, "ErrorMessage": "as scripted" }); 3];
        let answer = json!({ "FailedEntryCount": 3, "Entries": entries });
        let script = Script::new([Reply::Json(200, answer)]);
        let outcomes = send(&script, &bus(), &deliveries(3)).await;
        assert_eq!(kinds(&outcomes), [expected; 3], "{code}");
        assert_eq!(script.calls().len(), 1, "only dispatch tries again");
    }
}

#[tokio::test]
async fn events_that_the_answer_does_not_mention_may_have_been_taken() {
    for answer in [json!({}), json!({ "FailedEntryCount": 0, "Entries": [] })] {
        let script = Script::new([Reply::Json(200, answer.clone())]);
        let outcomes = send(&script, &bus(), &deliveries(2)).await;
        assert_eq!(kinds(&outcomes), ["unanswered"; 2], "{answer}");
    }
    // The entries are judged one by one, whatever the count says.
    let answer = json!({ "FailedEntryCount": 2, "Entries": [{ "EventId": "e" }] });
    let script = Script::new([Reply::Json(200, answer)]);
    assert_eq!(kinds(&send(&script, &bus(), &deliveries(2)).await), ["delivered", "unanswered"]);
}

#[tokio::test]
async fn an_error_answer_that_proves_nothing_was_taken_refuses_every_job() {
    for (status, code) in [
        (400, "ThrottlingException"),
        (403, "RequestThrottled"),
        (503, "ThrottlingException"),
        (400, "com.amazonaws.sqs#QueueDoesNotExist"),
        (403, "AccessDeniedException"),
        (400, "InvalidMessageContents"),
    ] {
        for target in [sqs(), bus()] {
            let script = Script::new([error(status, code)]);
            let outcomes = send(&script, &target, &deliveries(2)).await;
            assert_eq!(kinds(&outcomes), ["refused", "refused"], "{status} {code}");
        }
    }
}

#[tokio::test]
async fn content_that_is_refused_alone_is_refused_for_good() {
    for (target, code) in [(sqs(), "InvalidMessageContents"), (bus(), "ValidationException")] {
        let script = Script::new([error(400, code)]);
        assert_eq!(kinds(&send(&script, &target, &deliveries(1)).await), ["refused for good"]);
    }
}

#[tokio::test]
async fn a_call_without_an_answer_leaves_every_job_open_and_is_made_once() {
    let replies = [
        Reply::Broken,
        Reply::TimedOut,
        Reply::Text(500, ""),
        Reply::Text(502, "<html>Bad Gateway</html>"),
        Reply::Text(200, "<html>a proxy's own page</html>"),
        error(500, "InternalError"),
        error(503, "ServiceUnavailable"),
    ];
    for reply in replies {
        for target in [sqs(), bus()] {
            let script = Script::new([reply.clone()]);
            let outcomes = send(&script, &target, &deliveries(2)).await;
            assert_eq!(kinds(&outcomes), ["unanswered", "unanswered"], "{reply:?}");
            assert_eq!(script.calls().len(), 1, "{reply:?}");
        }
    }
}

#[tokio::test]
async fn a_refused_connection_sent_nothing() {
    let script = Script::new([Reply::ConnectionRefused]);
    assert_eq!(kinds(&send(&script, &sqs(), &deliveries(1)).await), ["refused"]);
}

#[tokio::test]
async fn events_are_split_so_that_a_call_stays_below_256_kib() {
    let answer = |count| {
        let entries = vec![json!({ "EventId": "e" }); count];
        Reply::Json(200, json!({ "FailedEntryCount": 0, "Entries": entries }))
    };
    let script = Script::new([answer(3), answer(3), error(400, "ThrottlingException"), answer(1)]);
    let outcomes = send(&script, &bus(), &large(10)).await;
    let mut expected = vec!["delivered"; 10];
    expected[6..9].fill("refused");
    assert_eq!(kinds(&outcomes), expected, "each call answers for its own jobs");
    for call in script.calls() {
        let events = call.body["Entries"].as_array().unwrap();
        let bytes: usize = events.iter().map(|it| it["Detail"].as_str().unwrap().len() + 11).sum();
        assert!(bytes < 262_144, "{bytes}");
    }
}

#[tokio::test]
async fn ten_large_jobs_go_to_a_queue_in_one_batch() {
    let ids: Vec<_> = (0..10).map(|number| taken(&number.to_string())).collect();
    let script = Script::new([Reply::Json(200, json!({ "Successful": ids }))]);
    assert_eq!(kinds(&send(&script, &sqs(), &large(10)).await), ["delivered"; 10]);
}

#[tokio::test]
async fn a_payload_that_is_not_json_is_refused_and_spoils_no_other() {
    let script = Script::new([Reply::Json(200, json!({ "Successful": [taken("0"), taken("1")] }))]);
    let mut three = deliveries(3);
    three[1] = sample::delivery("broken", "{");
    let outcomes = send(&script, &sqs(), &three).await;
    assert_eq!(kinds(&outcomes), ["delivered", "refused for good", "delivered"]);
    assert_eq!(script.only_body()["Entries"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_a_channel_says_is_kept_to_a_bounded_length() {
    let text = "ä".repeat(5_000);
    let reply = json!({ "__type": "AccessDenied", "message": text });
    let script = Script::new([Reply::Json(403, reply)]);
    let outcomes = send(&script, &sqs(), &deliveries(1)).await;
    let SendOutcome::Refused(reason) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!(reason.chars().count(), 500);
}
