//! A stderr that takes so many bytes and then no more, as a pipe does that nobody reads.

use bytes::Bytes;
use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// All streams of one stderr write into the same pipe.
#[derive(Clone)]
pub struct FullPipe {
    capacity: usize,
    written: Arc<Mutex<Written>>,
}

#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    met_no_room: bool,
}

impl FullPipe {
    pub fn of_capacity(capacity: usize) -> Self {
        Self {
            capacity,
            written: Arc::default(),
        }
    }

    pub fn contents(&self) -> String {
        String::from_utf8_lossy(&self.lock().bytes).into_owned()
    }

    /// Whether anybody wanted to write when there was no room.
    pub fn met_no_room(&self) -> bool {
        self.lock().met_no_room
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much can be written.
    fn room(&self) -> usize {
        let mut written = self.lock();
        let room = self.capacity - written.bytes.len();
        written.met_no_room |= room == 0;
        room
    }
}

impl IsTerminal for FullPipe {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for FullPipe {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for FullPipe {
    async fn ready(&mut self) {
        if self.room() == 0 {
            pending().await
        }
    }
}

impl OutputStream for FullPipe {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.lock().bytes.extend_from_slice(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(self.room())
    }
}

impl AsyncWrite for FullPipe {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let room = self.room();
        if room == 0 {
            return Poll::Pending;
        }
        let taken = &bytes[..bytes.len().min(room)];
        self.lock().bytes.extend_from_slice(taken);
        Poll::Ready(Ok(taken.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
