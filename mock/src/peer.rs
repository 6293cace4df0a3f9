//! Peers on loopback: one that violates HTTP in ways that no HTTP server would, and a receiver of
//! webhooks, as a user of the service would run one.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// A peer's treatment of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Closes before reading anything.
    CloseBeforeReading,
    /// Reads one request and closes.
    CloseAfterReading,
    /// Reads one request and resets the connection.
    ResetAfterReading,
    /// Reads one request, sends half a head and closes.
    HalfHead,
    /// Reads one request and sends nothing until the peer is dropped.
    Silence,
    /// Reads one request, sends these bytes and closes.
    Send(Vec<u8>),
}

/// A peer that follows a script, connection by connection; the last entry serves all further
/// connections. Dropping it closes everything.
pub struct RawPeer {
    address: SocketAddr,
    seen: watch::Sender<Seen>,
    /// The accepting task, which owns the tasks of the connections. Aborted on drop.
    _accepting: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<Vec<u8>>,
}

impl RawPeer {
    /// Starts a peer on a free port of 127.0.0.1. An empty script closes every connection before
    /// reading.
    pub async fn start(script: impl Into<Vec<Behaviour>>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let seen = watch::Sender::default();
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, script.into(), seen.clone()));
        Ok(Self {
            address,
            seen,
            _accepting: accepting,
        })
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address at which the peer listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.seen.borrow().connections
    }

    /// Returns the complete requests so far, byte for byte.
    pub fn requests(&self) -> Vec<Vec<u8>> {
        self.seen.borrow().requests.clone()
    }
}

async fn accept(listener: TcpListener, script: Vec<Behaviour>, seen: watch::Sender<Seen>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = seen.borrow().connections;
        seen.send_modify(|seen| seen.connections += 1);
        let behaviour = script.get(number).or(script.last()).cloned();
        let behaviour = behaviour.unwrap_or(Behaviour::CloseBeforeReading);
        connections.spawn(serve(stream, behaviour, seen.clone()));
    }
}

async fn serve(mut stream: TcpStream, behaviour: Behaviour, seen: watch::Sender<Seen>) {
    if behaviour == Behaviour::CloseBeforeReading {
        return;
    }
    let Ok(request) = read_request(&mut stream).await else {
        return; // the client went away first
    };
    seen.send_modify(|seen| seen.requests.push(request));
    behaviour.answer(stream).await;
}

impl Behaviour {
    /// Performs the part after the request was read, to the end of the connection.
    pub async fn answer(self, mut stream: TcpStream) {
        let answer = match self {
            Behaviour::CloseBeforeReading | Behaviour::CloseAfterReading => Vec::new(),
            Behaviour::ResetAfterReading => {
                // Closing with zero linger resets the connection.
                let _closed_already = stream.set_zero_linger();
                return;
            }
            Behaviour::HalfHead => b"HTTP/1.1 200 OK\r\nContent-Ty".to_vec(),
            Behaviour::Silence => return std::future::pending().await,
            Behaviour::Send(bytes) => bytes,
        };
        let _gone = stream.write_all(&answer).await;
        let _gone = stream.shutdown().await;
    }
}

/// Reads one request, head and body, byte for byte.
pub async fn read_request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    while !is_whole(&request) {
        if stream.read_buf(&mut request).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(request)
}

/// Returns `true` if the bytes are a complete request, with a body by length or in chunks.
fn is_whole(request: &[u8]) -> bool {
    let Some(head_end) = request.windows(4).position(|window| window == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&request[..head_end]).to_ascii_lowercase();
    let body = &request[head_end + 4..];
    if head.contains("\r\ntransfer-encoding: chunked") {
        return body == b"0\r\n\r\n" || body.ends_with(b"\r\n0\r\n\r\n");
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|length| length.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// A port of 127.0.0.1 that refuses connections while this value lives: it is bound, but not
/// listened on.
pub struct ClosedPort {
    address: SocketAddr,
    _socket: TcpSocket,
}

impl ClosedPort {
    /// Returns `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address that refuses connections.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Binds a port that refuses connections.
pub fn closed_port() -> io::Result<ClosedPort> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    Ok(ClosedPort {
        address: socket.local_addr()?,
        _socket: socket,
    })
}

/// Answers every delivery with 200 and keeps its body.
pub struct WebhookReceiver {
    peer: RawPeer,
    /// The number of deliveries that were returned.
    returned: usize,
}

impl WebhookReceiver {
    /// Starts a receiver on a free port, which ends when it is dropped.
    pub async fn start() -> io::Result<Self> {
        let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let peer = RawPeer::start([Behaviour::Send(answer.to_vec())]).await?;
        Ok(Self { peer, returned: 0 })
    }

    /// Returns the URL for deliveries.
    pub fn url(&self) -> String {
        format!("{}/voice-calling/webhook", self.peer.base_url())
    }

    /// Returns the body of the next delivery. Fails if none comes within `limit`.
    pub async fn next(&mut self, limit: Duration) -> Result<String> {
        let mut seen = self.peer.seen.subscribe();
        let came = seen.wait_for(|seen| seen.requests.len() > self.returned);
        let seen = timeout(limit, came).await;
        let seen = seen.with_context(|| format!("no webhook came within {limit:?}"))??;
        let request = std::str::from_utf8(&seen.requests[self.returned])?;
        let (_, body) = request.split_once("\r\n\r\n").context("half a request")?;
        self.returned += 1;
        Ok(body.to_owned())
    }
}
