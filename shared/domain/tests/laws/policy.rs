//! R2: what the policy makes of a spec.

use std::collections::BTreeMap;

use proptest::prelude::*;
use spillway_domain::name::{ChannelName, ClassName};
use spillway_domain::policy::Policy;
use spillway_domain::precision::{Contract, Lane};
use spillway_domain::spec::{JobSpec, Overrides};
use spillway_domain::time::Instant;

use crate::arbitrary::{contract, seeded};
use crate::samples;

const SOON: Instant = Instant::from_millis(60_000);

fn policy(classes: &[(&str, Contract)]) -> Policy {
    let class = |(name, contract): &(&str, Contract)| (ClassName::new(*name).unwrap(), *contract);
    Policy {
        classes: classes.iter().map(class).collect(),
        channels: BTreeMap::from([(ChannelName::new("inbox").unwrap(), samples::channel())]),
    }
}

fn spec(class: Option<&str>, overrides: Overrides) -> JobSpec {
    let class = class.map(|name| ClassName::new(name).unwrap());
    JobSpec { class, overrides, ..samples::spec(SOON) }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn a_job_has_the_contract_of_its_class(contract in contract()) {
        let asked = spec(Some("some"), Overrides::default());
        prop_assert_eq!(policy(&[("some", contract)]).contract(&asked), Ok(contract));
    }

    #[test]
    fn a_field_of_the_job_takes_the_place_of_its_classs_and_leaves_the_others(
        of_class in contract(), of_job in contract(),
    ) {
        let overrides = Overrides {
            early_seconds: Some(of_job.early_seconds),
            late_seconds: Some(of_job.late_seconds),
            expires_after_seconds: of_job.expires_after_seconds,
            priority: None,
        };
        let of_class = Contract { expires_after_seconds: None, ..of_class };
        let given = policy(&[("some", of_class)]).contract(&spec(Some("some"), overrides)).unwrap();
        prop_assert_eq!(given, Contract { priority: of_class.priority, ..of_job });
    }

    #[test]
    fn a_class_that_the_policy_does_not_name_is_a_problem_and_never_a_default(
        named in contract(),
    ) {
        let problems = policy(&[("some", named)]).contract(&spec(Some("other"), Overrides::default()));
        let fields: Vec<_> = problems.unwrap_err().into_iter().map(|problem| problem.field).collect();
        prop_assert_eq!(fields, ["class"]);
    }
}

#[test]
fn a_job_that_names_neither_a_class_nor_a_window_is_exact() {
    let movable = Contract { late_seconds: 30, ..Contract::EXACT };
    let given =
        policy(&[("default", movable)]).contract(&spec(None, Overrides::default())).unwrap();
    assert_eq!((given.early_seconds, given.late_seconds), (0, 0));
    assert_eq!(given.lane(), Lane::Exact);
}

#[test]
fn every_field_at_fault_is_named() {
    let overrides = Overrides {
        early_seconds: Some(86_401),
        late_seconds: Some(86_401),
        priority: Some(10),
        expires_after_seconds: Some(86_401),
    };
    let asked = JobSpec {
        channel: ChannelName::new("elsewhere").unwrap(),
        ..spec(Some("other"), overrides)
    };
    let problems = policy(&[]).contract(&asked).unwrap_err();
    let mut fields: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
    fields.sort_unstable();
    let all =
        ["channel", "class", "early_seconds", "expires_after_seconds", "late_seconds", "priority"];
    assert_eq!(fields, all);
}
