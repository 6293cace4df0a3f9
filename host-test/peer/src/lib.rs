//! A peer on loopback, for what no HTTP server does: it closes, resets, answers half, or stays
//! silent, by a script. It stores what it was sent. For a service that answers properly, see
//! `voice_calling_mock`.

// Support of tests, which print none of it.
#![expect(missing_debug_implementations)]

mod request;
#[cfg(feature = "tls")]
mod tls;

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use request::{Request, read_request};
#[cfg(feature = "tls")]
pub use tls::Authority;

/// The peer's reaction to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Closes a connection before it reads a request.
    CloseBeforeReading,
    /// Closes.
    CloseAfterReading,
    /// Resets the connection.
    ResetAfterReading,
    /// Sends half a head and closes.
    HalfHead,
    /// Sends nothing until the client closes the connection or the peer is dropped.
    Silence,
    /// Sends these bytes and closes.
    Send(Vec<u8>),
    /// Answers 200 with this body, and keeps the connection for the next request.
    Keep(&'static str),
}

/// A peer that follows a script, request by request; the last entry serves all further requests.
/// Dropping it closes everything.
pub struct Peer {
    address: SocketAddr,
    scheme: &'static str,
    seen: watch::Sender<Seen>,
    /// The accepting task, which owns the tasks of the connections. Aborted on drop.
    _accepting: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<Request>,
    given_up: usize,
    /// The number of entries of the script that were played.
    played: usize,
}

impl Peer {
    /// Starts a peer on a free port of 127.0.0.1.
    pub async fn start(script: impl Into<Vec<Behaviour>>) -> io::Result<Self> {
        Self::serve("http", script.into(), async |stream| Some(stream)).await
    }

    /// Starts a peer with TLS, which offers these protocols.
    #[cfg(feature = "tls")]
    pub async fn over_tls(
        authority: &Authority,
        protocols: &[&str],
        script: impl Into<Vec<Behaviour>>,
    ) -> io::Result<Self> {
        let tls = authority.vouch(protocols);
        // A client that does not trust the certificate closes the connection.
        let handshake = move |stream| {
            let accepting = tls.accept(stream);
            async { accepting.await.ok() }
        };
        Self::serve("https", script.into(), handshake).await
    }

    async fn serve<S, F>(
        scheme: &'static str,
        script: Vec<Behaviour>,
        handshake: impl Fn(TcpStream) -> F + Send + 'static,
    ) -> io::Result<Self>
    where
        S: Connection,
        F: Future<Output = Option<S>> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let seen = watch::Sender::<Seen>::default();
        let state = seen.clone();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                _ = stream.set_nodelay(true);
                let index = state.borrow().connections;
                state.send_modify(|seen| seen.connections += 1);
                let (stream, script, state) = (handshake(stream), script.clone(), state.clone());
                connections.spawn(async move {
                    if let Some(stream) = stream.await {
                        converse(stream, index, &script, &state).await;
                    }
                });
            }
        });
        Ok(Self {
            address,
            scheme,
            seen,
            _accepting: accepting,
        })
    }

    /// Returns the base URL, such as `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Returns the address at which the peer listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of connections so far, whatever happened to them.
    pub fn connections(&self) -> usize {
        self.seen.borrow().connections
    }

    /// Returns the complete requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.seen.borrow().requests.clone()
    }

    /// Waits until this many requests were received, and returns all.
    pub async fn received(&self, number: usize) -> Vec<Request> {
        self.until(|seen| seen.requests.len() >= number).await;
        self.requests()
    }

    /// Waits until the client has given up this many requests that met [`Behaviour::Silence`].
    pub async fn given_up(&self, number: usize) {
        self.until(|seen| seen.given_up >= number).await;
    }

    async fn until(&self, enough: impl Fn(&Seen) -> bool) {
        let mut seen = self.seen.subscribe();
        let waited = seen.wait_for(|seen| enough(seen)).await;
        waited.expect("the peer has the sender");
    }
}

/// A stream to a client.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Resets the connection, where others are closed.
    fn reset(self);
}

impl Connection for TcpStream {
    fn reset(self) {
        // Closing with zero linger resets the connection, which may be closed already.
        _ = self.set_zero_linger();
    }
}

/// Plays one connection to its end.
async fn converse(
    mut stream: impl Connection,
    connection: usize,
    script: &[Behaviour],
    seen: &watch::Sender<Seen>,
) {
    let next = |played: usize| script.get(played).or(script.last());
    let mut is_closed = false;
    seen.send_if_modified(|seen| {
        is_closed = next(seen.played) == Some(&Behaviour::CloseBeforeReading);
        seen.played += usize::from(is_closed);
        is_closed
    });
    while !is_closed {
        let request = match read_request(&mut stream).await {
            Ok(request) => request,
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                let silent = next(seen.borrow().played) == Some(&Behaviour::Silence);
                let refusal = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n";
                return match silent {
                    true => Behaviour::Silence.end(stream).await,
                    false => Behaviour::Send(refusal.to_vec()).end(stream).await,
                };
            }
            // The client is gone.
            Err(_) => return,
        };
        let mut behaviour = None;
        seen.send_modify(|seen| {
            behaviour = next(seen.played).cloned();
            seen.played += 1;
            seen.requests.push(Request {
                connection,
                ..request
            });
        });
        match behaviour.unwrap_or(Behaviour::CloseAfterReading) {
            Behaviour::Keep(body) => {
                let length = body.len();
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
                is_closed = stream.write_all(answer.as_bytes()).await.is_err();
            }
            Behaviour::Silence => {
                // This ends when the client does.
                _ = stream.read(&mut [0]).await;
                return seen.send_modify(|seen| seen.given_up += 1);
            }
            behaviour => return behaviour.end(stream).await,
        }
    }
}

impl Behaviour {
    /// Performs the last part of a connection, after its request was read.
    pub async fn end(self, mut stream: impl Connection) {
        let answer = match self {
            Self::ResetAfterReading => return stream.reset(),
            Self::HalfHead => b"HTTP/1.1 200 OK\r\nContent-Ty".to_vec(),
            Self::Send(bytes) => bytes,
            Self::Silence => return std::future::pending().await,
            Self::CloseBeforeReading | Self::CloseAfterReading | Self::Keep(_) => Vec::new(),
        };
        // The client may be gone.
        _ = stream.write_all(&answer).await;
        _ = stream.shutdown().await;
    }
}

/// A port of 127.0.0.1 that refuses connections while this value lives: it is bound, but not
/// listened on. No one is given it as a free one. On Linux, a server that names it can listen on it.
pub struct ClosedPort {
    address: SocketAddr,
    _socket: TcpSocket,
}

impl ClosedPort {
    /// Binds a port.
    pub fn bind() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self {
            address: socket.local_addr()?,
            _socket: socket,
        })
    }

    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}
