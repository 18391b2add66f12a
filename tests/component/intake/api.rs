//! Intake over the in-memory ports, called as the gateway calls it.

use std::sync::atomic::{AtomicU32, Ordering};

use lambda_http::aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use serde_json::{Value, json};
use spillway_app::settings::CurrentSettings;
use spillway_domain::staging::Lookahead;
use spillway_domain::time::Instant;
use spillway_intake::gateway::Gateway;
use spillway_intake::router::{IntakeState, router};
use spillway_intake::submission::parse_policy;
use spillway_testkit::build::{at, policy, shards};
use spillway_testkit::{Driver, InMemoryQueue, InMemoryStore, ManualClock, Outside};

type InMemory = (InMemoryStore, InMemoryQueue, ManualClock, InMemoryStore);

/// When most tests begin: an hour before what they schedule.
pub(super) const NOW: &str = "2026-12-01T08:00:00Z";
/// How long before its minute begins prefetch stages a bucket here, in seconds.
pub(super) const LOOKAHEAD_SECONDS: u16 = 300;

/// The function, and everything outside of it.
#[derive(Clone)]
pub(super) struct Api {
    pub(super) outside: Outside,
    gateway: Gateway<ManualClock>,
}

impl Api {
    pub(super) fn new() -> Self {
        Self::at(at(NOW))
    }

    pub(super) fn at(now: Instant) -> Self {
        let outside = Outside::at(now);
        let state = IntakeState::<InMemory> {
            jobs: outside.store.clone(),
            queue: outside.queue.clone(),
            clock: outside.clock.clone(),
            settings: CurrentSettings::new(
                outside.store.clone(),
                parse_policy,
                policy(),
                shards(8),
            ),
            lookahead: Lookahead::from_seconds(LOOKAHEAD_SECONDS).unwrap(),
            retention_seconds: 7 * 86_400,
            new_id,
        };
        let gateway = Gateway { router: router(state), clock: outside.clock.clone() };
        Self { outside, gateway }
    }

    /// Answers an event; a future, for a driver that has other tasks too.
    pub(super) async fn answer(self, event: Value) -> Answer {
        let event: ApiGatewayV2httpRequest = serde_json::from_value(event).unwrap();
        Answer::read(self.gateway.answer(event).await.0)
    }

    /// Answers an event in virtual time.
    pub(super) fn call(&self, event: Value) -> Answer {
        self.driver().run(self.clone().answer(event))
    }

    pub(super) fn driver<'a>(&self) -> Driver<'a> {
        self.outside.driver()
    }

    pub(super) fn put(&self, id: &str, body: &Value) -> Answer {
        self.call(put(id, body))
    }

    pub(super) fn post(&self, body: &Value) -> Answer {
        self.call(post(body))
    }

    pub(super) fn get(&self, id: &str) -> Answer {
        self.call(event("GET", "/v1/jobs/{job_id}", Some(id)))
    }

    pub(super) fn delete(&self, id: &str) -> Answer {
        self.call(event("DELETE", "/v1/jobs/{job_id}", Some(id)))
    }
}

/// What the gateway is answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: i64,
    pub(super) body: Value,
    pub(super) content_type: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Answer {
    fn read(response: ApiGatewayV2httpResponse) -> Self {
        assert!(!response.is_base64_encoded);
        let headers: Vec<(String, String)> = response
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        let body = response.body.map_or(Value::Null, |body| serde_json::from_slice(&body).unwrap());
        let mut answer =
            Self { status: response.status_code, body, content_type: String::new(), headers };
        answer.content_type = answer.header("content-type").unwrap_or_default();
        answer
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone())
    }

    /// Gives the last part of the problem's type.
    pub(super) fn problem(&self) -> &str {
        problem_of(&self.body)
    }

    pub(super) fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_else(|| panic!("no text {field} in {}", self.body))
    }

    /// Lists the results of a bulk call.
    pub(super) fn results(&self) -> &[Value] {
        self.body["results"].as_array().unwrap_or_else(|| panic!("no results in {}", self.body))
    }

    /// Lists the statuses of a bulk call.
    pub(super) fn statuses(&self) -> Vec<&str> {
        self.results().iter().map(|result| result["status"].as_str().unwrap()).collect()
    }
}

pub(super) fn problem_of(problem: &Value) -> &str {
    let name = problem["type"].as_str().and_then(|name| name.strip_prefix("urn:spillway:problem:"));
    name.unwrap_or_else(|| panic!("no problem: {problem}"))
}

/// Lists the fields that a problem names.
pub(super) fn fields_of(problem: &Value) -> Vec<&str> {
    let errors = problem["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    errors.iter().map(|error| error["field"].as_str().unwrap()).collect()
}

/// Builds an event as the gateway does, without a body.
pub(super) fn event(method: &str, route: &str, job_id: Option<&str>) -> Value {
    let path = route.replace("{job_id}", job_id.unwrap_or_default());
    let mut event = json!({
        "version": "2.0",
        "routeKey": format!("{method} {route}"),
        "rawPath": path,
        "rawQueryString": "",
        "headers": { "host": "api.test", "content-type": "application/json" },
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "api",
            "domainName": "api.test",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "test",
            },
            "requestId": "request",
            "routeKey": format!("{method} {route}"),
            "stage": "$default",
            "time": "01/Dec/2026:08:00:00 +0000",
            "timeEpoch": 1_796_112_000_000_i64,
        },
        "isBase64Encoded": false,
    });
    if let Some(job_id) = job_id {
        event["pathParameters"] = json!({ "job_id": job_id });
    }
    event
}

pub(super) fn with_body(mut event: Value, body: &str) -> Value {
    event["body"] = Value::from(body);
    event
}

pub(super) fn with_header(mut event: Value, name: &str, value: &str) -> Value {
    event["headers"][name] = Value::from(value);
    event
}

pub(super) fn put(id: &str, body: &Value) -> Value {
    with_body(event("PUT", "/v1/jobs/{job_id}", Some(id)), &body.to_string())
}

pub(super) fn post(body: &Value) -> Value {
    with_body(event("POST", "/v1/jobs", None), &body.to_string())
}

/// Builds a spec for an hour after [`NOW`], with the fields of `changes` in place.
pub(super) fn spec(changes: Value) -> Value {
    let mut spec = json!({
        "requested_at": "2026-12-01T09:00:00Z",
        "channel": "inbox",
        "payload": { "user": 42 },
    });
    let Value::Object(changes) = changes else { panic!("an object of fields") };
    for (field, value) in changes {
        spec[field] = value;
    }
    spec
}

fn new_id() -> String {
    static CHOSEN: AtomicU32 = AtomicU32::new(0);
    format!("chosen-{}", CHOSEN.fetch_add(1, Ordering::Relaxed))
}
