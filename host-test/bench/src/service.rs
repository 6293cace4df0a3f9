//! A minimal service: it reads a docket, checks that there is a token, and answers with a new
//! docket id after a delay that is part of the path. The mock stores requests and answers them one
//! by one, which is right for tests and wrong for a bench.
//!
//! The calls come from other processes, so that its time and memory do not count as theirs.

use anyhow::Result;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use uuid::Uuid;

/// The number of connections that may wait to be accepted.
const BACKLOG: u32 = 16_384;

/// The number of ports for http. Each crowd uses another one: a port allows only some 28,000
/// connections, and keeps each for a minute after its use.
const HTTP_PORTS: usize = 16;

/// The flow-control window of an HTTP/2 connection. The limit of small unread bodies is derived
/// from it: if it is too low, h2 takes thousands at once for an attack and closes the connection.
const WINDOW_BYTES: u32 = 64 << 20;

/// The service. It ends when it is dropped.
pub(super) struct Service {
    /// The certificate of the service's authority for TLS, as DER.
    pub(super) authority: Vec<u8>,
    https_port: u16,
    http_ports: Vec<u16>,
    next: AtomicUsize,
    _accepting: JoinSet<()>,
}

impl Service {
    /// Starts the service in this process, on the threads of the runtime.
    pub(super) fn start() -> Result<Self> {
        let (authority, server) = identity()?;
        let mut accepting = JoinSet::new();
        let mut listen = |tls: Option<TlsAcceptor>| -> Result<u16> {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
            let listener = socket.listen(BACKLOG)?;
            let port = listener.local_addr()?.port();
            accepting.spawn(accept(listener, tls));
            Ok(port)
        };
        Ok(Self {
            authority,
            https_port: listen(Some(TlsAcceptor::from(Arc::new(server))))?,
            http_ports: (0..HTTP_PORTS)
                .map(|_| listen(None))
                .collect::<Result<_>>()?,
            next: AtomicUsize::new(0),
            _accepting: accepting,
        })
    }

    /// Returns a base URL whose answers take `delay_ms`, each time at another port.
    pub(super) fn base_url(&self, delay_ms: u64) -> String {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let port = self.http_ports[next % self.http_ports.len()];
        format!("http://127.0.0.1:{port}/{delay_ms}")
    }

    /// Returns the same over TLS.
    pub(super) fn tls_base_url(&self, delay_ms: u64) -> String {
        format!("https://127.0.0.1:{}/{delay_ms}", self.https_port)
    }
}

/// Creates a certificate authority and the configuration of a server that it certifies, for HTTP/2
/// and HTTP/1.1.
fn identity() -> Result<(Vec<u8>, ServerConfig)> {
    let mut authority = CertificateParams::new([])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let authority_key = KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((authority_certificate.der().to_vec(), server))
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>) {
    loop {
        // The process may be out of descriptors, and one may be closed soon.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let tls = tls.clone();
        tokio::spawn(async move {
            match tls {
                None => converse(stream).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        converse(stream).await;
                    }
                }
            }
        });
    }
}

async fn converse<S>(stream: S)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new());
    server
        .http2()
        .timer(TokioTimer::new())
        .initial_connection_window_size(WINDOW_BYTES)
        .max_concurrent_streams(None);
    // A client may disconnect at any time.
    let _ = server
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // `/20/api/v2/dockets` is answered after 20 ms.
    let delay_ms = request.uri().path().split('/').nth(1);
    let delay_ms = delay_ms.and_then(|ms| ms.parse().ok()).unwrap_or(0);
    let has_token = request.headers().contains_key("auth_token");
    let body = request.into_body().collect().await;
    let is_docket = body.is_ok_and(|body| is_docket(&body.to_bytes()));
    let status = match (has_token, is_docket) {
        (true, true) => StatusCode::OK,
        (true, false) => StatusCode::UNPROCESSABLE_ENTITY,
        (false, _) => StatusCode::UNAUTHORIZED,
    };
    if delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
    let docket_id = Uuid::new_v4().to_string();
    let docket = json!({ "docket_id": docket_id, "status": "OPEN", "created": true });
    let mut response = Response::new(Full::from(docket.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}

fn is_docket(body: &[u8]) -> bool {
    let docket: serde_json::Result<Value> = serde_json::from_slice(body);
    docket.is_ok_and(|docket| docket["agent_id"].is_i64() && docket["to_phone_number"].is_string())
}
