use aws_sdk_dynamodb::types::AttributeValue;
use proptest::prelude::*;
use spillway_aws::item::{from_item, to_item};
use spillway_aws::schema;
use spillway_domain::job::{Claim, State};

use crate::sample::{self, NINE};

proptest! {
    #[test]
    fn a_job_is_read_back_as_it_was_written(job in sample::jobs()) {
        prop_assert_eq!(from_item(to_item(&job)).unwrap(), job);
    }

    #[test]
    fn a_row_has_no_attribute_that_the_schema_does_not_name(job in sample::jobs()) {
        for name in to_item(&job).keys() {
            prop_assert!(schema::job::ALL.contains(&name.as_str()), "{}", name);
        }
    }

    #[test]
    fn a_row_without_an_attribute_is_read_otherwise_or_refused_by_its_name(job in sample::jobs()) {
        // `lane` and `latest_at` follow from the rest and are there for readers of the table.
        let follows = [schema::job::LANE, schema::job::LATEST_AT];
        for name in to_item(&job).keys().filter(|name| !follows.contains(&name.as_str())) {
            let mut item = to_item(&job);
            item.remove(name);
            match from_item(item) {
                Ok(read) => prop_assert_ne!(read, job.clone(), "without {}", name),
                Err(error) if name == schema::job::CLAIM_TOKEN || name == schema::job::CLAIM_UNTIL => {
                    prop_assert!(error.name.starts_with("claim_"));
                }
                Err(error) => prop_assert_eq!(&error.name, name),
            }
        }
    }

    #[test]
    fn an_attribute_of_another_type_is_refused_by_its_name(job in sample::jobs()) {
        let follows = [schema::job::LANE, schema::job::LATEST_AT];
        for name in to_item(&job).keys().filter(|name| !follows.contains(&name.as_str())) {
            let mut item = to_item(&job);
            item.insert(name.clone(), AttributeValue::Null(true));
            prop_assert_eq!(&from_item(item).unwrap_err().name, name);
        }
    }
}

#[test]
fn a_plain_row_looks_like_this() {
    let item = to_item(&sample::job("birthday:42"));
    let mut lines: Vec<_> = item.iter().map(|(name, value)| format!("{name} {value:?}")).collect();
    lines.sort();
    let expected = r#"accepted_at N("1796112000000")
attempts N("0")
bucket S("2026-12-01T09:00Z#0002")
channel S("inbox")
created_at N("1796112000000")
due_at N("1796115600000")
early_seconds N("0")
generation N("1796112000000")
job_id S("birthday:42")
late_seconds N("0")
latest_at N("1796115600000")
latest_at_max N("1796115600000")
lateness_budget_seconds N("10")
lane S("exact")
payload S("{\"user\":42}")
priority N("1")
release_at N("1796115600000")
requested_at N("1796115600000")
state S("scheduled")"#;
    let mut expected: Vec<_> = expected.lines().collect();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn what_was_not_asked_leaves_no_map() {
    let mut job = sample::job("a");
    assert!(!to_item(&job).contains_key("asked"));
    job.spec.overrides.late_seconds = Some(0);
    assert!(to_item(&job)["asked"].as_m().unwrap().contains_key("late_seconds"));
}

#[test]
fn values_out_of_their_bounds_are_refused_by_their_attribute() {
    let cases = [
        ("job_id", AttributeValue::S("a b".into())),
        ("state", AttributeValue::S("lost".into())),
        ("channel", AttributeValue::S("In Box".into())),
        ("class", AttributeValue::S(String::new())),
        ("bucket", AttributeValue::S("2026-12-01T09:00Z".into())),
        ("priority", AttributeValue::N("256".into())),
        ("attempts", AttributeValue::N("-1".into())),
        ("due_at", AttributeValue::N("1.5".into())),
        ("payload", AttributeValue::S("x".repeat(65_537))),
        ("asked", AttributeValue::M([("priority".into(), AttributeValue::S("1".into()))].into())),
    ];
    for (name, value) in cases {
        let mut item = to_item(&sample::job("a"));
        item.insert(name.to_owned(), value);
        let named = if name == "asked" { "priority" } else { name };
        assert_eq!(from_item(item).unwrap_err().name, named);
    }
}

#[test]
fn half_a_claim_is_refused() {
    let mut job = sample::job("a");
    job.state = State::Claimed;
    job.claim = Some(Claim { token: sample::token(), until: NINE });
    for name in ["claim_token", "claim_until"] {
        let mut item = to_item(&job);
        item.remove(name);
        assert_eq!(from_item(item).unwrap_err().name, name);
    }
}
