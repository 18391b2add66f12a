//! Posts deliveries.

use std::error::Error;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::ConfigBuilderExt;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use spillway_app::ports::{ChannelSender, Delivery, PortError, Secrets};
use spillway_delivery::{body, delivery_id};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::policy::Target;
use spillway_domain::webhook::Webhook;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::answer;
use crate::connector::{ConnectError, Connector};
use crate::network::Network;
use crate::signature::signature;

/// How many calls are under way at once. A function may have 1,024 files open, of which the
/// table's writes take 160.
const CALLS_AT_ONCE: usize = 256;
/// How long a call waits for another to end, before it is put off to another attempt: less than
/// the time-out of a send, which would count it as one that may have arrived.
const WAIT_FOR_A_CALL: Duration = Duration::from_millis(500);
/// How long a connection is kept for another call; a frozen function does not see its receiver
/// close it.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an answer's body is read, in bytes. Nothing in it counts; one that is read to its
/// end leaves its connection to the next call.
const ANSWER_BYTES_MAX: usize = 8_192;
/// How long an answer's body may take.
const ANSWER_BODY_TIMEOUT: Duration = Duration::from_secs(1);
/// The most characters that are kept of a reason.
const REASON_CHARS_MAX: usize = 500;

type HttpClient<N> = Client<Connector<N>, Full<Bytes>>;

/// Posts each delivery to its webhook, signed, once.
#[derive(Debug)]
pub struct WebhookSender<N, S> {
    network: Arc<N>,
    secrets: S,
    /// Made by the first call: most functions have no webhook, and certificates take time to read.
    client: OnceLock<HttpClient<N>>,
    tls: fn() -> io::Result<ClientConfig>,
    calls: Semaphore,
}

/// Trusts what the machine trusts.
///
/// # Errors
/// When the machine's certificates cannot be read.
pub fn system_tls() -> io::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    Ok(builder.with_native_roots()?.with_no_client_auth())
}

impl<N: Network, S: Secrets> WebhookSender<N, S> {
    /// Sends over `network`, with secrets from `secrets`; `tls` says which certificates to trust.
    pub fn new(network: N, secrets: S, tls: fn() -> io::Result<ClientConfig>) -> Self {
        let calls = Semaphore::new(CALLS_AT_ONCE);
        Self { network: Arc::new(network), secrets, client: OnceLock::new(), tls, calls }
    }

    fn client(&self) -> io::Result<&HttpClient<N>> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let connector = Connector::new(Arc::clone(&self.network), (self.tls)()?);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_CONNECTION_TIMEOUT)
            .build(connector);
        Ok(self.client.get_or_init(|| client))
    }

    async fn post(&self, webhook: &Webhook, delivery: &Delivery) -> SendOutcome {
        let Ok(Ok(_call)) = timeout(WAIT_FOR_A_CALL, self.calls.acquire()).await else {
            return SendOutcome::Refused("too many calls are under way".to_owned());
        };
        let request = match self.request(webhook, delivery).await {
            Ok(request) => request,
            Err(outcome) => return outcome,
        };
        let client = match self.client() {
            Ok(client) => client,
            Err(error) => return SendOutcome::Refused(format!("certificates not read: {error}")),
        };
        match client.request(request).await {
            Ok(response) => {
                let outcome =
                    answer::outcome(response.status(), response.headers(), delivery.sent_at);
                // The outcome is known; the body must not delay it.
                tokio::spawn(read_to_its_end(response));
                outcome
            }
            Err(error) => of_failed_call(&error),
        }
    }

    async fn request(
        &self,
        webhook: &Webhook,
        delivery: &Delivery,
    ) -> Result<Request<Full<Bytes>>, SendOutcome> {
        let secret = self.secrets.secret(&webhook.secret_parameter).await;
        let secret = secret.map_err(|error| of_unread_secret(webhook, &error))?;
        let body = body(delivery).map_err(|error| {
            SendOutcome::RefusedForGood(bounded(format!("the payload is not JSON: {error}")))
        })?;
        let id = delivery_id(&delivery.job_id, delivery.created_at);
        let timestamp_seconds = delivery.sent_at.as_millis().div_euclid(1_000);
        let signature =
            signature(secret.reveal(), &id, timestamp_seconds, &body).map_err(|error| {
                SendOutcome::Refused(format!("parameter {} {error}", webhook.secret_parameter))
            })?;
        Request::post(webhook.url.as_str())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(USER_AGENT, HeaderValue::from_static("spillway"))
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp_seconds)
            .header("webhook-signature", signature)
            .body(Full::from(body))
            .map_err(|error| SendOutcome::RefusedForGood(format!("no request: {error}")))
    }
}

impl<N: Network, S: Secrets> ChannelSender for WebhookSender<N, S> {
    async fn send(&self, target: &Target, deliveries: &[Delivery]) -> Vec<SendOutcome> {
        let mut outcomes = Vec::with_capacity(deliveries.len());
        for delivery in deliveries {
            outcomes.push(match target {
                Target::Webhook(webhook) => self.post(webhook, delivery).await,
                _ => SendOutcome::RefusedForGood("the channel is no webhook".to_owned()),
            });
        }
        outcomes
    }
}

/// Reads a body as far as it is read, so that its connection can be used again.
async fn read_to_its_end(response: Response<Incoming>) {
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect();
    let is_read = timeout(ANSWER_BODY_TIMEOUT, body).await.is_ok_and(|body| body.is_ok());
    tracing::debug!(is_read, "answer of a webhook");
}

fn of_unread_secret(webhook: &Webhook, error: &PortError) -> SendOutcome {
    tracing::warn!(?error, parameter = webhook.secret_parameter, "secret of a webhook not read");
    SendOutcome::Refused(format!("parameter {} was not read", webhook.secret_parameter))
}

/// Judges a call without an answer. Without a connection nothing was sent; with one, the request
/// may have arrived.
fn of_failed_call(error: &ClientError) -> SendOutcome {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let own = causes.clone().find_map(|cause| cause.downcast_ref::<ConnectError>());
    let reason = match (own, causes.last()) {
        (Some(own), _) => own.to_string(),
        (None, Some(innermost)) => innermost.to_string(),
        (None, None) => error.to_string(),
    };
    if error.is_connect() {
        SendOutcome::Refused(bounded(reason))
    } else {
        SendOutcome::Unanswered(bounded(reason))
    }
}

fn bounded(reason: String) -> String {
    match reason.char_indices().nth(REASON_CHARS_MAX) {
        Some((end, _)) => reason[..end].to_owned(),
        None => reason,
    }
}
