//! What a receiver is sent.

use spillway_app::ports::ChannelSender;
use spillway_delivery::delivery_id;
use spillway_domain::attempt::SendOutcome;
use spillway_domain::policy::Target;
use spillway_webhook::network::SystemNetwork;
use spillway_webhook::sender::WebhookSender;
use spillway_webhook::signature::{SecretError, signature};

use crate::network::{OneSecret, SECRET, delivery, local_sender, send, webhook};
use crate::sink::{Sink, status, test_tls};

#[tokio::test]
async fn a_job_is_posted_with_its_id_its_time_and_its_signature() {
    let sink = Sink::plain(status("200 OK")).await;
    assert_eq!(send(&local_sender(), &sink.url()).await, SendOutcome::Delivered);
    let seen = sink.seen().pop().unwrap();
    let sent = delivery("a");
    let id = delivery_id(&sent.job_id, sent.created_at);
    assert_eq!(seen.first_line, "POST /hook?v=1 HTTP/1.1");
    assert_eq!(seen.headers["content-type"], "application/json");
    assert_eq!(seen.headers["webhook-id"], id);
    assert_eq!(seen.headers["webhook-timestamp"], "1796115600");
    assert_eq!(seen.body, spillway_delivery::body(&sent).unwrap());
    let expected = signature(SECRET, &id, 1_796_115_600, &seen.body).unwrap();
    assert_eq!(seen.headers["webhook-signature"], expected);
}

#[test]
fn a_changed_body_id_or_time_has_another_signature() {
    let sign = |id, at, body| signature(SECRET, id, at, body).unwrap();
    let signed = sign("a", 5, "{}");
    for other in [sign("b", 5, "{}"), sign("a", 6, "{}"), sign("a", 5, "{ }")] {
        assert_ne!(other, signed);
    }
}

#[test]
fn while_a_secret_is_replaced_both_sign() {
    let other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    let both = signature(&format!("{other} {SECRET}"), "a", 5, "{}").unwrap();
    let each = [other, SECRET].map(|secret| signature(secret, "a", 5, "{}").unwrap());
    assert_eq!(both, each.join(" "));
}

#[test]
fn what_is_no_secret_of_the_scheme_signs_nothing() {
    let short = "whsec_c2hvcnQ=";
    for text in ["", " ", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%%%", short] {
        assert_eq!(signature(text, "a", 5, "{}"), Err(SecretError), "{text:?}");
    }
}

#[tokio::test]
async fn without_its_secret_nothing_is_sent() {
    for (secret, why) in [
        (None, "parameter /hook was not read"),
        (Some("whsec_x"), "parameter /hook must be whsec_"),
    ] {
        let sink = Sink::plain(status("200 OK")).await;
        let sender = WebhookSender::new(SystemNetwork, OneSecret(secret), test_tls);
        let outcome = send(&sender, &sink.url()).await;
        let SendOutcome::Refused(reason) = &outcome else { panic!("{outcome:?}") };
        assert!(reason.starts_with(why), "{reason}");
        assert_eq!(sink.connection_count(), 0);
    }
}

#[tokio::test]
async fn a_target_of_another_kind_is_refused() {
    let target = Target::EventBridge { bus_name: "bus".into() };
    let outcomes = local_sender().send(&target, &[delivery("a")]).await;
    assert!(matches!(outcomes[..], [SendOutcome::RefusedForGood(_)]));
}

#[tokio::test]
async fn each_job_of_a_call_has_its_own_outcome() {
    let sink = Sink::plain(status("200 OK")).await;
    let jobs = [delivery("a"), delivery("b")];
    let outcomes = local_sender().send(&webhook(&sink.url()), &jobs).await;
    assert_eq!(outcomes, [SendOutcome::Delivered, SendOutcome::Delivered]);
    let ids: Vec<_> =
        sink.seen().into_iter().map(|seen| seen.headers["webhook-id"].clone()).collect();
    assert_ne!(ids[0], ids[1]);
}
