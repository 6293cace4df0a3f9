//! A guest's stderr on its way to the harness's own: what a component writes there is
//! not to be trusted with the token.

use crate::record::secrets::{MaskedLines, Secrets};
use bytes::Bytes;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// How much a guest may write at once.
const PERMIT: usize = 64 * 1024;

/// Stderr, line by line and without the token.
#[derive(Clone)]
pub(crate) struct MaskedStderr(Arc<Mutex<MaskedLines<io::Stderr>>>);

impl MaskedStderr {
    pub(crate) fn new(secrets: &Secrets) -> Self {
        Self(Arc::new(Mutex::new(secrets.lines(io::stderr()))))
    }

    fn lines(&self) -> MutexGuard<'_, MaskedLines<io::Stderr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IsTerminal for MaskedStderr {
    fn is_terminal(&self) -> bool {
        std::io::IsTerminal::is_terminal(&io::stderr())
    }
}

impl StdoutStream for MaskedStderr {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for MaskedStderr {
    async fn ready(&mut self) {}
}

impl OutputStream for MaskedStderr {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        // Where the harness's stderr is closed, a guest goes on all the same.
        let _closed = self.lines().write_all(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

impl AsyncWrite for MaskedStderr {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(self.lines().write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.lines().flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
