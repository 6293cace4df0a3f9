//! A proxy in front of the engine's API, which loses answers.

use std::net::SocketAddr;

use anyhow::Result;
use tokio::io::{self, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(crate) struct Proxy {
    pub url: String,
    // Dropping it ends the connections.
    _connections: JoinSet<()>,
}

impl Proxy {
    /// Passes connections on to `api`. Of requests whose head contains `path`, the first
    /// `unanswered` ones stay without their answers.
    pub(crate) async fn start(
        api: SocketAddr,
        path: &'static str,
        mut unanswered: usize,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut exchanges = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                // The engine opens a connection for each request.
                let mut head = vec![0; 4_096];
                let length = client.read(&mut head).await.unwrap_or_default();
                head.truncate(length);
                let is_meant = String::from_utf8_lossy(&head).contains(path);
                let is_answered = !is_meant || unanswered == 0;
                unanswered -= usize::from(!is_answered);
                exchanges.spawn(async move { exchange(client, head, api, is_answered).await });
            }
        });
        Ok(Self {
            url,
            _connections: connections,
        })
    }
}

async fn exchange(
    mut client: TcpStream,
    head: Vec<u8>,
    api: SocketAddr,
    is_answered: bool,
) -> io::Result<()> {
    let mut server = TcpStream::connect(api).await?;
    server.write_all(&head).await?;
    match is_answered {
        true => drop(io::copy_bidirectional(&mut client, &mut server).await?),
        // What the engine answers stays unread.
        false => drop(io::copy(&mut client, &mut server).await?),
    }
    Ok(())
}
