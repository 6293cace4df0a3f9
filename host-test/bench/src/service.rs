//! A service that does no more than one must: it reads a docket, looks whether there is a
//! token, and answers with a new docket id after a delay that stands in the path. The mock
//! keeps what it is sent and answers one after the other, which is right for tests and wrong
//! for a bench.
//!
//! It runs in a process of its own, so that its time and its memory are not taken for
//! those of who calls it.

use super::identity::Identity;
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use uuid::Uuid;

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 16_384;

/// On how many ports it speaks http. Who opens thousands of connections takes another one
/// each time: a port has no more than some 28,000 ends on the other side, and keeps each for
/// a minute after it was used.
const HTTP_PORTS: usize = 16;

/// How much of all bodies of a connection of HTTP/2 may wait to be read. How many small ones may
/// is a part of it: with too little, h2 takes thousands at once for an attack and closes
/// the connection.
const WINDOW_BYTES: u32 = 64 << 20;

/// Serves until stdin ends, which is when the process that began it is gone. The first
/// line on stdout has the certificate of the authority that vouches for it, the port for
/// https, and those for http.
pub async fn serve() -> Result<()> {
    let Identity { authority, server } = Identity::new()?;
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let mut ports = Vec::new();
    for acceptor in std::iter::once(Some(acceptor)).chain([const { None }; HTTP_PORTS]) {
        let listener = listen()?;
        ports.push(listener.local_addr()?.port().to_string());
        tokio::spawn(accept(listener, acceptor));
    }
    println!("{} {}", BASE64.encode(authority), ports.join(" "));
    io::stdout().flush()?;
    let mut end = [0];
    while tokio::io::stdin().read(&mut end).await? > 0 {}
    Ok(())
}

fn listen() -> Result<TcpListener> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    Ok(socket.listen(BACKLOG)?)
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>) {
    loop {
        // No more descriptors, say: whoever waits may get one soon.
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
    // Who hangs up has its reasons.
    let _ = server
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let delay_ms = delay_ms(request.uri().path());
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

/// `/20/api/v2/dockets` is answered after 20 ms.
fn delay_ms(path: &str) -> u64 {
    let first = path.split('/').nth(1);
    first.and_then(|ms| ms.parse().ok()).unwrap_or(0)
}

/// The process with the service. It ends when this is dropped.
pub struct Service {
    process: Child,
    authority: CertificateDer<'static>,
    https_port: u16,
    http_ports: Vec<u16>,
    next: AtomicUsize,
}

impl Service {
    /// Begins the process, which is to call [`serve`].
    pub fn start(mut serving: Command) -> Result<Self> {
        let process = serving
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the service of the bench")?;
        // From here on it is ended whatever happens.
        let mut service = Self {
            process,
            authority: CertificateDer::from(Vec::new()),
            https_port: 0,
            http_ports: Vec::new(),
            next: AtomicUsize::new(0),
        };
        let told = first_line(&mut service.process)?;
        let mut words = told.split_whitespace();
        let authority = words
            .next()
            .context("the service of the bench printed nothing")?;
        service.authority = CertificateDer::from(BASE64.decode(authority)?);
        let ports = words.map(str::parse).collect::<Result<Vec<u16>, _>>()?;
        let (https, http) = ports.split_first().context("it printed no port")?;
        (service.https_port, service.http_ports) = (*https, http.to_vec());
        Ok(service)
    }

    /// A base URL behind which every answer takes so long, each time at another port.
    pub fn base_url(&self, delay_ms: u64) -> String {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let port = self.http_ports[next % self.http_ports.len()];
        format!("http://127.0.0.1:{port}/{delay_ms}")
    }

    /// The same over TLS.
    pub fn tls_base_url(&self, delay_ms: u64) -> String {
        format!("https://127.0.0.1:{}/{delay_ms}", self.https_port)
    }

    /// Who vouches for it over TLS.
    pub fn authority(&self) -> &CertificateDer<'static> {
        &self.authority
    }
}

fn first_line(process: &mut Child) -> Result<String> {
    let mut line = String::new();
    let stdout = process.stdout.take().context("it has no stdout")?;
    BufReader::new(stdout).read_line(&mut line)?;
    Ok(line)
}

impl Drop for Service {
    fn drop(&mut self) {
        // It ends with its stdin; what does not is killed.
        drop(self.process.stdin.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
