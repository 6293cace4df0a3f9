//! A service that speaks HTTP/2 frame by frame, so that it can take back what it was sent.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const PREFACE_BYTES: usize = 24;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// Of DATA and HEADERS: the last of its stream.
const END_STREAM: u8 = 1;
/// Of SETTINGS.
const ACK: u8 = 1;
/// Of HEADERS.
const END_HEADERS: u8 = 4;

/// `:status: 200`, from HPACK's table.
const STATUS_200: u8 = 0x88;

const NO_ERROR: u32 = 0;
const REFUSED_STREAM: u32 = 7;

/// What the service does with a request, once it has read all of it.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// 200 with this body.
    Answer(&'static str),
    /// Resets the stream, which it has not looked at.
    RefuseStream,
    /// Says that it goes away and has not looked at this request, nor will, and closes the
    /// connection.
    GoAway,
}

/// The service. Dropping it closes everything.
pub struct RawHttp2 {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    // The accepting task, which owns those of the connections.
    _accepting: JoinSet<()>,
}

impl RawHttp2 {
    /// The script is gone through request by request, on whatever connection; its last
    /// entry is for all further ones.
    pub async fn start(tls: TlsAcceptor, script: impl Into<Vec<Act>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(AtomicUsize::new(0));
        let (accepted, begun) = (connections.clone(), requests.clone());
        let script: Arc<[Act]> = script.into().into();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut conversations = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                let (tls, script, begun) = (tls.clone(), script.clone(), begun.clone());
                // Who hangs up has its reasons.
                conversations.spawn(async move { converse(stream, tls, &script, &begun).await });
            }
        });
        Self {
            address,
            connections,
            requests,
            _accepting: accepting,
        }
    }

    pub fn base_url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many requests began, whatever came of them.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn converse(
    stream: TcpStream,
    tls: TlsAcceptor,
    script: &[Act],
    begun: &AtomicUsize,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = tls.accept(stream).await?;
    stream.read_exact(&mut [0; PREFACE_BYTES]).await?;
    write(&mut stream, SETTINGS, 0, 0, &[]).await?;
    let mut act = None;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [l2, l1, l0, kind, flags, id @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, l2, l1, l0]) as usize];
        stream.read_exact(&mut payload).await?;
        let id = u32::from_be_bytes(id);
        match kind {
            SETTINGS if flags & ACK == 0 => write(&mut stream, SETTINGS, ACK, 0, &[]).await?,
            HEADERS => {
                let number = begun.fetch_add(1, Ordering::SeqCst);
                act = script.get(number).or(script.last()).copied();
            }
            _ => {}
        }
        if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
            match act.expect("a script") {
                Act::Answer(body) => answer(&mut stream, id, body).await?,
                Act::RefuseStream => {
                    let code = REFUSED_STREAM.to_be_bytes();
                    write(&mut stream, RST_STREAM, 0, id, &code).await?;
                }
                Act::GoAway => {
                    // It looks at no request after the one before this.
                    let payload = [(id - 2).to_be_bytes(), NO_ERROR.to_be_bytes()].concat();
                    write(&mut stream, GOAWAY, 0, 0, &payload).await?;
                    return stream.shutdown().await;
                }
            }
        }
    }
}

async fn answer(stream: &mut TlsStream<TcpStream>, id: u32, body: &str) -> io::Result<()> {
    write(stream, HEADERS, END_HEADERS, id, &[STATUS_200]).await?;
    write(stream, DATA, END_STREAM, id, body.as_bytes()).await
}

async fn write(
    stream: &mut TlsStream<TcpStream>,
    kind: u8,
    flags: u8,
    id: u32,
    payload: &[u8],
) -> io::Result<()> {
    let length = u32::try_from(payload.len())
        .expect("a short frame")
        .to_be_bytes();
    let head = [&length[1..], &[kind, flags], &id.to_be_bytes()].concat();
    stream.write_all(&[&head, payload].concat()).await?;
    stream.flush().await
}
