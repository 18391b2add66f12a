//! Each function's role allows exactly the calls that it makes (R31).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{properties, resources, template};
use crate::repository;
use crate::repository::TextFile;

type Calls = BTreeSet<&'static str>;
/// What a role allows: the calls on each resource.
type Grants = BTreeMap<String, BTreeSet<String>>;

/// The adapters and the calls that they make.
const ADAPTERS: [(&str, &[&str]); 12] = [
    ("dynamodb_intake", &["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]),
    ("dynamodb_claims", &["dynamodb:UpdateItem"]),
    ("dynamodb_due_index", &["dynamodb:Query"]),
    ("dynamodb_control", &["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]),
    ("sqs_job_queue", &["sqs:SendMessage"]),
    ("sqs_dead_letters", &["sqs:SendMessage"]),
    ("channel_sender", &["events:PutEvents", "sqs:SendMessage"]),
    ("sqs_queue_depth", &["sqs:GetQueueAttributes"]),
    ("dynamodb_limiter", &["dynamodb:UpdateItem"]),
    ("dynamodb_redrives", &["dynamodb:GetItem", "dynamodb:UpdateItem"]),
    ("sqs_dead_letter_queues", &["sqs:DeleteMessage", "sqs:ReceiveMessage"]),
    ("ssm_secrets", &["ssm:GetParameter"]),
];

/// How a call looks in an adapter, and the action that it needs.
const CALLS: [(&str, &str); 19] = [
    (".get_item()", "dynamodb:GetItem"),
    ("row::read(", "dynamodb:GetItem"),
    (".batch_get_item()", "dynamodb:BatchGetItem"),
    (".put_item()", "dynamodb:PutItem"),
    (".run_put(", "dynamodb:PutItem"),
    (".update_item()", "dynamodb:UpdateItem"),
    (".run_update(", "dynamodb:UpdateItem"),
    ("row::change(", "dynamodb:UpdateItem"),
    (".delete_item()", "dynamodb:DeleteItem"),
    (".query()", "dynamodb:Query"),
    (".scan()", "dynamodb:Scan"),
    (".send_message()", "sqs:SendMessage"),
    (".send_message_batch()", "sqs:SendMessage"),
    (".receive_message()", "sqs:ReceiveMessage"),
    (".get_queue_attributes()", "sqs:GetQueueAttributes"),
    (".delete_message()", "sqs:DeleteMessage"),
    (".delete_message_batch()", "sqs:DeleteMessage"),
    (".put_events()", "events:PutEvents"),
    (".get_parameter()", "ssm:GetParameter"),
];

fn calls_in(file: &TextFile) -> Calls {
    let found = |pattern: &str| file.code().any(|(_, line)| line.contains(pattern));
    CALLS.into_iter().filter(|(pattern, _)| found(pattern)).map(|(_, action)| action).collect()
}

#[test]
fn each_adapter_makes_the_calls_that_the_roles_are_derived_from() {
    for (adapter, actions) in ADAPTERS {
        let path = format!("shared/aws/src/{adapter}.rs");
        let file = TextFile { text: repository::read(&path), path };
        assert_eq!(calls_in(&file), actions.iter().copied().collect::<Calls>(), "{adapter}");
    }
}

/// The adapters that a function's `main.rs` puts together.
fn adapters_of(function: &str) -> BTreeSet<String> {
    let text = repository::read(&format!("functions/{function}/src/main.rs"));
    let uses = text.lines().filter_map(|line| line.strip_prefix("use spillway_aws::"));
    let modules =
        uses.filter_map(|used| used.split_once("::")).map(|(module, _)| module.to_owned());
    modules
        .filter(|module| !["clients", "config", "system_clock"].contains(&module.as_str()))
        .collect()
}

#[test]
fn each_function_is_wired_to_the_adapters_that_its_role_is_derived_from() {
    let wired = |function, adapters: &[&str]| {
        let expected = adapters.iter().map(|adapter| (*adapter).to_owned()).collect();
        assert_eq!(adapters_of(function), expected, "{function}");
    };
    wired("intake", &["dynamodb_control", "dynamodb_intake", "sqs_job_queue"]);
    let of_prefetch = [
        "dynamodb_control",
        "dynamodb_due_index",
        "dynamodb_redrives",
        "sqs_dead_letter_queues",
        "sqs_job_queue",
        "sqs_queue_depth",
    ];
    wired("prefetch", &of_prefetch);
    let of_dispatch = [
        "channel_sender",
        "dynamodb_claims",
        "dynamodb_control",
        "dynamodb_limiter",
        "sqs_dead_letters",
        "sqs_job_queue",
        "ssm_secrets",
    ];
    wired("dispatch", &of_dispatch);
}

fn expected(grants: &[(&str, &[&str])]) -> Grants {
    let owned = |actions: &[&str]| actions.iter().map(|action| (*action).to_owned()).collect();
    grants.iter().map(|(resource, actions)| ((*resource).to_owned(), owned(actions))).collect()
}

const WRITE_LOG: [&str; 2] = ["logs:CreateLogStream", "logs:PutLogEvents"];
/// The settings are read by every function; prefetch writes its state to the control table, dispatch
/// the limiter's.
const READ_SETTINGS: [&str; 1] = ["dynamodb:GetItem"];

#[test]
fn intake_may_read_and_write_jobs_read_settings_and_send_to_both_lanes() {
    let intake = expected(&[
        ("JobsTable.Arn", ADAPTERS[0].1),
        ("ControlTable.Arn", &READ_SETTINGS),
        ("ExactQueue.Arn", ADAPTERS[4].1),
        ("MovableQueue.Arn", ADAPTERS[4].1),
        ("IntakeLogGroup.Arn", &WRITE_LOG),
    ]);
    assert_eq!(grants("IntakeRole"), intake);
}

#[test]
fn prefetch_may_read_the_index_keep_its_state_send_to_both_lanes_and_put_failed_jobs_back() {
    let send_and_measure = [ADAPTERS[4].1, ADAPTERS[7].1].concat();
    let prefetch = expected(&[
        ("${JobsTable.Arn}/index/due-minute", ADAPTERS[2].1),
        ("JobsTable.Arn", ADAPTERS[8].1),
        ("ExactDeadLetterQueue.Arn", ADAPTERS[9].1),
        ("MovableDeadLetterQueue.Arn", ADAPTERS[9].1),
        ("ControlTable.Arn", ADAPTERS[3].1),
        ("ExactQueue.Arn", &send_and_measure),
        ("MovableQueue.Arn", &send_and_measure),
        ("PrefetchLogGroup.Arn", &WRITE_LOG),
    ]);
    assert_eq!(grants("PrefetchRole"), prefetch);
}

/// The event source receives and deletes with the function's role.
const SERVE_QUEUE: [&str; 4] =
    ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage", "sqs:SendMessage"];
const DEFAULT_BUS: &str =
    "arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/default";

#[test]
fn dispatch_may_write_jobs_serve_its_lane_and_send_to_the_channels_that_the_stack_names() {
    for lane in ["Exact", "Movable"] {
        let (queue, dead_letters) =
            (format!("{lane}Queue.Arn"), format!("{lane}DeadLetterQueue.Arn"));
        let log = format!("{lane}DispatchLogGroup.Arn");
        let read_settings_and_lease = [&READ_SETTINGS[..], ADAPTERS[8].1].concat();
        let dispatch = expected(&[
            ("JobsTable.Arn", ADAPTERS[1].1),
            ("ControlTable.Arn", &read_settings_and_lease),
            (&queue, &SERVE_QUEUE),
            (&dead_letters, ADAPTERS[5].1),
            ("ChannelQueueArns", &["sqs:SendMessage"]),
            ("ChannelBusArns", &["events:PutEvents"]),
            ("WebhookSecretArns", ADAPTERS[8].1),
            (DEFAULT_BUS, &["events:PutEvents"]),
            (&log, &WRITE_LOG),
        ]);
        assert_eq!(grants(&format!("{lane}DispatchRole")), dispatch);
    }
}

#[test]
fn each_function_has_a_role_of_its_own_and_no_policy_beside_it() {
    let template = template();
    let functions: Vec<_> = resources(&template, "AWS::Serverless::Function").collect();
    for (name, function) in &functions {
        let role = format!("{}Role", name.trim_end_matches("Function"));
        assert_eq!(function["Properties"]["Role"]["Fn::GetAtt"], format!("{role}.Arn"));
        assert!(function["Properties"]["Policies"].is_null(), "{name}");
        assert!(properties(&template, &role)["ManagedPolicyArns"].is_null(), "{role}");
    }
    assert_eq!(resources(&template, "AWS::IAM::Role").count(), functions.len());
    assert_eq!(resources(&template, "AWS::IAM::Policy").count(), 0);
}

#[test]
fn every_statement_lists_its_actions_and_its_resources_without_a_wildcard() {
    let template = template();
    for (name, _) in resources(&template, "AWS::IAM::Role") {
        for (resource, actions) in grants(name) {
            assert!(!resource.contains('*'), "{name}: {resource}");
            assert!(
                !actions.is_empty() && actions.iter().all(|action| !action.contains('*')),
                "{name}"
            );
        }
    }
}

/// What a role's statements allow, under any condition of the template.
fn grants(role: &str) -> Grants {
    let template = template();
    let mut grants = Grants::new();
    for policy in properties(&template, role)["Policies"].as_array().unwrap() {
        for statement in policy["PolicyDocument"]["Statement"].as_array().unwrap() {
            for statement in branches(statement) {
                add_statement(&mut grants, statement);
            }
        }
    }
    grants
}

fn add_statement(grants: &mut Grants, statement: &Value) {
    assert_eq!(statement["Effect"], "Allow");
    let fields: BTreeSet<_> = statement.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, BTreeSet::from(["Action", "Effect", "Resource"]));
    let resources = listed(&statement["Resource"]).into_iter().flat_map(branches).map(name_of);
    let actions = listed(&statement["Action"]).into_iter().map(|action| action.as_str().unwrap());
    for resource in resources {
        grants.entry(resource).or_default().extend(actions.clone().map(str::to_owned));
    }
}

/// One value or a list of them.
fn listed(value: &Value) -> Vec<&Value> {
    value.as_array().map_or_else(|| vec![value], |values| values.iter().collect())
}

/// What a value may be: itself, or either side of a condition.
fn branches(value: &Value) -> Vec<&Value> {
    match value["Fn::If"].as_array() {
        None if value["Ref"] == "AWS::NoValue" => Vec::new(),
        None => vec![value],
        Some(condition) => condition[1..].iter().flat_map(branches).collect(),
    }
}

/// How a resource is named: what it refers to.
fn name_of(resource: &Value) -> String {
    let functions = ["Ref", "Fn::GetAtt", "Fn::Sub"];
    let named = functions.iter().find_map(|function| resource[function].as_str());
    named.or_else(|| resource.as_str()).unwrap_or_else(|| panic!("{resource}")).to_owned()
}
