//! The functions: their runtime, their environment, their time-outs and what calls them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;

use serde_json::Value;
use spillway_aws::config::{ConfigError, DispatchConfig, IntakeConfig, PrefetchConfig};
use spillway_domain::claim::{claim_seconds, outlives_function};
use spillway_domain::precision::Lane;
use spillway_simulator::world::{INTAKE_SECONDS, PREFETCH_SECONDS, timeout_seconds};

use super::{properties, resources, template};
use crate::repository;

/// What the log reads by itself.
const LOG_LEVEL: &str = "SPILLWAY_LOG_LEVEL";

/// The dispatch deployments, their lanes, and their time-outs in seconds.
const DISPATCH: [(&str, Lane, u32); 2] =
    [("ExactDispatchFunction", Lane::Exact, 15), ("MovableDispatchFunction", Lane::Movable, 60)];

/// The text that a variable has in a stack of the template's defaults.
fn deployed(template: &Value, value: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let Some(name) = value["Ref"].as_str() else { return text(value) };
    let default = &template["Parameters"][name]["Default"];
    if default.is_null() {
        assert!(template["Resources"][name].is_object(), "nothing is named {name}");
        format!("id-of-{name}")
    } else {
        text(default)
    }
}

/// A function's variables, those of all functions included.
fn variables(template: &Value, function: &str) -> Vec<(String, String)> {
    let own = &properties(template, function)["Environment"]["Variables"];
    let of_all = &template["Globals"]["Function"]["Environment"]["Variables"];
    let both = [of_all, own].into_iter().filter_map(Value::as_object).flatten();
    both.map(|(name, value)| (name.clone(), deployed(template, value))).collect()
}

/// Tells the value of a variable.
type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Reads a function's settings from the template and tells which variables were asked for.
fn read_settings<T: Debug>(
    function: &str,
    read: fn(&Lookup<'_>) -> Result<T, ConfigError>,
) -> (T, BTreeSet<String>, BTreeSet<String>) {
    let variables = variables(&template(), function);
    let asked = RefCell::new(BTreeSet::new());
    let lookup = |name: &str| {
        asked.borrow_mut().insert(name.to_owned());
        let found = variables.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.clone())
    };
    let settings = read(&lookup).unwrap_or_else(|error| panic!("{function}: {error}"));
    let mut given: BTreeSet<_> = variables.into_iter().map(|(name, _)| name).collect();
    assert!(given.remove(LOG_LEVEL), "{function} has {LOG_LEVEL}");
    (settings, asked.into_inner(), given)
}

#[test]
fn intake_is_given_the_settings_that_it_reads_and_no_others() {
    let (settings, asked, given) = read_settings("IntakeFunction", |at| IntakeConfig::read(at));
    assert_eq!(asked, given);
    assert_eq!(settings.queues.exact, "id-of-ExactQueue");
    assert_eq!(settings.queues.movable, "id-of-MovableQueue");
    assert_eq!(settings.tables.jobs, "id-of-JobsTable");
    assert_eq!(settings.tables.control, "id-of-ControlTable");
}

#[test]
fn prefetch_is_given_the_settings_that_it_reads_and_no_others() {
    let (settings, asked, given) = read_settings("PrefetchFunction", |at| PrefetchConfig::read(at));
    assert_eq!(asked, given);
    assert_eq!(settings.queues.exact, "id-of-ExactQueue");
    assert_eq!(settings.queues.movable, "id-of-MovableQueue");
}

#[test]
fn each_dispatch_deployment_is_given_the_settings_of_its_lane_and_no_others() {
    for (function, lane, _) in DISPATCH {
        let (settings, asked, given) = read_settings(function, |at| DispatchConfig::read(at));
        assert_eq!(asked, given);
        assert_eq!(settings.lane, lane);
        let prefix = function.trim_end_matches("DispatchFunction");
        assert_eq!(settings.queue_url, format!("id-of-{prefix}Queue"));
        assert_eq!(settings.dead_letter_queue_url, format!("id-of-{prefix}DeadLetterQueue"));
    }
}

#[test]
fn each_function_starts_with_what_the_cold_start_check_gives_it() {
    let script = repository::read("infra/cold_start.py");
    let line = |name: &str| script.lines().find_map(|line| line.trim().strip_prefix(name));
    let given = |name: &str| {
        let value = line(&format!("\"{name}\": \""))?.strip_suffix("\",")?;
        Some(value.to_owned())
    };
    IntakeConfig::read(given).unwrap();
    PrefetchConfig::read(given).unwrap();
    DispatchConfig::read(given).unwrap();
}

#[test]
fn every_function_runs_on_the_runtime_that_the_binaries_are_linked_for() {
    let template = template();
    let of_all = &template["Globals"]["Function"];
    assert_eq!(of_all["Runtime"], "provided.al2023");
    assert_eq!(of_all["Handler"], "bootstrap");
    assert_eq!(of_all["Architectures"][0]["Ref"], "Architecture");
    let functions: Vec<_> = resources(&template, "AWS::Serverless::Function").collect();
    assert_eq!(functions.len(), 4);
    for (name, function) in functions {
        for inherited in ["Runtime", "Handler", "Architectures", "ReservedConcurrentExecutions"] {
            assert!(function["Properties"][inherited].is_null(), "{name} says its own {inherited}");
        }
    }
}

#[test]
fn the_template_reserves_no_concurrency() {
    let text = template().to_string();
    for reserved in ["ReservedConcurrentExecutions", "ProvisionedConcurrency"] {
        assert!(!text.contains(reserved), "{reserved}");
    }
}

#[test]
fn a_claim_outlives_the_function_that_holds_it() {
    let template = template();
    for (name, lane, timeout_seconds) in DISPATCH {
        let function = properties(&template, name);
        assert_eq!(function["Timeout"], timeout_seconds, "{name}");
        assert!(outlives_function(lane, timeout_seconds));
        let variable = &function["Environment"]["Variables"]["SPILLWAY_FUNCTION_TIMEOUT_SECONDS"];
        assert_eq!(variable, &timeout_seconds.to_string(), "what {name} is told of itself");
    }
}

#[test]
fn the_simulator_ends_each_function_when_the_template_does() {
    let template = template();
    let timeout = |name: &str| properties(&template, name)["Timeout"].as_i64();
    assert_eq!(timeout("IntakeFunction"), Some(INTAKE_SECONDS));
    assert_eq!(timeout("PrefetchFunction"), Some(PREFETCH_SECONDS));
    for (name, lane, _) in DISPATCH {
        assert_eq!(timeout(name), Some(timeout_seconds(lane)), "{name}");
    }
}

#[test]
fn a_message_comes_back_after_its_claim_ran_out() {
    let template = template();
    for (queue, lane, seconds) in
        [("ExactQueue", Lane::Exact, 30), ("MovableQueue", Lane::Movable, 90)]
    {
        assert_eq!(properties(&template, queue)["VisibilityTimeout"], seconds, "{queue}");
        assert!(seconds > claim_seconds(lane), "{queue}");
    }
}

#[test]
fn intake_answers_before_the_gateway_gives_up() {
    let template = template();
    let timeout = properties(&template, "IntakeFunction")["Timeout"].as_u64().unwrap();
    assert!(timeout < 30, "an HTTP API waits for 30 s");
}

#[test]
fn a_tick_is_never_tried_again_and_never_a_minute_old() {
    let template = template();
    let no_retries = |policy: &Value| {
        assert_eq!(policy["MaximumRetryAttempts"], 0);
        assert_eq!(policy["MaximumEventAgeInSeconds"], 60);
    };
    no_retries(&properties(&template, "PrefetchFunction")["EventInvokeConfig"]);
    let rule = properties(&template, "PrefetchRule");
    assert_eq!(rule["ScheduleExpression"], "cron(* * * * ? *)", "each minute, as it begins");
    let targets = rule["Targets"].as_array().unwrap();
    assert_eq!(targets.len(), 2, "two runs a minute, side by side");
    for target in targets {
        assert_eq!(target["Arn"]["Fn::GetAtt"], "PrefetchFunction.Arn");
        no_retries(&target["RetryPolicy"]);
    }
    assert_ne!(targets[0]["Id"], targets[1]["Id"]);
}

#[test]
fn dispatch_may_pass_a_job_on_through_its_own_queue() {
    let template = template();
    for (name, ..) in DISPATCH {
        assert_eq!(properties(&template, name)["RecursiveLoop"], "Allow", "{name}");
    }
}

#[test]
fn the_gateway_sends_every_route_to_intake_with_payload_format_two() {
    let template = template();
    let integration = properties(&template, "HttpIntegration");
    assert_eq!(integration["IntegrationUri"]["Fn::GetAtt"], "IntakeFunction.Arn");
    assert_eq!(integration["PayloadFormatVersion"], "2.0");
    let routes: Vec<_> = resources(&template, "AWS::ApiGatewayV2::Route").collect();
    let keys: BTreeSet<_> =
        routes.iter().map(|(_, route)| route["Properties"]["RouteKey"].as_str().unwrap()).collect();
    let expected = [
        "$default",
        "DELETE /v1/jobs/{job_id}",
        "GET /v1/jobs/{job_id}",
        "POST /v1/jobs",
        "PUT /v1/jobs/{job_id}",
    ];
    assert_eq!(keys, BTreeSet::from(expected));
    for (name, route) in routes {
        let target = &route["Properties"]["Target"]["Fn::Sub"];
        assert_eq!(target, "integrations/${HttpIntegration}", "{name}");
        let authorization = &route["Properties"]["AuthorizationType"]["Ref"];
        assert_eq!(authorization, "HttpAuthorization", "{name}");
    }
    assert_eq!(template["Parameters"]["HttpAuthorization"]["Default"], "AWS_IAM");
}
