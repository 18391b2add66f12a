use serde_json::{Value, json};
use spillway_app::ports::{
    DeadLetter, DeadLetterQueues, DeadLetters, JobQueue, OutgoingMessage, PortError, QueueDepth,
    QueueMessage, Receipt, ReceivedLetter,
};
use spillway_aws::config::QueueUrls;
use spillway_aws::message::dead_letter_to_json;
use spillway_aws::sqs_dead_letter_queues::SqsDeadLetterQueues;
use spillway_aws::sqs_dead_letters::SqsDeadLetters;
use spillway_aws::sqs_job_queue::SqsJobQueue;
use spillway_aws::sqs_queue_depth::SqsQueueDepth;
use spillway_domain::name::ChannelName;
use spillway_domain::pack::{Pack, PackKey};
use spillway_domain::precision::Lane;

use crate::sample::{self, NINE};
use crate::scripted::{Reply, Script, error};

fn urls() -> QueueUrls {
    QueueUrls { exact: "http://q/exact".into(), movable: "http://q/movable".into() }
}

fn queue(script: &Script) -> SqsJobQueue {
    SqsJobQueue::new(script.sdk().queues(), urls())
}

fn depth(script: &Script) -> SqsQueueDepth {
    SqsQueueDepth::new(script.sdk().queues(), urls())
}

fn message(delay_seconds: u16) -> OutgoingMessage {
    let channel = ChannelName::new("inbox").unwrap();
    let job = sample::job("a");
    let key = PackKey { release_at: NINE, channel, lane: Lane::Exact };
    let pack = Pack { key, hops: 0, entries: vec![sample::entry(&job)] };
    OutgoingMessage { message: QueueMessage::Release(pack), delay_seconds }
}

fn taken(id: &str) -> Value {
    json!({ "Id": id, "MessageId": "m", "MD5OfMessageBody": "d" })
}

fn refused(id: &str, code: &str, sender_fault: bool) -> Value {
    json!({ "Id": id, "Code": code, "SenderFault": sender_fault, "Message": "as scripted" })
}

fn is_transient<T>(result: &Result<T, PortError>) -> bool {
    matches!(result, Err(PortError::Transient(_)))
}

fn is_permanent<T>(result: &Result<T, PortError>) -> bool {
    matches!(result, Err(PortError::Permanent(_)))
}

#[tokio::test]
async fn a_batch_goes_to_its_lanes_queue_with_the_delay_of_each_message() {
    let answer = json!({ "Successful": [taken("0"), taken("1")] });
    let script = Script::new([Reply::Json(200, answer)]);
    let results = queue(&script).send_batch(Lane::Movable, &[message(0), message(900)]).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let body = script.only_body();
    assert_eq!(body["QueueUrl"], "http://q/movable");
    assert_eq!(body["Entries"][0]["DelaySeconds"], 0);
    assert_eq!(body["Entries"][1]["DelaySeconds"], 900);
    assert!(body["Entries"][1]["MessageBody"].as_str().unwrap().contains("\"release\""));
}

#[tokio::test]
async fn each_entry_has_its_own_result_whatever_the_order_of_the_answer() {
    let answer = json!({
        "Successful": [taken("3"), taken("0")],
        "Failed": [refused("2", "InternalError", false), refused("1", "InvalidParameterValue", true),
                   refused("4", "RequestThrottled", true)],
    });
    let script = Script::new([Reply::Json(200, answer)]);
    let messages: Vec<_> = (0..6).map(message).collect();
    let results = queue(&script).send_batch(Lane::Exact, &messages).await;
    assert!(results[0].is_ok() && results[3].is_ok(), "{results:?}");
    assert!(is_permanent(&results[1]), "the sender is at fault: {:?}", results[1]);
    assert!(is_transient(&results[2]), "the service is at fault: {:?}", results[2]);
    assert!(is_transient(&results[4]), "a throttle: {:?}", results[4]);
    assert!(is_transient(&results[5]), "not mentioned: {:?}", results[5]);
    assert_eq!(results.len(), 6);
}

/// Sends three messages, and is answered as scripted.
async fn results_of(answer: Value) -> Vec<Result<(), PortError>> {
    let script = Script::new([Reply::Json(200, answer)]);
    let messages = [message(0), message(1), message(2)];
    let results = queue(&script).send_batch(Lane::Exact, &messages).await;
    assert_eq!(script.calls().len(), 1, "what to do with a part is the caller's to say");
    assert_eq!(results.len(), 3);
    results
}

#[tokio::test]
async fn a_batch_of_which_nothing_was_taken_fails_message_by_message() {
    let failed = |code, sender_fault| {
        let entries = ["0", "1", "2"].map(|id| refused(id, code, sender_fault));
        json!({ "Failed": entries })
    };
    let results = results_of(failed("InvalidMessageContents", true)).await;
    assert!(results.iter().all(is_permanent), "the sender is at fault: {results:?}");
    for (code, sender_fault) in [
        ("InternalError", false),
        ("ServiceUnavailable", false),
        ("RequestThrottled", true),
        ("AWS.SimpleQueueService.RequestThrottled", true),
        ("ThrottlingException", true),
        ("InvalidMessageContents", false),
    ] {
        let results = results_of(failed(code, sender_fault)).await;
        assert!(results.iter().all(is_transient), "{code} {sender_fault}: {results:?}");
    }
}

#[tokio::test]
async fn a_batch_of_which_the_answer_mentions_nothing_was_not_taken() {
    for answer in [
        json!({}),
        json!({ "Successful": [], "Failed": [] }),
        json!({ "Successful": [taken("3"), taken("00"), taken("")] }),
    ] {
        let results = results_of(answer.clone()).await;
        assert!(results.iter().all(is_transient), "{answer}: {results:?}");
    }
}

#[tokio::test]
async fn an_entry_that_is_said_to_be_taken_and_refused_counts_as_refused() {
    let both = json!({
        "Successful": [taken("0"), taken("1"), taken("2")],
        "Failed": [refused("1", "InternalError", false)],
    });
    let results = results_of(both).await;
    assert!(results[0].is_ok() && results[2].is_ok(), "{results:?}");
    assert!(is_transient(&results[1]), "twice is better than never: {:?}", results[1]);
}

#[tokio::test]
async fn a_failed_call_fails_every_entry() {
    let script = Script::new([error(400, "com.amazonaws.sqs#QueueDoesNotExist")]);
    let results = queue(&script).send_batch(Lane::Exact, &[message(0), message(1)]).await;
    assert!(results.len() == 2 && results.iter().all(is_permanent), "{results:?}");

    let script = Script::new(vec![error(503, "ServiceUnavailable"); 4]);
    let results = queue(&script).send_batch(Lane::Exact, &[message(0), message(1)]).await;
    assert!(results.len() == 2 && results.iter().all(is_transient), "{results:?}");
    assert_eq!(script.calls().len(), 4, "tried four times");
}

#[tokio::test]
async fn a_throttled_batch_is_sent_again_by_the_client() {
    let answer = json!({ "Successful": [taken("0")] });
    let script = Script::new([error(400, "RequestThrottled"), Reply::Json(200, answer)]);
    let results = queue(&script).send_batch(Lane::Exact, &[message(0)]).await;
    assert!(results[0].is_ok(), "{results:?}");
}

#[tokio::test]
async fn no_messages_make_no_call() {
    let script = Script::new([]);
    assert!(queue(&script).send_batch(Lane::Exact, &[]).await.is_empty());
}

#[tokio::test]
async fn a_deployment_of_one_lane_refuses_messages_of_the_other() {
    let script = Script::new([]);
    let queue = SqsJobQueue::of_lane(script.sdk().queues(), Lane::Exact, "http://q/exact".into());
    let results = queue.send_batch(Lane::Movable, &[message(0)]).await;
    assert!(is_permanent(&results[0]), "{results:?}");
}

fn letter() -> DeadLetter {
    let job = sample::job("a");
    DeadLetter {
        job_id: job.id,
        generation: job.generation,
        channel: job.spec.channel,
        class: None,
        attempts: 5,
        reason: "refused".into(),
        failed_at: NINE,
    }
}

#[tokio::test]
async fn a_dead_letter_is_sent_as_json() {
    let script = Script::new([Reply::Json(200, json!({ "MessageId": "m" }))]);
    let letters = SqsDeadLetters::new(script.sdk().queues(), "http://q/dead");
    letters.send(&letter()).await.unwrap();
    let body = script.only_body();
    assert_eq!(body["QueueUrl"], "http://q/dead");
    assert_eq!(
        body["MessageBody"],
        "{\"job_id\":\"a\",\"generation\":1796112000000,\"channel\":\"inbox\",\"class\":null,\
         \"attempts\":5,\"reason\":\"refused\",\"failed_at\":1796115600000}"
    );
}

#[tokio::test]
async fn a_dead_letter_that_was_not_taken_is_an_error() {
    let script = Script::new([error(403, "AccessDenied")]);
    let letters = SqsDeadLetters::new(script.sdk().queues(), "http://q/dead");
    assert!(is_permanent(&letters.send(&letter()).await));
    let script = Script::new(vec![Reply::Broken; 4]);
    let letters = SqsDeadLetters::new(script.sdk().queues(), "http://q/dead");
    assert!(is_transient(&letters.send(&letter()).await));
}

fn dead_letter_queues(script: &Script) -> SqsDeadLetterQueues {
    SqsDeadLetterQueues::new(script.sdk().queues(), urls())
}

#[tokio::test]
async fn dead_letters_are_received_with_what_deletes_them_and_what_is_none_is_told() {
    let message = |body: &str, receipt: &str| json!({ "Body": body, "ReceiptHandle": receipt });
    let messages = [message(&dead_letter_to_json(&letter()), "r1"), message("{}", "r2")];
    let script = Script::new([Reply::Json(200, json!({ "Messages": messages }))]);
    let received = dead_letter_queues(&script).receive(Lane::Movable, 55).await.unwrap();
    let [first, second] = [(Some(letter()), "r1"), (None, "r2")]
        .map(|(letter, receipt)| ReceivedLetter { letter, receipt: Receipt::new(receipt) });
    assert_eq!(received, [first, second]);
    let body = script.only_body();
    assert_eq!(
        (&body["QueueUrl"], &body["VisibilityTimeout"]),
        (&json!("http://q/movable"), &json!(55))
    );
    assert_eq!((&body["MaxNumberOfMessages"], &body["WaitTimeSeconds"]), (&json!(10), &json!(1)));
}

#[tokio::test]
async fn a_dead_letter_that_was_not_deleted_is_an_error() {
    let receipts = ["r1", "r2"].map(Receipt::new);
    let answer = |failed: Value| Reply::Json(200, json!({ "Successful": [], "Failed": failed }));
    let script = Script::new([answer(json!([]))]);
    dead_letter_queues(&script).delete(Lane::Exact, &receipts).await.unwrap();
    let entries = &script.only_body()["Entries"];
    assert_eq!(entries[1], json!({ "Id": "1", "ReceiptHandle": "r2" }));

    let script = Script::new([answer(json!([refused("1", "InternalError", false)]))]);
    assert!(is_transient(&dead_letter_queues(&script).delete(Lane::Exact, &receipts).await));
    let script = Script::new([answer(json!([refused("1", "AccessDenied", true)]))]);
    assert!(is_permanent(&dead_letter_queues(&script).delete(Lane::Exact, &receipts).await));
    let script = Script::new([answer(json!([refused("1", "ReceiptHandleIsInvalid", true)]))]);
    // It was deleted before.
    dead_letter_queues(&script).delete(Lane::Exact, &receipts).await.unwrap();
    dead_letter_queues(&Script::new([])).delete(Lane::Exact, &[]).await.unwrap();
}

fn waiting(count: &str) -> Value {
    json!({ "Attributes": { "ApproximateNumberOfMessages": count } })
}

#[tokio::test]
async fn the_depth_asks_its_lanes_queue_for_the_messages_that_wait_alone() {
    for (lane, url) in [(Lane::Exact, "http://q/exact"), (Lane::Movable, "http://q/movable")] {
        let script = Script::new([Reply::Json(200, waiting("1200000"))]);
        assert_eq!(depth(&script).waiting_count(lane).await.unwrap(), 1_200_000);
        let body = script.only_body();
        assert_eq!(body["QueueUrl"], url);
        assert_eq!(body["AttributeNames"], json!(["ApproximateNumberOfMessages"]));
    }
}

#[tokio::test]
async fn a_depth_that_cannot_be_read_is_a_permanent_error() {
    let others = json!({ "Attributes": { "ApproximateNumberOfMessagesDelayed": "3" } });
    for answer in [json!({}), others, waiting(""), waiting("-1"), waiting("many")] {
        let script = Script::new([Reply::Json(200, answer.clone())]);
        let Err(PortError::Permanent(source)) = depth(&script).waiting_count(Lane::Exact).await
        else {
            panic!("{answer} is no depth");
        };
        let problem = "GetQueueAttributes failed: the answer holds no count of messages";
        assert_eq!(source.to_string(), problem);
    }
}

#[tokio::test]
async fn a_depth_that_is_not_answered_is_transient_and_a_missing_queue_is_not() {
    let script = Script::new(vec![Reply::TimedOut; 4]);
    assert!(is_transient(&depth(&script).waiting_count(Lane::Exact).await));
    let script = Script::new([error(400, "com.amazonaws.sqs#QueueDoesNotExist")]);
    assert!(is_permanent(&depth(&script).waiting_count(Lane::Exact).await));
}
