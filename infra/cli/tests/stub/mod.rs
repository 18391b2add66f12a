//! A stack that is none: it answers bulk calls, hands deliveries out as two queues do, and makes
//! the mistakes that it is told to make.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// What the stub does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It makes no mistake.
    Faithful,
    /// It loses the first job of each call.
    Loses,
    /// It fails the first call, and makes each other mistake with one job of each call.
    Clumsy,
}

/// A mistake with one job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    Loses,
    Doubles,
    SendsEarly,
    HandsOutAgain,
    Rejects,
}

impl Manner {
    /// Tells the mistake that is made with the job at a place of a call.
    fn mistake(self, place: usize) -> Mistake {
        match (self, place) {
            (Self::Loses, 0) => Mistake::Loses,
            (Self::Clumsy, 0) => Mistake::Doubles,
            (Self::Clumsy, 1) => Mistake::SendsEarly,
            (Self::Clumsy, 2) => Mistake::HandsOutAgain,
            (Self::Clumsy, 3) => Mistake::Rejects,
            _ => Mistake::None,
        }
    }
}

/// How long after its acceptance every job is due.
const DUE_AFTER_MILLIS: i64 = 1_500;

#[derive(Debug, Default)]
struct Contents {
    /// The messages of each queue that have not been handed out, with their due instants.
    queues: HashMap<String, VecDeque<(i64, Value)>>,
    calls: u32,
}

/// A stub that listens on a port of its own until the test ends.
#[derive(Clone, Debug)]
pub(crate) struct StubStack {
    pub(crate) endpoint: String,
    manner: Manner,
    contents: Arc<Mutex<Contents>>,
}

impl StubStack {
    #[expect(clippy::unwrap_used, reason = "a test that cannot listen cannot begin")]
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let stub = Self { endpoint, manner, contents: Arc::default() };
        let server = stub.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                std::thread::spawn(move || server.serve(&stream));
            }
        });
        stub
    }

    /// The variables that lead a command here.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("SPILLWAY_URL", format!("{}/api", self.endpoint)),
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
            ("INBOX_QUEUE_URL", format!("{}/queue/inbox", self.endpoint)),
            ("BUS_QUEUE_URL", format!("{}/queue/bus", self.endpoint)),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ]
    }

    fn serve(&self, stream: &TcpStream) {
        let Some((head, body)) = read_request(stream) else {
            return;
        };
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (status, answer) = if head.starts_with("post /api/v1/jobs ") {
            self.schedule(&body)
        } else if head.starts_with("get /api/v1/jobs/") {
            ("200 OK", json!({ "state": "scheduled", "attempts": 2 }))
        } else if head.contains("amazonsqs.receivemessage") {
            ("200 OK", self.receive(&body))
        } else {
            ("200 OK", json!({ "Successful": [], "Failed": [] }))
        };
        let answer = answer.to_string();
        let mut stream = stream;
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/x-amz-json-1.0\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{answer}",
            answer.len()
        )
        .ok();
    }

    fn schedule(&self, body: &Value) -> (&'static str, Value) {
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        contents.calls += 1;
        if contents.calls == 1 && self.manner == Manner::Clumsy {
            return ("503 Service Unavailable", json!({ "type": "unavailable" }));
        }
        let due_at = now() + DUE_AFTER_MILLIS;
        let jobs = body["jobs"].as_array().cloned().unwrap_or_default();
        let results = jobs.iter().enumerate().map(|(place, job)| {
            let mistake = self.manner.mistake(place);
            let job_id = &job["job_id"];
            if mistake == Mistake::Rejects {
                let error = json!({ "type": "invalid" });
                return json!({ "job_id": job_id, "status": "rejected", "error": error });
            }
            enqueue(&mut contents, job, due_at, mistake);
            let due_at = rfc_3339(due_at);
            let times = json!({ "earliest_at": due_at, "due_at": due_at });
            json!({ "job_id": job_id, "status": "created", "job": times })
        });
        let results: Vec<_> = results.collect();
        ("200 OK", json!({ "results": results }))
    }

    fn receive(&self, body: &Value) -> Value {
        let queue = body["QueueUrl"].as_str().unwrap_or_default().rsplit('/').next();
        let mut messages = Vec::new();
        {
            let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
            let waiting = contents.queues.entry(queue.unwrap_or_default().to_owned()).or_default();
            let is_due = |next: Option<&(i64, Value)>| next.is_some_and(|(at, _)| *at <= now());
            while messages.len() < 10 && is_due(waiting.front()) {
                messages.extend(waiting.pop_front().map(|(_, message)| message));
            }
        }
        if messages.is_empty() {
            std::thread::sleep(Duration::from_millis(50));
        }
        json!({ "Messages": messages })
    }
}

fn enqueue(contents: &mut Contents, job: &Value, due_at: i64, mistake: Mistake) {
    let sent_at = if mistake == Mistake::SendsEarly { due_at - 1 } else { due_at };
    let channel = job["channel"].as_str().unwrap_or_default();
    let delivery = json!({ "job_id": job["job_id"], "sent_at": rfc_3339(sent_at), "attempt": 1 });
    let copies = match mistake {
        Mistake::Loses => 0,
        Mistake::Doubles | Mistake::HandsOutAgain => 2,
        _ => 1,
    };
    let queue = contents.queues.entry(channel.to_owned()).or_default();
    for copy in 0..copies {
        let is_again = mistake == Mistake::HandsOutAgain;
        let id = format!("{}-{}", job["job_id"], if is_again { 0 } else { copy });
        let body = if channel == "bus" {
            json!({ "id": id, "detail-type": "job", "detail": delivery })
        } else {
            delivery.clone()
        };
        let taken_at = json!({ "SentTimestamp": (sent_at + 3).to_string() });
        let message = json!({
            "MessageId": id, "ReceiptHandle": id, "Body": body.to_string(), "Attributes": taken_at,
        });
        queue.push_back((due_at, message));
    }
}

/// Reads the lines before the body, in small letters, and the body.
fn read_request(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn now() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or_default()
}

fn rfc_3339(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).unwrap_or_default().to_string()
}
