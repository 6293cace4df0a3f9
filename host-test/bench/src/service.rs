//! A minimal service: it reads a request and answers that a docket was created, after a delay. The
//! mock stores requests and answers them one by one, which is right for tests and wrong for a bench.
//!
//! The calls come from other processes, so that its time and memory do not count as theirs.

use anyhow::Result;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const CREATED: &str =
    r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"OPEN","created":true}"#;

/// The service. It ends when it is dropped.
pub(super) struct Service {
    address: SocketAddr,
    _accepting: JoinSet<()>,
}

impl Service {
    /// Starts the service in this process, on the threads of the runtime. Its answers take `delay`.
    pub(super) fn start(delay: Duration) -> Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, delay));
        Ok(Self {
            address,
            _accepting: accepting,
        })
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn accept(listener: TcpListener, delay: Duration) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new());
        let answer = service_fn(move |request| answer(request, delay));
        tokio::spawn(async move {
            // A client may disconnect at any time.
            let _ = server.serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    delay: Duration,
) -> hyper::Result<Response<Full<Bytes>>> {
    request.into_body().collect().await?;
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let mut response = Response::new(Full::from(CREATED));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}
