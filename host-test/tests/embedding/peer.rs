//! A service on loopback that speaks HTTP as its script says, with or without TLS, and
//! keeps what it was sent.

use crate::raw_http2;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Who vouches for a service; known to nobody.
pub struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        let mut authority = CertificateParams::new([]).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let key = KeyPair::generate().unwrap();
        let certificate = authority.self_signed(&key).unwrap().der().clone();
        let issuer = Issuer::new(authority, key);
        Self {
            certificate,
            issuer,
        }
    }

    pub fn certificate(&self) -> CertificateDer<'static> {
        self.certificate.clone()
    }

    /// The same as the contents of a PEM file.
    pub fn pem(&self) -> String {
        let text = BASE64.encode(&self.certificate);
        let lines = text.as_bytes().chunks(64).map(String::from_utf8_lossy);
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        format!("-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n")
    }

    /// A server's side of TLS for this machine, which offers these protocols.
    pub fn vouch(&self, protocols: &[&str]) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(["127.0.0.1".to_owned()])
            .and_then(|certificate| certificate.signed_by(&key, &self.issuer))
            .unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let protocol = |name: &&str| name.as_bytes().to_vec();
        server.alpn_protocols = protocols.iter().map(protocol).collect();
        TlsAcceptor::from(Arc::new(server))
    }
}

/// What the service does with a request, once it has read all of it.
#[derive(Clone, Debug)]
pub enum Act {
    /// 200 with this body.
    Answer(&'static str),
    /// No answer, ever, until whoever asked gives up.
    Silence,
    /// No answer: the connection is closed, over HTTP/2 by a reset of the stream alone.
    Break,
    /// No answer: the connection is closed without a word.
    HangUp,
    /// Frame by frame: resets the stream as one that it has not looked at.
    RefuseStream,
    /// Frame by frame: says that it goes away and has not looked at this request, nor will, and
    /// closes the connection.
    GoAway,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// On which connection, from 0.
    pub connection: usize,
    pub version: Version,
    /// Method, target and headers in the order of their names, line by line; then, after an
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
    /// Something was seen.
    anew: Arc<Notify>,
}

impl Peer {
    /// Without TLS. The script is gone through request by request; its last entry is for
    /// all further ones.
    pub async fn plain(script: impl Into<Vec<Act>>) -> Self {
        Self::start(None, script.into(), false).await
    }

    /// With TLS.
    pub async fn over_tls(tls: TlsAcceptor, script: impl Into<Vec<Act>>) -> Self {
        Self::start(Some(tls), script.into(), false).await
    }

    /// With TLS, and HTTP/2 frame by frame.
    pub async fn frame_by_frame(tls: TlsAcceptor, script: impl Into<Vec<Act>>) -> Self {
        Self::start(Some(tls), script.into(), true).await
    }

    async fn start(tls: Option<TlsAcceptor>, script: Vec<Act>, is_raw: bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = match tls {
            Some(_) => "https",
            None => "http",
        };
        let seen = Arc::new(Mutex::default());
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, tls, script.into(), is_raw, seen.clone()));
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

    /// How many connections were accepted, whatever came of them.
    pub fn connections(&self) -> usize {
        locked(&self.seen).connections
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Received> {
        locked(&self.seen).requests.clone()
    }

    /// Waits until so many requests have come.
    pub async fn has_requests(&self, number: usize) {
        self.has(|seen| seen.requests.len() >= number).await;
    }

    /// Waits until so many requests were given up that were met with silence.
    pub async fn has_given_up(&self, number: usize) {
        self.has(|seen| seen.given_up >= number).await;
    }

    async fn has(&self, enough: impl Fn(&Seen) -> bool) {
        let anew = locked(&self.seen).anew.clone();
        while !enough(&locked(&self.seen)) {
            // What is seen in between is kept for the one who waits.
            anew.notified().await;
        }
    }
}

/// A request that is met with silence; dropped, it was given up.
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
    is_raw: bool,
    seen: Arc<Mutex<Seen>>,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let connection = Connection {
            number: locked(&seen).connections,
            script: script.clone(),
            is_raw,
            seen: seen.clone(),
            hangs_up: Arc::default(),
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
            // Who does not trust us is gone.
            match tls.accept(stream).await {
                Ok(stream) if connection.is_raw => {
                    // A client that hangs up has its reasons.
                    let _ = raw_http2::serve(stream, &connection).await;
                }
                Ok(stream) => connection.serve(stream).await,
                Err(_) => {}
            }
        }
    }
}

#[derive(Clone)]
pub struct Connection {
    number: usize,
    script: Arc<[Act]>,
    is_raw: bool,
    seen: Arc<Mutex<Seen>>,
    hangs_up: Arc<Notify>,
}

impl Connection {
    /// Keeps a request, and returns what to do with it.
    pub fn receive(&self, version: Version, text: String) -> Act {
        let mut seen = locked(&self.seen);
        let number = seen.requests.len();
        seen.requests.push(Received {
            connection: self.number,
            version,
            text,
        });
        seen.anew.notify_one();
        let act = self.script.get(number).or(self.script.last());
        act.expect("a script").clone()
    }

    async fn serve<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut server = auto::Builder::new(TokioExecutor::new());
        server.http1().timer(TokioTimer::new());
        server.http2().timer(TokioTimer::new());
        let hangs_up = self.hangs_up.clone();
        let service = service_fn(move |request| self.clone().answer(request));
        tokio::select! {
            _ = server.serve_connection(TokioIo::new(stream), service) => {}
            () = hangs_up.notified() => {}
        }
    }

    async fn answer(self, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
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
        match self.receive(head.version, text) {
            Act::Answer(body) => Ok(Response::new(Full::from(body))),
            Act::Silence => {
                let _unanswered = Unanswered(self.seen);
                std::future::pending().await
            }
            Act::Break | Act::RefuseStream | Act::GoAway => Err(io::Error::other("no answer")),
            Act::HangUp => {
                self.hangs_up.notify_one();
                std::future::pending().await
            }
        }
    }
}
