use std::collections::HashMap;

use spillway_aws::config::{ConfigError, DispatchConfig, IntakeConfig, PrefetchConfig};
use spillway_domain::pace::Pace;
use spillway_domain::precision::Lane;
use spillway_domain::staging::Lookahead;

fn environment() -> HashMap<String, String> {
    [
        ("SPILLWAY_JOBS_TABLE", "jobs"),
        ("SPILLWAY_CONTROL_TABLE", "control"),
        ("SPILLWAY_EXACT_QUEUE_URL", "http://queue/exact"),
        ("SPILLWAY_MOVABLE_QUEUE_URL", "http://queue/movable"),
        ("SPILLWAY_LOOKAHEAD_SECONDS", "300"),
        ("SPILLWAY_SHARD_COUNT", "64"),
        ("SPILLWAY_CATCH_UP_JOBS_PER_SECOND", "5000"),
        ("SPILLWAY_RETENTION_DAYS", "7"),
        ("SPILLWAY_LANE", "movable"),
        ("SPILLWAY_QUEUE_URL", "http://queue/movable"),
        ("SPILLWAY_DEAD_LETTER_QUEUE_URL", "http://queue/dead"),
        ("SPILLWAY_EXACT_DEAD_LETTER_QUEUE_URL", "http://queue/exact-dead"),
        ("SPILLWAY_MOVABLE_DEAD_LETTER_QUEUE_URL", "http://queue/movable-dead"),
        ("SPILLWAY_FUNCTION_TIMEOUT_SECONDS", "60"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

fn dispatch_with(changes: &[(&str, &str)]) -> Result<DispatchConfig, ConfigError> {
    let mut environment = environment();
    for (name, value) in changes {
        environment.insert((*name).to_owned(), (*value).to_owned());
    }
    DispatchConfig::read(|name| environment.get(name).cloned())
}

#[test]
fn each_function_reads_what_it_needs() {
    let environment = environment();
    let lookup = |name: &str| environment.get(name).cloned();
    let intake = IntakeConfig::read(lookup).unwrap();
    assert_eq!(intake.retention_seconds, 604_800);
    assert_eq!(intake.queues.movable, "http://queue/movable");
    let prefetch = PrefetchConfig::read(lookup).unwrap();
    assert_eq!(Some(prefetch.pace), Pace::from_jobs_per_second(5_000));
    assert_eq!((prefetch.tables.jobs, prefetch.tables.control), ("jobs".into(), "control".into()));
    assert_eq!(prefetch.dead_letter_queues.exact, "http://queue/exact-dead");
    assert_eq!(prefetch.dead_letter_queues.movable, "http://queue/movable-dead");
    let dispatch = DispatchConfig::read(lookup).unwrap();
    assert_eq!((dispatch.lane, dispatch.staging.shard_count.get()), (Lane::Movable, 64));
    assert_eq!(Some(dispatch.staging.lookahead), Lookahead::from_seconds(300));
    assert_eq!(dispatch.dead_letter_queue_url, "http://queue/dead");
}

#[test]
fn a_missing_or_empty_variable_is_named() {
    for name in environment().keys() {
        let with_it_empty = dispatch_with(&[(name, "")]);
        let of_others = [
            "EXACT_QUEUE_URL",
            "MOVABLE_QUEUE_URL",
            "EXACT_DEAD_LETTER_QUEUE_URL",
            "MOVABLE_DEAD_LETTER_QUEUE_URL",
            "CATCH_UP_JOBS_PER_SECOND",
        ];
        if of_others.iter().any(|other| name.ends_with(other)) {
            assert!(
                with_it_empty.is_ok(),
                "dispatch reaches its own queue alone, and stages nothing"
            );
        } else {
            assert_eq!(with_it_empty.unwrap_err().to_string(), format!("{name} is not set"));
        }
    }
    let nothing = IntakeConfig::read(|_| None).unwrap_err();
    assert_eq!(nothing, ConfigError::Missing { name: "SPILLWAY_JOBS_TABLE" });
}

#[test]
fn a_variable_out_of_bounds_is_named_with_its_bound() {
    let cases = [
        ("SPILLWAY_LOOKAHEAD_SECONDS", "59", "60 to 690"),
        ("SPILLWAY_LOOKAHEAD_SECONDS", "691", "60 to 690"),
        ("SPILLWAY_LOOKAHEAD_SECONDS", "five", "60 to 690"),
        ("SPILLWAY_SHARD_COUNT", "0", "1 to 10000"),
        ("SPILLWAY_SHARD_COUNT", "10001", "1 to 10000"),
        ("SPILLWAY_RETENTION_DAYS", "0", "1 to 3650"),
        ("SPILLWAY_RETENTION_DAYS", "-1", "1 to 3650"),
        ("SPILLWAY_LANE", "fast", "exact or movable"),
        ("SPILLWAY_FUNCTION_TIMEOUT_SECONDS", "901", "1 to 900"),
    ];
    for (name, value, bound) in cases {
        let error = dispatch_with(&[(name, value)]).unwrap_err();
        assert_eq!(error.to_string(), format!("{name} must be {bound}, not {value:?}"));
    }
}

#[test]
fn a_pace_out_of_bounds_is_named_with_its_bound() {
    let name = "SPILLWAY_CATCH_UP_JOBS_PER_SECOND";
    for value in ["0", "1000001", "many"] {
        let environment = environment();
        let lookup = |asked: &str| {
            let given = (asked == name).then(|| value.to_owned());
            given.or_else(|| environment.get(asked).cloned())
        };
        let error = PrefetchConfig::read(lookup).unwrap_err();
        assert_eq!(error.to_string(), format!("{name} must be 1 to 1000000, not {value:?}"));
    }
}

#[test]
fn a_function_that_may_outlive_its_claims_does_not_start() {
    assert!(dispatch_with(&[("SPILLWAY_FUNCTION_TIMEOUT_SECONDS", "61")]).is_err());
    let of_exact = |seconds| {
        dispatch_with(&[("SPILLWAY_LANE", "exact"), ("SPILLWAY_FUNCTION_TIMEOUT_SECONDS", seconds)])
    };
    assert!(of_exact("15").is_ok());
    let error = of_exact("16").unwrap_err().to_string();
    assert!(error.starts_with("SPILLWAY_FUNCTION_TIMEOUT_SECONDS must be below 16"), "{error}");
}
