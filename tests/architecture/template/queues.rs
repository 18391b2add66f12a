//! The queues and what reads them.

use std::collections::BTreeSet;

use serde_json::json;

use super::{properties, resources, template};

const LANES: [&str; 2] = ["Exact", "Movable"];
/// A receive count rises with every throttled invocation: it must be far from any count of attempts.
const RECEIVE_COUNT_MIN: u64 = 100;

#[test]
fn each_lane_has_a_queue_and_a_dead_letter_queue_of_its_own() {
    let template = template();
    let queues: BTreeSet<_> =
        resources(&template, "AWS::SQS::Queue").map(|(name, _)| name).collect();
    let expected = ["ExactDeadLetterQueue", "ExactQueue", "MovableDeadLetterQueue", "MovableQueue"];
    assert_eq!(queues, BTreeSet::from(expected));
    for lane in LANES {
        let redrive = &properties(&template, &format!("{lane}Queue"))["RedrivePolicy"];
        let target = &redrive["deadLetterTargetArn"]["Fn::GetAtt"];
        assert_eq!(target, &format!("{lane}DeadLetterQueue.Arn"));
        assert!(redrive["maxReceiveCount"].as_u64().unwrap() >= RECEIVE_COUNT_MIN, "{lane}");
    }
}

#[test]
fn messages_are_kept_as_long_as_sqs_keeps_them() {
    let template = template();
    for (name, queue) in resources(&template, "AWS::SQS::Queue") {
        assert_eq!(queue["Properties"]["MessageRetentionPeriod"], 14 * 86_400, "{name}");
        assert!(queue["Properties"]["FifoQueue"].is_null(), "{name}: no delay for each message");
    }
}

#[test]
fn each_dispatch_deployment_reads_its_lanes_queue_and_answers_for_each_message() {
    let template = template();
    assert_eq!(resources(&template, "AWS::Lambda::EventSourceMapping").count(), LANES.len());
    for lane in LANES {
        let source = properties(&template, &format!("{lane}EventSource"));
        assert_eq!(source["EventSourceArn"]["Fn::GetAtt"], format!("{lane}Queue.Arn"));
        assert_eq!(source["FunctionName"]["Ref"], format!("{lane}DispatchFunction"));
        assert_eq!(source["FunctionResponseTypes"], json!(["ReportBatchItemFailures"]));
        assert!(
            source["MaximumBatchingWindowInSeconds"].is_null(),
            "a window would make jobs late"
        );
        assert!(source["ScalingConfig"]["MaximumConcurrency"].as_u64().unwrap() >= 2);
    }
}
