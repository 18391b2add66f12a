//! A proxy before the emulator, which lets calls fail and answers get lost (`infra/local`). One
//! serves all tests of a run, and ends with it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use aws_config::{AppName, BehaviorVersion};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::AttributeValue;
use spillway_aws::clients::Sdk;
use spillway_aws::schema::control;

use super::with_resources;

/// The seed of the faults; another one is taken from this variable.
const SEED: &str = "SPILLWAY_FAULT_SEED";
const SEED_DEFAULT: &str = "7";

struct FaultProxy {
    endpoint: String,
    /// The proxy ends when this handle of its input is closed, which the end of the process does.
    _process: Child,
}

fn seed() -> String {
    std::env::var(SEED).unwrap_or_else(|_| SEED_DEFAULT.to_owned())
}

fn endpoint() -> &'static str {
    static PROXY: OnceLock<FaultProxy> = OnceLock::new();
    &PROXY.get_or_init(start).endpoint
}

fn start() -> FaultProxy {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut process = Command::new(format!("{root}/.venv/bin/python"))
        .arg(format!("{root}/infra/local/fault_proxy.py"))
        .args([std::env::var("AWS_ENDPOINT_URL").unwrap(), seed()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut endpoint = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut endpoint).unwrap();
    let endpoint = endpoint.trim().to_owned();
    assert!(endpoint.starts_with("http://127.0.0.1:"), "the proxy did not start: {endpoint}");
    FaultProxy { endpoint, _process: process }
}

/// Gives clients that reach the emulator through the proxy. The faults depend on the seed and on
/// the caller's name alone, whatever other tests do.
pub(super) async fn sdk(caller: &str) -> Sdk {
    let settings = aws_config::defaults(BehaviorVersion::latest()).endpoint_url(endpoint());
    let name = AppName::new(caller.to_owned()).unwrap();
    Sdk::from_settings(settings.app_name(name).load().await)
}

/// Says how to repeat a run, when the test that holds this fails.
pub(super) fn note_when_it_fails() -> impl Drop {
    struct Note;

    impl Drop for Note {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("repeat these faults with {SEED}={} make test", seed());
            }
        }
    }

    Note
}

/// Else the suites would hold on a day on which nothing goes wrong.
#[test]
fn the_proxy_lets_calls_fail_before_and_after_they_are_carried_out() {
    with_resources(async |resources| {
        let settings = sdk("proxy").await.tables().config().to_builder();
        let once = settings.retry_config(RetryConfig::disabled()).build();
        let (faulty, direct) = (aws_sdk_dynamodb::Client::from_conf(once), resources.sdk.tables());
        let mut seen = std::collections::BTreeMap::<_, u32>::new();
        for number in 0..200 {
            let key = AttributeValue::S(number.to_string());
            let call = faulty.put_item().table_name(&resources.tables.control);
            let answer = call.item(control::KEY, key.clone()).send().await;
            let call = direct.get_item().table_name(&resources.tables.control);
            let is_stored = call.key(control::KEY, key).send().await.unwrap().item.is_some();
            let answer = match &answer {
                Ok(_) => "done".to_owned(),
                Err(error) => error.code().unwrap_or("no answer").to_owned(),
            };
            *seen.entry((answer, is_stored)).or_default() += 1;
        }
        let expected = [
            ("InternalServerError", false),
            ("ProvisionedThroughputExceededException", false),
            ("done", true),
            ("no answer", false),
            ("no answer", true),
        ];
        let kinds: Vec<_> =
            seen.keys().map(|(answer, stored)| (answer.as_str(), *stored)).collect();
        assert_eq!(kinds, expected, "{seen:?}");
    });
}
