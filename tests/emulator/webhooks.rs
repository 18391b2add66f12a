//! A channel of kind webhook, from the HTTP call to its receiver, whose secret is the stack's.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::stack::{get, put, variable};

/// A request as it came.
struct Received {
    headers: BTreeMap<String, String>,
    body: String,
}

/// Answers one request after the other with these status lines, and gives the requests back.
fn receive(statuses: &[&str]) -> Vec<Received> {
    let port = variable("HOOK_PORT").parse().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let answers = statuses.iter().map(|status| answer_one(listener.accept().unwrap().0, status));
    answers.collect()
}

fn answer_one(mut stream: TcpStream, status: &str) -> Received {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.trim().split_once(": ") {
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).unwrap();
    Received { headers, body: String::from_utf8(body).unwrap() }
}

/// Asks the library of the Standard Webhooks project.
fn is_verified(headers: &BTreeMap<String, String>, body: &str, secret: &str) -> bool {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/local/verify_webhook.py");
    let mut command = Command::new(variable("SPILLWAY_PYTHON"));
    let mut child = command.arg(script).stdin(Stdio::piped()).spawn().unwrap();
    let given = json!({ "secret": secret, "headers": headers, "body": body });
    child.stdin.take().unwrap().write_all(given.to_string().as_bytes()).unwrap();
    child.wait().unwrap().success()
}

#[test]
fn a_webhook_is_rendered_signed_retried_and_delivered() {
    let requested_at = Timestamp::now() + SignedDuration::from_secs(5);
    let receiver =
        std::thread::spawn(|| receive(&["503 Unavailable\r\nretry-after: 3", "204 No Content"]));
    let payload = json!({ "to": "ada@example.com", "name": "Ada" });
    put(
        "hook",
        &json!({
            "requested_at": requested_at.to_string(), "channel": "hook", "payload": payload,
        }),
    );
    let [first, second] = <[Received; 2]>::try_from(receiver.join().unwrap()).ok().unwrap();

    let secret = variable("HOOK_SECRET");
    for received in [&first, &second] {
        assert!(is_verified(&received.headers, &received.body, &secret));
        let tampered = received.body.replace("ada@", "eve@");
        assert!(!is_verified(&received.headers, &tampered, &secret), "tampered with");
        let body: Value = serde_json::from_str(&received.body).unwrap();
        assert_eq!(body["delivery_id"], received.headers["webhook-id"]);
        assert_eq!(body["payload"], json!({ "to": "ada@example.com", "text": "Hello Ada" }));
    }
    assert_eq!(first.headers["webhook-id"], second.headers["webhook-id"]);
    let sent_at =
        |received: &Received| -> i64 { received.headers["webhook-timestamp"].parse().unwrap() };
    assert!(sent_at(&second) - sent_at(&first) >= 3, "not before the receiver said");

    std::thread::sleep(std::time::Duration::from_secs(2));
    let job = get("hook");
    assert_eq!((&job["state"], &job["attempts"]), (&json!("delivered"), &json!(2)), "{job}");
    assert_eq!(job["payload"], payload, "shown as it was asked");
}
