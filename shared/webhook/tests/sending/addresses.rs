//! Names that stand for addresses which a webhook may not reach.

use spillway_domain::attempt::SendOutcome;

use crate::network::{PUBLIC, ScriptedNetwork, send, sender};
use crate::sink::{HOST, Sink, status};

fn url() -> String {
    format!("https://{HOST}/hook")
}

async fn reason_of(network: &ScriptedNetwork, url: &str) -> String {
    match send(&sender(network), url).await {
        SendOutcome::Refused(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_name_that_stands_for_an_inner_address_is_refused_unconnected() {
    for (address, what) in [
        ("169.254.169.254", "link-local"),
        ("169.254.170.2", "link-local"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("100.100.100.200", "behind a carrier's NAT"),
        ("192.0.0.192", "reserved"),
        ("198.18.0.1", "for benchmarks"),
        ("203.0.113.7", "for documentation"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:169.254.169.254", "link-local"),
        ("::ffff:10.0.0.1", "private"),
        ("::7f00:1", "reserved"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("64:ff9b:1::a00:1", "reserved"),
        ("2002:7f00:1::", "6to4"),
        ("2001:0:1::1", "reserved"),
        ("2001:db8::1", "for documentation"),
        ("fd00:ec2::254", "unique-local"),
        ("fe80::1", "link-local"),
        ("fec0::1", "site-local"),
        ("ff02::1", "multicast"),
        ("4000::1", "reserved"),
    ] {
        let network = ScriptedNetwork::new(&[&[address]], None);
        let reason = reason_of(&network, &url()).await;
        let shown: std::net::IpAddr = address.parse().unwrap();
        assert_eq!(reason, format!("the name {HOST} stands for {shown}, which is {what}"));
        assert!(network.connected().is_empty(), "{address}");
    }
}

#[tokio::test]
async fn one_inner_address_among_public_ones_refuses_the_name() {
    let network = ScriptedNetwork::new(&[&[PUBLIC, "10.0.0.1"]], None);
    assert!(reason_of(&network, &url()).await.contains("10.0.0.1, which is private"));
    assert!(network.connected().is_empty());
}

/// A resolver that answers one thing to the check and another to the connection finds nobody who
/// asks twice.
#[tokio::test]
async fn a_name_is_resolved_once_and_the_connection_goes_to_what_was_checked() {
    let sink = Sink::secure(status("200 OK")).await;
    let network = ScriptedNetwork::new(&[&[PUBLIC], &["169.254.169.254"]], Some(sink.address));
    assert_eq!(send(&sender(&network), &url()).await, SendOutcome::Delivered);
    assert_eq!(network.connected(), [format!("{PUBLIC}:443").parse().unwrap()]);
    assert_eq!(network.answers_left(), 1, "the second answer was not asked for");
}

#[tokio::test]
async fn a_retry_checks_anew() {
    let network = ScriptedNetwork::new(&[&[PUBLIC], &["169.254.169.254"], &["::1"]], None);
    let sender = sender(&network);
    let first = send(&sender, &url()).await;
    let SendOutcome::Refused(reason) = &first else { panic!("{first:?}") };
    assert!(reason.starts_with(&format!("no connection to {PUBLIC}:443")), "{reason}");
    for what in ["link-local", "loopback"] {
        let again = send(&sender, &url()).await;
        assert!(matches!(&again, SendOutcome::Refused(reason) if reason.ends_with(what)));
    }
    assert_eq!(network.connected().len(), 1, "the first was made, no other");
}

#[tokio::test]
async fn a_name_without_an_address_is_refused() {
    let reason = reason_of(&ScriptedNetwork::new(&[&[]], None), &url()).await;
    assert_eq!(reason, format!("the name {HOST} has no address"));
    let reason = reason_of(&ScriptedNetwork::new(&[], None), &url()).await;
    assert_eq!(reason, format!("the name {HOST} was not resolved"));
}

#[tokio::test]
async fn the_machine_itself_stands_for_nothing_else() {
    let network = ScriptedNetwork::new(&[&[PUBLIC]], None);
    let reason = reason_of(&network, "http://localhost:8080/").await;
    assert_eq!(reason, format!("the name localhost stands for {PUBLIC}, which is not loopback"));
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_does_not_answer() {
    let network = ScriptedNetwork::new(&[&[PUBLIC, "2606:2800:21f::1"]], None);
    reason_of(&network, "https://hooks.example.com:8443/").await;
    let tried: Vec<_> = network.connected().iter().map(ToString::to_string).collect();
    assert_eq!(tried, [format!("{PUBLIC}:8443"), "[2606:2800:21f::1]:8443".into()]);
}
