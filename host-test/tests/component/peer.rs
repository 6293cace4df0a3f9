//! A service on loopback that speaks HTTP by a script, with or without TLS, and stores requests.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// The certificate authority of peers on this machine: a self-signed certificate, which they
/// present themselves.
pub struct Authority {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Authority {
    pub fn new() -> Self {
        let made = generate_simple_self_signed(["127.0.0.1".to_owned()]);
        let CertifiedKey { cert, signing_key } = made.unwrap();
        Self {
            certificate: cert.der().clone(),
            key: signing_key.serialize_der(),
        }
    }

    pub fn certificate(&self) -> CertificateDer<'static> {
        self.certificate.clone()
    }

    /// Returns the certificate as the content of a PEM file.
    pub fn pem(&self) -> String {
        let text = BASE64.encode(&self.certificate);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    }

    /// Returns a server's TLS configuration for this machine, which offers these protocols.
    pub fn vouch(&self, protocols: &[&str]) -> TlsAcceptor {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate()], key)
            .unwrap();
        let protocol = |name: &&str| name.as_bytes().to_vec();
        server.alpn_protocols = protocols.iter().map(protocol).collect();
        TlsAcceptor::from(Arc::new(server))
    }
}

/// The service's reaction to a request, once it has read all of it.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// 200 with this body.
    Answer(&'static str),
    /// No answer until the client gives up.
    Silence,
    /// No answer: the connection is closed.
    HangUp,
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Received {
    /// The index of the connection, from 0.
    pub connection: usize,
    /// The method, the target and the headers in alphabetical order, line by line; then, after an
    /// empty line, the body.
    pub text: String,
}

/// The service. Dropping it closes everything.
pub struct Peer {
    address: SocketAddr,
    scheme: &'static str,
    seen: Arc<Mutex<Seen>>,
    // The accepting task, which owns those of the connections.
    _accepting: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<Received>,
    given_up: usize,
    /// Notified of each change.
    anew: Arc<Notify>,
}

impl Peer {
    /// Starts a service without TLS. The script is followed request by request; its last entry
    /// serves all further ones.
    pub async fn plain(script: impl Into<Vec<Act>>) -> Self {
        Self::start(None, script.into()).await
    }

    /// Starts a service with TLS.
    pub async fn over_tls(tls: TlsAcceptor, script: impl Into<Vec<Act>>) -> Self {
        Self::start(Some(tls), script.into()).await
    }

    async fn start(tls: Option<TlsAcceptor>, script: Vec<Act>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = match tls {
            Some(_) => "https",
            None => "http",
        };
        let seen = Arc::new(Mutex::default());
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, tls, script.into(), seen.clone()));
        Self {
            address,
            scheme,
            seen,
            _accepting: accepting,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn base_url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Returns how many connections were accepted, whatever happened to them.
    pub fn connections(&self) -> usize {
        locked(&self.seen).connections
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Received> {
        locked(&self.seen).requests.clone()
    }

    /// Waits until this many requests have been received.
    pub async fn has_requests(&self, number: usize) {
        self.has(|seen| seen.requests.len() >= number).await;
    }

    /// Waits until this many unanswered requests were given up.
    pub async fn has_given_up(&self, number: usize) {
        self.has(|seen| seen.given_up >= number).await;
    }

    async fn has(&self, enough: impl Fn(&Seen) -> bool) {
        let anew = locked(&self.seen).anew.clone();
        while !enough(&locked(&self.seen)) {
            // A notification in between is kept for the waiter.
            anew.notified().await;
        }
    }
}

/// An unanswered request. Dropping it means that it was given up.
struct Unanswered(Arc<Mutex<Seen>>);

impl Drop for Unanswered {
    fn drop(&mut self) {
        let mut seen = locked(&self.0);
        seen.given_up += 1;
        seen.anew.notify_one();
    }
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    script: Arc<[Act]>,
    seen: Arc<Mutex<Seen>>,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let connection = Connection {
            number: locked(&seen).connections,
            script: script.clone(),
            seen: seen.clone(),
        };
        locked(&seen).connections += 1;
        connections.spawn(converse(stream, tls.clone(), connection));
    }
}

async fn converse(stream: TcpStream, tls: Option<TlsAcceptor>, connection: Connection) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => connection.serve(stream).await,
        Some(tls) => {
            // A client that does not trust the certificate has closed the connection.
            if let Ok(stream) = tls.accept(stream).await {
                connection.serve(stream).await;
            }
        }
    }
}

type BoxError = Box<dyn Error + Send + Sync>;

#[derive(Clone)]
struct Connection {
    number: usize,
    script: Arc<[Act]>,
    seen: Arc<Mutex<Seen>>,
}

impl Connection {
    /// Stores a request, and returns the reaction to it.
    fn receive(&self, text: String) -> Act {
        let mut seen = locked(&self.seen);
        let number = seen.requests.len();
        seen.requests.push(Received {
            connection: self.number,
            text,
        });
        seen.anew.notify_one();
        *self
            .script
            .get(number)
            .or(self.script.last())
            .expect("a script")
    }

    async fn serve<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut server = http1::Builder::new();
        let service = service_fn(move |request| self.clone().answer(request));
        let serving = server.timer(TokioTimer::new());
        let _ = serving
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, BoxError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()))
        };
        let mut headers: Vec<_> = head.headers.iter().map(header).collect();
        headers.sort();
        let text = format!(
            "{} {}\n{}\n{}",
            head.method,
            head.uri,
            headers.concat(),
            String::from_utf8_lossy(&body)
        );
        match self.receive(text) {
            Act::Answer(body) => Ok(Response::new(Full::from(body))),
            Act::Silence => {
                let _unanswered = Unanswered(self.seen);
                std::future::pending().await
            }
            Act::HangUp => Err(io::Error::other("no answer").into()),
        }
    }
}
