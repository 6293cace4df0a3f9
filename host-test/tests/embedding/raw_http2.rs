//! HTTP/2 frame by frame, so that a service can take back what it was sent.

use crate::peer::{Act, Connection};
use http::Version;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
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

/// Serves a connection. An act that needs no frames of its own closes it.
pub async fn serve(mut stream: TlsStream<TcpStream>, connection: &Connection) -> io::Result<()> {
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
            HEADERS => act = Some(connection.receive(Version::HTTP_2, String::new())),
            _ => {}
        }
        if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
            match act.take().expect("a request") {
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
                _ => return Ok(()),
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
