//! A minimal service: it reads a docket, checks that there is a token, and answers with a new
//! docket id after a delay. The mock stores requests and answers them one by one, which is right
//! for tests and wrong for a bench.
//!
//! The calls come from other processes, so that its time and memory do not count as theirs.

use anyhow::Result;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;
use uuid::Uuid;

/// The number of connections that may wait to be accepted.
const BACKLOG: u32 = 16_384;

/// The service. It ends when it is dropped. Each load has its own: a port allows only some 28,000
/// connections, and keeps each for a minute after its use.
pub(super) struct Service {
    address: SocketAddr,
    _accepting: JoinSet<()>,
}

impl Service {
    /// Starts the service in this process, on the threads of the runtime. Its answers take `delay`.
    pub(super) fn start(delay: Duration) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let listener = socket.listen(BACKLOG)?;
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
    loop {
        // The process may be out of descriptors, and one may be closed soon.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
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
) -> Result<Response<Full<Bytes>>, Infallible> {
    let has_token = request.headers().contains_key("auth_token");
    let body = request.into_body().collect().await;
    let is_docket = body.is_ok_and(|body| is_docket(&body.to_bytes()));
    let status = match (has_token, is_docket) {
        (true, true) => StatusCode::OK,
        (true, false) => StatusCode::UNPROCESSABLE_ENTITY,
        (false, _) => StatusCode::UNAUTHORIZED,
    };
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
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
