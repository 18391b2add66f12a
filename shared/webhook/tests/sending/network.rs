//! A network whose names stand for what a test says, and whose addresses all lead to one receiver.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use spillway_app::ports::{ChannelSender, Delivery, PortError, SecretText, Secrets};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::name::JobId;
use spillway_domain::policy::Target;
use spillway_domain::spec::Payload;
use spillway_domain::time::Instant;
use spillway_domain::webhook::{Webhook, WebhookUrl};
use spillway_webhook::network::{Network, SystemNetwork};
use spillway_webhook::sender::WebhookSender;
use tokio::net::TcpStream;

use crate::sink::test_tls;

/// An address of the public Internet, as the resolver may name it.
pub(crate) const PUBLIC: &str = "93.184.215.14";
/// The secret of the scheme's own example.
pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// 2026-12-01T09:00:00.003Z.
pub(crate) const SENT_AT: Instant = Instant::from_millis(1_796_115_600_003);

/// What the resolver answers, one after the other, and where connections were made to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptedNetwork {
    answers: Arc<Mutex<VecDeque<Vec<IpAddr>>>>,
    connected: Arc<Mutex<Vec<SocketAddr>>>,
    sink: Option<SocketAddr>,
}

impl ScriptedNetwork {
    pub(crate) fn new(answers: &[&[&str]], sink: Option<SocketAddr>) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let answers = Arc::new(Mutex::new(answers.iter().map(parse).collect()));
        Self { answers, sink, ..Self::default() }
    }

    /// Lists where connections were made to.
    pub(crate) fn connected(&self) -> Vec<SocketAddr> {
        self.connected.lock().unwrap().clone()
    }

    /// Counts the answers that the resolver was not asked for.
    pub(crate) fn answers_left(&self) -> usize {
        self.answers.lock().unwrap().len()
    }
}

impl Network for ScriptedNetwork {
    async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        let answer = self.answers.lock().unwrap().pop_front();
        answer.ok_or_else(|| io::Error::other("no such name"))
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.connected.lock().unwrap().push(address);
        match self.sink {
            Some(sink) => TcpStream::connect(sink).await,
            None => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

/// Gives every parameter the same text, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneSecret(pub(crate) Option<&'static str>);

impl Secrets for OneSecret {
    async fn secret(&self, _name: &str) -> Result<SecretText, PortError> {
        let none = || PortError::Transient(io::Error::other("no answer").into());
        self.0.map(SecretText::new).ok_or_else(none)
    }
}

pub(crate) fn webhook(url: &str) -> Target {
    let url = WebhookUrl::parse(url, true).unwrap();
    Target::Webhook(Webhook { url, secret_parameter: "/hook".into(), allow_loopback: true })
}

pub(crate) fn delivery(id: &str) -> Delivery {
    let nine = Instant::from_millis(1_796_115_600_000);
    Delivery {
        job_id: JobId::new(id).unwrap(),
        created_at: nine.plus_seconds(-3_600),
        requested_at: nine,
        due_at: nine,
        sent_at: SENT_AT,
        class: None,
        attempt: 1,
        payload: Payload::from_canonical_json(r#"{"user":42}"#).unwrap(),
    }
}

/// Sends over a scripted network.
pub(crate) fn sender(network: &ScriptedNetwork) -> WebhookSender<ScriptedNetwork, OneSecret> {
    WebhookSender::new(network.clone(), OneSecret(Some(SECRET)), test_tls)
}

/// Sends over the machine's own network.
pub(crate) fn local_sender() -> WebhookSender<SystemNetwork, OneSecret> {
    WebhookSender::new(SystemNetwork, OneSecret(Some(SECRET)), test_tls)
}

/// Sends one job once.
pub(crate) async fn send(sender: &impl ChannelSender, url: &str) -> SendOutcome {
    sender.send(&webhook(url), &[delivery("a")]).await.pop().unwrap()
}
