//! Forwards a guest's stderr to the log or to the harness's own stderr: a component's output is not
//! trusted to be free of the token.

use super::settings::STDERR_TARGET;
use crate::secrets::{MaskedLines, Secrets};
use bytes::Bytes;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// The number of bytes that a guest may write at once.
const PERMIT: usize = 64 * 1024;

/// Forwards stderr line by line, without the token.
#[derive(Clone)]
pub(crate) struct MaskedStderr {
    lines: Arc<Mutex<Lines>>,
    is_terminal: bool,
}

type Lines = MaskedLines<Box<dyn Write + Send>>;

impl MaskedStderr {
    /// Forwards to the harness's own stderr.
    pub(crate) fn inherited(secrets: &Secrets) -> Self {
        let stderr = io::stderr();
        let is_terminal = std::io::IsTerminal::is_terminal(&stderr);
        Self::to(Box::new(stderr), is_terminal, secrets)
    }

    /// Forwards to `tracing`.
    pub(crate) fn logged(secrets: &Secrets) -> Self {
        Self::to(Box::new(Events), false, secrets)
    }

    fn to(to: Box<dyn Write + Send>, is_terminal: bool, secrets: &Secrets) -> Self {
        Self {
            lines: Arc::new(Mutex::new(secrets.lines(to))),
            is_terminal,
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logs an event for each line, which arrives in one piece.
struct Events;

impl Write for Events {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = text.trim_end_matches(['\r', '\n']);
        if !line.is_empty() {
            // A log escapes the control characters of a field.
            tracing::warn!(target: STDERR_TARGET, line, "stderr of the guest");
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl IsTerminal for MaskedStderr {
    fn is_terminal(&self) -> bool {
        self.is_terminal
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
        // A guest continues even if the harness's stderr is closed.
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
