//! Peers on loopback: one that violates HTTP in ways that no HTTP server would, and a receiver of
//! webhooks, as a user of the service would run one.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

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
    seen: Arc<Mutex<Seen>>,
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
        let seen = Arc::new(Mutex::default());
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
        locked(&self.seen).connections
    }

    /// Returns the complete requests so far, byte for byte.
    pub fn requests(&self) -> Vec<Vec<u8>> {
        locked(&self.seen).requests.clone()
    }
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, script: Vec<Behaviour>, seen: Arc<Mutex<Seen>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = locked(&seen).connections;
        locked(&seen).connections += 1;
        let behaviour = script.get(number).or(script.last()).cloned();
        let behaviour = behaviour.unwrap_or(Behaviour::CloseBeforeReading);
        connections.spawn(serve(stream, behaviour, seen.clone()));
    }
}

async fn serve(mut stream: TcpStream, behaviour: Behaviour, seen: Arc<Mutex<Seen>>) {
    if behaviour == Behaviour::CloseBeforeReading {
        return;
    }
    let Ok(request) = read_request(&mut stream).await else {
        return; // the client went away first
    };
    locked(&seen).requests.push(request);
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

const PATH: &str = "/voice-calling/webhook";

/// Answers every delivery with 200 and queues its body.
pub struct WebhookReceiver {
    server: MockServer,
    bodies: UnboundedReceiver<Vec<u8>>,
}

impl WebhookReceiver {
    /// Starts a receiver on a free port, which ends when it is dropped.
    pub async fn start() -> Self {
        let (sender, bodies) = unbounded_channel();
        let server = MockServer::start().await;
        let deliveries = Mock::given(method("POST")).and(path(PATH));
        deliveries.respond_with(HandOn(sender)).mount(&server).await;
        Self { server, bodies }
    }

    /// Returns the URL for deliveries.
    pub fn url(&self) -> String {
        format!("{}{PATH}", self.server.uri())
    }

    /// Returns the body of the next delivery. Fails if none comes within `limit`.
    pub async fn next(&mut self, limit: Duration) -> Result<String> {
        let delivery = timeout(limit, self.bodies.recv()).await;
        let body = delivery.with_context(|| format!("no webhook came within {limit:?}"))?;
        let body = body.context("the webhook receiver has ended")?;
        String::from_utf8(body).context("the webhook is not UTF-8")
    }
}

struct HandOn(UnboundedSender<Vec<u8>>);

impl Respond for HandOn {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        // An error means that the receiver of bodies is gone.
        let _ = self.0.send(request.body.clone());
        ResponseTemplate::new(200)
    }
}
