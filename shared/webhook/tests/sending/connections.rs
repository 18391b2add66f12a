//! Connections: reused, over TLS, to a host by its name.

use std::time::Duration;

use futures::future::join_all;
use spillway_domain::attempt::SendOutcome;

use crate::network::{PUBLIC, ScriptedNetwork, local_sender, send, sender};
use crate::sink::{HOST, Sink, body_of, status};

#[tokio::test]
async fn one_after_the_other_share_a_connection() {
    for answer in [status("200 OK"), status("500 Oops"), body_of(8_000)] {
        let sink = Sink::plain(answer).await;
        let sender = local_sender();
        for _ in 0..5 {
            send(&sender, &sink.url()).await;
            // The body of the answer is read beside the next call.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!((sink.seen().len(), sink.connection_count()), (5, 1));
    }
}

#[tokio::test]
async fn a_connection_whose_answer_is_too_large_is_not_used_again() {
    let sink = Sink::plain(body_of(1_000_000)).await;
    let sender = local_sender();
    for _ in 0..3 {
        assert_eq!(send(&sender, &sink.url()).await, SendOutcome::Delivered);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(sink.connection_count(), 3);
}

#[tokio::test]
async fn jobs_of_a_pack_do_not_wait_for_each_other() {
    let mut slow = status("200 OK");
    slow.after = Duration::from_millis(300);
    let sink = Sink::plain(slow).await;
    let sender = local_sender();
    let begun = std::time::Instant::now();
    let url = sink.url();
    let outcomes = join_all((0..100).map(|_| send(&sender, &url))).await;
    assert!(outcomes.iter().all(|outcome| *outcome == SendOutcome::Delivered), "{outcomes:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "one after the other would take 30 s");
    assert_eq!(sink.connection_count(), 100);
}

#[tokio::test]
async fn more_calls_than_a_function_has_files_for_are_put_off_unsent() {
    let mut slow = status("200 OK");
    slow.after = Duration::from_secs(2);
    let sink = Sink::plain(slow).await;
    let sender = local_sender();
    let url = sink.url();
    let outcomes = join_all((0..300).map(|_| send(&sender, &url))).await;
    let delivered = outcomes.iter().filter(|it| **it == SendOutcome::Delivered).count();
    let put_off = SendOutcome::Refused("too many calls are under way".into());
    let put_off = outcomes.iter().filter(|it| **it == put_off).count();
    assert_eq!((delivered, put_off, sink.seen().len()), (256, 44, 256));
}

#[tokio::test]
async fn the_certificate_must_be_the_host_s() {
    let sink = Sink::secure(status("200 OK")).await;
    let network = ScriptedNetwork::new(&[&[PUBLIC], &[PUBLIC]], Some(sink.address));
    let sender = sender(&network);
    let good = send(&sender, &format!("https://{HOST}/hook")).await;
    assert_eq!(good, SendOutcome::Delivered);
    let outcome = send(&sender, "https://other.example.com/hook").await;
    let SendOutcome::Refused(reason) = &outcome else { panic!("{outcome:?}") };
    assert!(reason.starts_with("no secure connection: "), "{reason}");
    assert_eq!(sink.seen().len(), 1, "the other was sent nothing");
}

#[tokio::test]
async fn a_receiver_without_tls_is_sent_nothing() {
    let sink = Sink::plain(status("200 OK")).await;
    let network = ScriptedNetwork::new(&[&[PUBLIC]], Some(sink.address));
    // The receiver waits for a request that does not come; the handshake is given up.
    let outcome = send(&sender(&network), &format!("https://{HOST}/hook")).await;
    assert!(matches!(outcome, SendOutcome::Refused(_)), "{outcome:?}");
    assert!(sink.seen().is_empty());
}
