//! The tables, against the names that the adapters use.

use serde_json::{Value, json};
use spillway_aws::schema::{DUE_MINUTE_INDEX, control, job};
use spillway_domain::bucket::SHARD_COUNT_MAX;
use spillway_domain::pace::PACE_JOBS_PER_SECOND_MAX;
use spillway_domain::staging::{LOOKAHEAD_SECONDS_MAX, LOOKAHEAD_SECONDS_MIN};

use super::{properties, resources, template};

fn key(attribute: &str, kind: &str) -> Value {
    json!({ "AttributeName": attribute, "KeyType": kind })
}

fn attribute(name: &str, kind: &str) -> Value {
    json!({ "AttributeName": name, "AttributeType": kind })
}

#[test]
fn the_jobs_table_has_the_key_that_the_code_writes() {
    let template = template();
    let table = properties(&template, "JobsTable");
    assert_eq!(table["KeySchema"], json!([key(job::JOB_ID, "HASH")]));
    let attributes = json!([
        attribute(job::JOB_ID, "S"),
        attribute(job::BUCKET, "S"),
        attribute(job::RELEASE_AT, "N")
    ]);
    assert_eq!(table["AttributeDefinitions"], attributes);
}

#[test]
fn the_index_has_the_name_the_keys_and_the_attributes_that_the_code_reads() {
    let template = template();
    let indexes = properties(&template, "JobsTable")["GlobalSecondaryIndexes"].as_array().unwrap();
    let [index] = &indexes[..] else { panic!("one index") };
    assert_eq!(index["IndexName"], DUE_MINUTE_INDEX);
    assert_eq!(
        index["KeySchema"],
        json!([key(job::BUCKET, "HASH"), key(job::RELEASE_AT, "RANGE")])
    );
    assert_eq!(index["Projection"]["ProjectionType"], "INCLUDE");
    assert_eq!(index["Projection"]["NonKeyAttributes"], json!(job::PROJECTED));
    assert!(!job::PROJECTED.contains(&job::STATE), "a claim would write the index as well");
}

#[test]
fn the_control_table_has_the_key_that_the_code_writes() {
    let template = template();
    let table = properties(&template, "ControlTable");
    assert_eq!(table["KeySchema"], json!([key(control::KEY, "HASH")]));
    assert_eq!(table["AttributeDefinitions"], json!([attribute(control::KEY, "S")]));
}

#[test]
fn both_tables_drop_finished_items_and_can_be_restored_to_any_second() {
    let template = template();
    let tables: Vec<_> = resources(&template, "AWS::DynamoDB::Table").collect();
    assert_eq!(tables.len(), 2);
    for (name, table) in tables {
        let table = &table["Properties"];
        let ttl = json!({ "AttributeName": job::TTL, "Enabled": true });
        assert_eq!(table["TimeToLiveSpecification"], ttl, "{name}");
        let restore = &table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"];
        assert_eq!(restore, true, "{name}");
    }
}

#[test]
fn the_bounds_of_the_parameters_are_the_codes() {
    let parameters = &template()["Parameters"];
    let bounds =
        |name: &str| (parameters[name]["MinValue"].clone(), parameters[name]["MaxValue"].clone());
    assert_eq!(bounds("ShardCount"), (json!(1), json!(SHARD_COUNT_MAX)));
    let lookahead = (json!(LOOKAHEAD_SECONDS_MIN), json!(LOOKAHEAD_SECONDS_MAX));
    assert_eq!(bounds("LookaheadSeconds"), lookahead);
    assert_eq!(bounds("CatchUpJobsPerSecond"), (json!(1), json!(PACE_JOBS_PER_SECOND_MAX)));
    assert_eq!(parameters["RetentionDays"]["MinValue"], 1);
}
