//! A receiver of webhooks that answers as it is told, and keeps what it was sent.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The host that the tests' certificate is for.
pub(crate) const HOST: &str = "hooks.example.com";

static CERTIFICATE: LazyLock<(CertificateDer<'static>, Vec<u8>)> = LazyLock::new(|| {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![HOST.to_owned()]).unwrap().self_signed(&key);
    (certificate.unwrap().der().clone(), key.serialize_der())
});

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// Trusts the tests' certificate alone.
#[expect(clippy::unnecessary_wraps, reason = "as the machine's, which may fail")]
pub(crate) fn test_tls() -> std::io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CERTIFICATE.0.clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) first_line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// How a request is answered: with these bytes, after this time.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) after: Duration,
    /// Send nothing more, and keep the connection open.
    pub(crate) then_hang: bool,
}

/// Answers with a status line, headers and an empty body.
pub(crate) fn status(line: &str) -> Answer {
    let text = format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\n\r\n");
    Answer { bytes: text.into_bytes(), after: Duration::ZERO, then_hang: false }
}

/// Answers 200 with a body of this size.
pub(crate) fn body_of(bytes: usize) -> Answer {
    let mut text = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n").into_bytes();
    text.resize(text.len() + bytes, b'x');
    Answer { bytes: text, after: Duration::ZERO, then_hang: false }
}

#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

impl Sink {
    /// Starts a receiver over plain HTTP.
    pub(crate) async fn plain(answer: Answer) -> Self {
        Self::start(answer, None).await
    }

    /// Starts a receiver over TLS.
    pub(crate) async fn secure(answer: Answer) -> Self {
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let key = PrivateKeyDer::try_from(CERTIFICATE.1.clone()).unwrap();
        let config = builder.with_single_cert(vec![CERTIFICATE.0.clone()], key).unwrap();
        Self::start(answer, Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn start(answer: Answer, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind((IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, connections) = (Arc::<Mutex<Vec<Seen>>>::default(), Arc::default());
        let sink = Self { address, seen: Arc::clone(&seen), connections: Arc::clone(&connections) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let (seen, answer, tls) = (Arc::clone(&seen), answer.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &seen, &answer).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &seen, &answer).await;
                            }
                        }
                    }
                });
            }
        });
        sink
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook?v=1", self.address.port())
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn connection_count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve<T: AsyncRead + AsyncWrite + Unpin>(
    mut stream: T,
    seen: &Mutex<Vec<Seen>>,
    answer: &Answer,
) {
    while let Some(request) = read_request(&mut stream).await {
        seen.lock().unwrap().push(request);
        tokio::time::sleep(answer.after).await;
        if stream.write_all(&answer.bytes).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        if answer.then_hang {
            std::future::pending::<()>().await;
        }
    }
}

async fn read_request<T: AsyncRead + Unpin>(stream: &mut T) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        bytes.push(stream.read_u8().await.ok()?);
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.lines();
    let first_line = lines.next().unwrap().to_owned();
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Seen { first_line, headers, body: String::from_utf8(body).unwrap() })
}
