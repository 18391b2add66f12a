//! What an answer means for the job.

use std::time::Duration;

use spillway_domain::attempt::SendOutcome;

use crate::network::{local_sender, send};
use crate::sink::{Answer, Sink, body_of, status};

async fn outcome(answer: Answer) -> SendOutcome {
    let sink = Sink::plain(answer).await;
    send(&local_sender(), &sink.url()).await
}

fn answered(line: &str) -> String {
    format!("answered {}", &line[..3])
}

#[tokio::test]
async fn any_2xx_is_a_delivery() {
    for line in ["200 OK", "201 Created", "202 Accepted", "204 No Content", "299 Odd"] {
        assert_eq!(outcome(status(line)).await, SendOutcome::Delivered, "{line}");
    }
}

#[tokio::test]
async fn a_caller_s_fault_is_final_but_for_429() {
    for line in ["400 Bad", "401 No", "404 Not Found", "408 Slow", "410 Gone", "422 What"] {
        let expected = SendOutcome::RefusedForGood(answered(line));
        assert_eq!(outcome(status(line)).await, expected);
    }
    let expected = SendOutcome::Refused(answered("429"));
    assert_eq!(outcome(status("429 Too Many Requests")).await, expected);
}

#[tokio::test]
async fn a_server_s_fault_may_have_come_after_the_job_was_taken() {
    for line in ["500 Oops", "502 Bad Gateway", "503 Unavailable", "504 Timeout"] {
        let expected = SendOutcome::Unanswered(answered(line));
        assert_eq!(outcome(status(line)).await, expected);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_final() {
    let metadata = "302 Found\r\nlocation: http://169.254.169.254/latest/meta-data/";
    for line in [metadata, "301 Moved\r\nlocation: /", "307 Again\r\nlocation: https://a.example"] {
        let sink = Sink::plain(status(line)).await;
        let outcome = send(&local_sender(), &sink.url()).await;
        let reason = format!("{}; redirects are not followed", answered(line));
        assert_eq!(outcome, SendOutcome::RefusedForGood(reason));
        assert_eq!((sink.seen().len(), sink.connection_count()), (1, 1));
    }
}

#[tokio::test]
async fn a_receiver_says_when_to_come_again() {
    // Sent at 09:00:00.003: a date is that much less away, and rounded up.
    for (retry_after, seconds) in [
        ("7", 7),
        ("0", 0),
        ("99999999999999999999", u32::MAX),
        ("Tue, 01 Dec 2026 09:02:00 GMT", 120),
        ("Tue, 01 Dec 2026 08:00:00 GMT", 0),
    ] {
        for line in ["429 Too Many Requests", "503 Service Unavailable"] {
            let expected =
                SendOutcome::Deferred { reason: answered(line), retry_after_seconds: seconds };
            let line = format!("{line}\r\nretry-after: {retry_after}");
            assert_eq!(outcome(status(&line)).await, expected);
        }
    }
    for nonsense in ["soon", "-1", "1.5", ""] {
        let line = format!("429 Too Many Requests\r\nretry-after: {nonsense}");
        assert_eq!(outcome(status(&line)).await, SendOutcome::Refused(answered("429")));
    }
    let line = "500 Oops\r\nretry-after: 7";
    assert_eq!(outcome(status(line)).await, SendOutcome::Unanswered(answered("500")));
}

#[tokio::test]
async fn an_answer_s_body_counts_for_nothing_however_large_or_slow() {
    assert_eq!(outcome(body_of(10_000_000)).await, SendOutcome::Delivered);
    let mut slow = body_of(0);
    slow.bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab".to_vec();
    slow.then_hang = true;
    assert_eq!(outcome(slow).await, SendOutcome::Delivered);
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_request_leaves_it_unanswered() {
    let broken = Answer { bytes: b"HTTP/1.1 2".to_vec(), ..status("200 OK") };
    let sink = Sink::plain(Answer { then_hang: false, ..broken.clone() }).await;
    // The receiver never ends its status line; whoever sends gives up.
    let (sender, url) = (local_sender(), sink.url());
    let outcome = send(&sender, &url);
    assert!(tokio::time::timeout(Duration::from_millis(300), outcome).await.is_err());
    assert_eq!(sink.seen().len(), 1);

    let nonsense = Answer { bytes: b"no HTTP at all\r\n\r\n".to_vec(), ..broken };
    assert!(matches!(self::outcome(nonsense).await, SendOutcome::Unanswered(_)));
}

#[tokio::test]
async fn a_receiver_that_is_not_there_was_sent_nothing() {
    let sink = Sink::plain(status("200 OK")).await;
    let free_port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = sink.url().replace(&sink.address.port().to_string(), &free_port.to_string());
    let outcome = send(&local_sender(), &url).await;
    let SendOutcome::Refused(reason) = &outcome else { panic!("{outcome:?}") };
    assert!(reason.contains(&format!("no connection to 127.0.0.1:{free_port}")), "{reason}");
}
