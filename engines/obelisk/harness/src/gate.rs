//! The network between the engine and the service, which tests can interrupt.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A listener that forwards connections. While it is shut, it accepts connections and what is sent,
/// and forwards nothing.
pub struct Gate {
    address: SocketAddr,
    is_open: watch::Sender<bool>,
    swallowed: watch::Receiver<usize>,
    /// Aborted on drop, connections included.
    _worker: JoinSet<()>,
}

impl Gate {
    /// Returns an open gate to `service`.
    pub async fn to(service: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.context("no port is free on 127.0.0.1")?;
        let address = listener.local_addr()?;
        let (is_open, open) = watch::channel(true);
        let (count, swallowed) = watch::channel(0);
        let mut worker = JoinSet::new();
        worker.spawn(pass_on(listener, service, open, count));
        Ok(Self {
            address,
            is_open,
            swallowed,
            _worker: worker,
        })
    }

    /// Returns the address at which the gate listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Discards everything that is sent from now on.
    pub fn shut(&self) {
        self.is_open.send_replace(false);
    }

    /// Forwards new connections from now on.
    pub fn open(&self) {
        self.is_open.send_replace(true);
    }

    /// Waits until the gate has discarded `count` requests since it was created.
    pub async fn swallowed(&self, count: usize) {
        let mut swallowed = self.swallowed.clone();
        // An error means that the worker panicked, which is reported anyway.
        let _ = swallowed.wait_for(|seen| *seen >= count).await;
    }
}

async fn pass_on(
    listener: TcpListener,
    service: SocketAddr,
    open: watch::Receiver<bool>,
    swallowed: watch::Sender<usize>,
) {
    let mut connections = JoinSet::new();
    while let Ok((peer, _)) = listener.accept().await {
        let is_open = *open.borrow();
        let swallowed = swallowed.clone();
        connections.spawn(async move {
            if is_open {
                forward(peer, service).await;
            } else {
                swallow(peer, &swallowed).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Either side may end early.
async fn forward(mut peer: TcpStream, service: SocketAddr) {
    if let Ok(mut service) = TcpStream::connect(service).await {
        let _ = copy_bidirectional(&mut peer, &mut service).await;
    }
}

/// Reads until the peer gives up.
async fn swallow(mut peer: TcpStream, swallowed: &watch::Sender<usize>) {
    let mut bytes = [0; 4096];
    let mut is_counted = false;
    while let Ok(1..) = peer.read(&mut bytes).await {
        if !is_counted {
            is_counted = true;
            swallowed.send_modify(|count| *count += 1);
        }
    }
}
