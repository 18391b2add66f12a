use serde_json::json;
use spillway_app::ports::{PortError, Secrets};
use spillway_aws::ssm_secrets::SsmSecrets;

use crate::scripted::{Reply, Script, error};

fn holding(value: &str) -> Reply {
    Reply::Json(200, json!({ "Parameter": { "Name": "/hook", "Value": value } }))
}

#[tokio::test]
async fn a_secret_is_read_decrypted_and_once() {
    let script = Script::new([holding("whsec_a")]);
    let secrets = SsmSecrets::new(script.sdk().parameters());
    for _ in 0..3 {
        assert_eq!(secrets.secret("/hook").await.unwrap().reveal(), "whsec_a");
    }
    assert_eq!(script.only_body(), json!({ "Name": "/hook", "WithDecryption": true }));
}

#[tokio::test]
async fn many_at_once_read_it_once() {
    let script = Script::new([holding("whsec_a")]);
    let secrets = SsmSecrets::new(script.sdk().parameters());
    let all = futures::future::join_all((0..100).map(|_| secrets.secret("/hook"))).await;
    assert!(all.into_iter().all(|secret| secret.unwrap().reveal() == "whsec_a"));
    assert_eq!(script.calls().len(), 1);
}

#[tokio::test]
async fn each_parameter_has_its_own() {
    let script = Script::new([holding("whsec_a"), holding("whsec_b")]);
    let secrets = SsmSecrets::new(script.sdk().parameters());
    assert_eq!(secrets.secret("/a").await.unwrap().reveal(), "whsec_a");
    assert_eq!(secrets.secret("/b").await.unwrap().reveal(), "whsec_b");
    assert_eq!(secrets.secret("/a").await.unwrap().reveal(), "whsec_a");
}

#[tokio::test]
async fn a_parameter_that_is_not_there_is_not_asked_for_by_each_job() {
    let script = Script::new([error(400, "ParameterNotFound")]);
    let secrets = SsmSecrets::new(script.sdk().parameters());
    for _ in 0..3 {
        assert!(matches!(secrets.secret("/hook").await, Err(PortError::Permanent(_))));
    }
    assert_eq!(script.calls().len(), 1);
}

#[tokio::test]
async fn a_secret_is_shown_nowhere() {
    let script = Script::new([holding("whsec_a")]);
    let secrets = SsmSecrets::new(script.sdk().parameters());
    let secret = secrets.secret("/hook").await;
    assert!(!format!("{secret:?} {secrets:?}").contains("whsec_a"));
}
