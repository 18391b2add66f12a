//! The stack under test: its HTTP API, and what arrives at its channels.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message};
use jiff::Timestamp;
use serde_json::Value;

/// How long nothing may arrive of what a test waits for before the test calls it lost. The machine
/// may be busy with other things; only what never comes is lost.
const PATIENCE: Duration = Duration::from_secs(90);

/// An answer of the HTTP API.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// A delivery, as its channel's queue gave it out.
#[derive(Clone, Debug)]
pub(crate) struct Delivered {
    pub(crate) delivery_id: String,
    pub(crate) due_at: Timestamp,
    pub(crate) sent_at: Timestamp,
    pub(crate) payload: Value,
}

pub(crate) fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: `make test` runs this beside a stack"))
}

/// Calls the HTTP API with a JSON body.
pub(crate) fn call(method: &str, path: &str, body: Option<&Value>) -> Answer {
    call_with(method, path, &[("content-type", "application/json")], body.map(Value::to_string))
}

/// Calls the HTTP API with headers and a body of one's own.
pub(crate) fn call_with(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<String>,
) -> Answer {
    static CLIENT: OnceLock<ureq::Agent> = OnceLock::new();
    let client = CLIENT
        .get_or_init(|| ureq::Agent::config_builder().http_status_as_error(false).build().into());
    let uri = format!("{}{path}", variable("SPILLWAY_URL"));
    let mut request = lambda_http::http::Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut response = client.run(request.body(body.unwrap_or_default()).unwrap()).unwrap();
    let status = response.status().as_u16();
    let text = response.body_mut().read_to_string().unwrap();
    let body = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}: not JSON: {text}"));
    Answer { status, body }
}

/// Calls a function and gives its answer; an error is an answer with an `errorMessage`.
pub(crate) fn invoke(function: &str, event: &Value) -> Value {
    let endpoint = variable("AWS_ENDPOINT_URL");
    let uri = format!("{endpoint}/2015-03-31/functions/{function}/invocations");
    // The emulator tells callers apart by their key, and checks no signature.
    let credential = format!(
        "{}/20261201/{}/lambda/aws4_request",
        variable("AWS_ACCESS_KEY_ID"),
        variable("AWS_REGION")
    );
    let authorization =
        format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=none");
    let mut answer =
        ureq::post(uri).header("authorization", authorization).send(event.to_string()).unwrap();
    serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
}

/// Schedules a job and expects the answer that it was stored.
pub(crate) fn put(id: &str, spec: &Value) -> Value {
    let answer = call("PUT", &format!("/v1/jobs/{id}"), Some(spec));
    assert!(matches!(answer.status, 200 | 201), "{id}: {answer:?}");
    answer.body
}

pub(crate) fn get(id: &str) -> Value {
    call("GET", &format!("/v1/jobs/{id}"), None).body
}

/// Reads an instant of an answer.
pub(crate) fn instant(value: &Value) -> Timestamp {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value}"))
}

/// Waits until the clock shows an instant.
pub(crate) fn wait_until(at: Timestamp) {
    let left = Timestamp::now().duration_until(at);
    std::thread::sleep(left.try_into().unwrap_or(Duration::ZERO));
}

/// What has arrived so far of a job.
pub(crate) fn arrivals_of(id: &str) -> Vec<Delivered> {
    inbox().lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned().unwrap_or_default()
}

/// Waits until each job has arrived, then a little longer for what should not come, and checks that
/// each came once and was not sent before its due time.
pub(crate) fn assert_each_arrives_once(ids: &[String]) {
    let (mut missing_count, mut give_up_at) = (usize::MAX, Instant::now() + PATIENCE);
    loop {
        let missing: Vec<_> = ids.iter().filter(|id| arrivals_of(id).is_empty()).collect();
        let Some(first) = missing.first() else { break };
        if missing.len() < missing_count {
            (missing_count, give_up_at) = (missing.len(), Instant::now() + PATIENCE);
        }
        assert!(Instant::now() < give_up_at, "{missing_count} are lost: {first}: {}", get(first));
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_secs(3));
    for id in ids {
        let arrivals = arrivals_of(id);
        assert_eq!(arrivals.len(), 1, "{id} arrived twice: {arrivals:?}");
        assert!(arrivals[0].sent_at >= arrivals[0].due_at, "{id} is early: {arrivals:?}");
    }
}

/// Whoever takes the ticks away writes, and whoever cannot do without them reads.
pub(crate) fn ticks() -> &'static RwLock<()> {
    static TICKS: RwLock<()> = RwLock::new(());
    &TICKS
}

type Arrivals = BTreeMap<String, Vec<Delivered>>;

/// Starts, once, the thread that reads both channels' queues for all tests.
fn inbox() -> &'static Mutex<Arrivals> {
    static INBOX: OnceLock<Mutex<Arrivals>> = OnceLock::new();
    static READER: OnceLock<()> = OnceLock::new();
    let inbox = INBOX.get_or_init(Mutex::default);
    READER.get_or_init(|| {
        std::thread::spawn(|| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.enable_all().build().unwrap().block_on(read_queues());
        });
    });
    inbox
}

async fn read_queues() {
    let settings = aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await;
    let client = aws_sdk_sqs::Client::new(&settings);
    let [inbox, bus] = ["INBOX_QUEUE_URL", "BUS_QUEUE_URL"].map(variable);
    futures::join!(read_queue(&client, &inbox), read_queue(&client, &bus));
}

async fn read_queue(client: &aws_sdk_sqs::Client, url: &str) {
    loop {
        let received = client
            .receive_message()
            .queue_url(url)
            .max_number_of_messages(10)
            .wait_time_seconds(5)
            .send()
            .await
            .unwrap();
        let messages = received.messages();
        for message in messages {
            note(message.body().unwrap());
        }
        delete(client, url, messages).await;
    }
}

async fn delete(client: &aws_sdk_sqs::Client, url: &str, messages: &[Message]) {
    let entries = messages.iter().enumerate().map(|(place, message)| {
        let entry = DeleteMessageBatchRequestEntry::builder().id(place.to_string());
        entry.receipt_handle(message.receipt_handle().unwrap()).build().unwrap()
    });
    let entries: Vec<_> = entries.collect();
    if !entries.is_empty() {
        let call = client.delete_message_batch().queue_url(url).set_entries(Some(entries));
        let failed = call.send().await.unwrap().failed;
        assert!(failed.is_empty(), "{failed:?}");
    }
}

/// Notes a delivery; the bus's rule wraps it into an event.
fn note(body: &str) {
    let body: Value = serde_json::from_str(body).unwrap();
    let body = body.get("detail").unwrap_or(&body);
    let delivered = Delivered {
        delivery_id: body["delivery_id"].as_str().unwrap().to_owned(),
        due_at: instant(&body["due_at"]),
        sent_at: instant(&body["sent_at"]),
        payload: body["payload"].clone(),
    };
    let id = body["job_id"].as_str().unwrap().to_owned();
    let mut arrivals = inbox().lock().unwrap_or_else(PoisonError::into_inner);
    arrivals.entry(id).or_default().push(delivered);
}
