//! Connections to addresses that were checked.
//!
//! A name is resolved once a connection; each address is checked and the connection goes to one of
//! those, so that an answer of the resolver that changes in between changes nothing. The
//! certificate is checked against the name.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use spillway_domain::webhook::Reach;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::Service;

use crate::network::Network;

/// How long a connection may take, with the name's resolution and the TLS handshake. A lost SYN is
/// sent again after a second.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(2_500);

/// Why no connection came about. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("the name {host} was not resolved")]
    Unresolved { host: String, source: io::Error },
    #[error("the name {host} has no address")]
    NoAddress { host: String },
    #[error("the name {host} stands for {address}, which is {what}")]
    Refused { host: String, address: IpAddr, what: &'static str },
    #[error("no connection to {address}: {source}")]
    Unreachable { address: SocketAddr, source: io::Error },
    #[error("no secure connection: {0}")]
    Tls(Box<dyn std::error::Error + Send + Sync>),
    #[error("no connection within {} ms", CONNECT_TIMEOUT.as_millis())]
    TimedOut,
}

type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, ConnectError>> + Send>>;

/// Connects over TCP to what a URL's host may stand for.
#[derive(Debug)]
pub(crate) struct CheckedTcp<N>(Arc<N>);

/// Connects over TLS when the URL says so, and gives up after [`CONNECT_TIMEOUT`].
#[derive(Debug)]
pub(crate) struct Connector<N>(HttpsConnector<CheckedTcp<N>>);

impl<N: Network> Connector<N> {
    pub(crate) fn new(network: Arc<N>, tls: ClientConfig) -> Self {
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls);
        Self(builder.https_or_http().enable_http1().wrap_connector(CheckedTcp(network)))
    }
}

impl<N> Clone for CheckedTcp<N> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<N> Clone for Connector<N> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<N: Network> Service<Uri> for CheckedTcp<N> {
    type Response = TokioIo<TcpStream>;
    type Error = ConnectError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let network = Arc::clone(&self.0);
        Box::pin(async move { connect(network.as_ref(), &url).await.map(TokioIo::new) })
    }
}

impl<N: Network> Service<Uri> for Connector<N> {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = ConnectError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        self.0.poll_ready(context).map_err(own_error)
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let connecting = self.0.call(url);
        Box::pin(async move {
            match timeout(CONNECT_TIMEOUT, connecting).await {
                Ok(connected) => connected.map_err(own_error),
                Err(_) => Err(ConnectError::TimedOut),
            }
        })
    }
}

/// Finds the error of [`CheckedTcp`] behind that of the layer above it; any other is of TLS.
fn own_error(error: Box<dyn std::error::Error + Send + Sync>) -> ConnectError {
    match error.downcast::<ConnectError>() {
        Ok(own) => *own,
        Err(other) => ConnectError::Tls(other),
    }
}

async fn connect<N: Network>(network: &N, url: &Uri) -> Result<TcpStream, ConnectError> {
    let host = url.host().unwrap_or_default();
    let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("http") { 80 } else { 443 });
    let mut last = ConnectError::NoAddress { host: host.to_owned() };
    for address in checked_addresses(network, host).await? {
        let address = SocketAddr::new(address, port);
        match network.connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(source) => last = ConnectError::Unreachable { address, source },
        }
    }
    Err(last)
}

/// Resolves a host. One address that it may not stand for refuses all of them: whoever answers so
/// is not to be trusted with the others.
async fn checked_addresses<N: Network>(
    network: &N,
    host: &str,
) -> Result<Vec<IpAddr>, ConnectError> {
    let reach = Reach::of_host(host);
    // An address in brackets is resolved without them.
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = network.resolve(bare).await;
    let addresses =
        addresses.map_err(|source| ConnectError::Unresolved { host: host.to_owned(), source })?;
    for address in &addresses {
        if let Some(what) = reach.refusal(*address) {
            return Err(ConnectError::Refused { host: host.to_owned(), address: *address, what });
        }
    }
    Ok(addresses)
}
