//! Webhooks whose names stand for what they may not reach: refused on the first attempt and on
//! each after it, with the reason in the job.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use spillway_app::ports::{PortError, SecretText, Secrets};
use spillway_domain::job::State;
use spillway_domain::policy::{Retry, Target};
use spillway_domain::precision::Lane;
use spillway_domain::webhook::{Webhook, WebhookUrl};
use spillway_testkit::build::{at, channel, channel_to, job_spec};
use spillway_testkit::serve;
use spillway_webhook::network::Network;
use spillway_webhook::sender::{WebhookSender, system_tls};
use tokio::net::TcpStream;

use crate::service::Service;

const DUE: &str = "2026-12-01T09:00:00Z";
const PUBLIC: &str = "93.184.215.14";

/// A resolver that gives one answer after the other, the last one for ever, and a network that
/// reaches nothing.
#[derive(Clone, Default)]
struct Rebinding {
    answers: Arc<Mutex<VecDeque<IpAddr>>>,
    connected: Arc<AtomicUsize>,
}

impl Rebinding {
    fn new(answers: &[&str]) -> Self {
        let answers = answers.iter().map(|address| address.parse().unwrap()).collect();
        Self { answers: Arc::new(Mutex::new(answers)), ..Self::default() }
    }
}

impl Network for Rebinding {
    async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().copied() };
        Ok(answer.into_iter().collect())
    }

    async fn connect(&self, _address: SocketAddr) -> io::Result<TcpStream> {
        self.connected.fetch_add(1, Ordering::SeqCst);
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

struct OneSecret;

impl Secrets for OneSecret {
    async fn secret(&self, _name: &str) -> Result<SecretText, PortError> {
        Ok(SecretText::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    }
}

/// What became of a job whose webhook's name stands for these addresses: its state, attempts and
/// reason, and how many connections were made.
fn delivered_to(answers: &[&str]) -> (State, u32, String, usize) {
    // The client's timers need a runtime; nothing waits for them, for nothing is connected.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let network = Rebinding::new(answers);
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let url = WebhookUrl::parse("https://hooks.example.com/", false).unwrap();
    let webhook = Webhook { url, secret_parameter: "/hook".into(), allow_loopback: false };
    service.change_policy(|policy| {
        let mut hook = channel_to(Target::Webhook(webhook));
        hook.retry = Retry { attempts_max: 3, ..Retry::DEFAULT };
        policy.channels.insert(channel("inbox"), hook);
    });
    let mut driver = service.outside.driver();
    service.start_ticks(&driver);
    let sender = Arc::new(WebhookSender::new(network.clone(), OneSecret, system_tls));
    let dispatching = service.clone();
    let invocation = move |batch| {
        let (service, sender) = (dispatching.clone(), Arc::clone(&sender));
        async move { service.dispatch_over(sender.as_ref(), Lane::Exact, 0, batch).await }
    };
    let spawner = driver.spawner();
    let queue = service.outside.queue.clone();
    spawner.clone().spawn(serve(queue, Lane::Exact, spawner, invocation));
    driver.run(service.accept(vec![("a".into(), job_spec(at(DUE)))]));
    driver.run_for_seconds(3_600);
    let job = service.outside.store.job("a").unwrap();
    assert!(!job.maybe_sent, "nothing was sent");
    let connected = network.connected.load(Ordering::SeqCst);
    (job.state, job.attempts, job.reason.unwrap_or_default(), connected)
}

#[test]
fn a_webhook_that_stands_for_an_inner_address_fails_with_the_reason_and_reaches_nothing() {
    for (address, what) in [
        ("169.254.169.254", "link-local"),
        ("::ffff:169.254.169.254", "link-local"),
        ("fd00:ec2::254", "unique-local"),
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("10.0.0.1", "private"),
        ("192.168.0.1", "private"),
        ("100.64.0.1", "behind a carrier's NAT"),
        ("64:ff9b::7f00:1", "loopback"),
        ("0.0.0.0", "unspecified"),
    ] {
        let reason = format!("the name hooks.example.com stands for {address}, which is {what}");
        let shown: IpAddr = address.parse().unwrap();
        let reason = reason.replace(address, &shown.to_string());
        assert_eq!(delivered_to(&[address]), (State::Failed, 3, reason, 0));
    }
}

#[test]
fn a_webhook_whose_name_turns_inward_between_attempts_is_refused_then() {
    let (state, attempts, reason, connected) = delivered_to(&[PUBLIC, "169.254.169.254"]);
    assert_eq!((state, attempts, connected), (State::Failed, 3, 1));
    assert!(reason.ends_with("stands for 169.254.169.254, which is link-local"), "{reason}");
}
