//! A relay to the service of a case, which holds the answer to the first request at a step.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use voice_calling_cases::At;
use voice_calling_peer::read_request;

pub(crate) struct Relay {
    pub base_url: String,
    state: Arc<State>,
    _accepting: JoinSet<()>,
}

struct State {
    service: String,
    at: At,
    is_first: AtomicBool,
    is_reached: watch::Sender<bool>,
    received: watch::Sender<usize>,
    is_released: watch::Sender<bool>,
}

impl Relay {
    /// A relay to the service at a URL `http://host:port/path`.
    pub(crate) async fn to(base_url: &str, at: At) -> Self {
        let (service, path) = base_url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let state = Arc::new(State {
            service: service.to_owned(),
            at,
            is_first: AtomicBool::new(true),
            is_reached: watch::channel(false).0,
            received: watch::channel(0).0,
            is_released: watch::channel(false).0,
        });
        let base_url = format!("http://{}/{path}", listener.local_addr().unwrap());
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, state.clone()));
        Self {
            base_url,
            state,
            _accepting: accepting,
        }
    }

    /// Waits until the first exchange is at its step, and the service has so many requests.
    pub(crate) async fn reached(&self, requests: usize) {
        let mut is_reached = self.state.is_reached.subscribe();
        is_reached.wait_for(|is_reached| *is_reached).await.unwrap();
        let mut received = self.state.received.subscribe();
        let all = received.wait_for(|received| *received >= requests);
        all.await.unwrap();
    }

    /// Lets the first exchange go on.
    pub(crate) fn release(&self) {
        self.state.is_released.send_replace(true);
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(relay(stream, state.clone()));
    }
}

async fn relay(mut client: TcpStream, state: Arc<State>) {
    let Ok(request) = read_request(&mut client).await else {
        return; // a connection that was not used
    };
    let is_first = state.is_first.swap(false, SeqCst);
    let mut service = TcpStream::connect(&state.service).await.unwrap();
    service.write_all(&request.bytes).await.unwrap();
    let mut answer = Vec::new();
    service.read_to_end(&mut answer).await.unwrap();
    state.received.send_modify(|received| *received += 1);
    let head = end_of_head(&answer).unwrap();
    let held = match state.at {
        At::BeforeRequest | At::RequestBegun => 0,
        At::Head => head,
        At::Body => (head + answer.len()) / 2,
        At::End | At::Result => answer.len(),
    };
    let (before, after) = answer.split_at(if is_first { held } else { answer.len() });
    // The client may be gone.
    let _ = client.write_all(before).await;
    if is_first {
        state.is_reached.send_replace(true);
        let mut is_released = state.is_released.subscribe();
        if !after.is_empty() {
            let _ = is_released.wait_for(|is_released| *is_released).await;
        }
    }
    let _ = client.write_all(after).await;
}

fn end_of_head(message: &[u8]) -> Option<usize> {
    let end = message.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    Some(end + 4)
}
