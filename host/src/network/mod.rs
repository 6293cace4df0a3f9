//! The network of a guest: pooled connections, or a test's replacement.

pub mod outgoing;
pub mod pooled;
pub mod reach;

use futures_util::future::BoxFuture;
use http::{Request, Response};
use std::fmt;
use std::future::Future;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// Sends the requests of guests, and decides what is within their reach: nothing else does.
pub trait Network: Send + Sync {
    /// Sends a request, and returns the head of the response. It keeps to the timeouts in
    /// `options`, follows no redirect and retries nothing.
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>>;

    /// Returns `true` if its `connection-timeout` certainly means that no connection was made. Then
    /// a guest may retry a create after it, which it may not on hosts that report the same for a
    /// request that was sent: its variable `VOICE_CALLING_TRUST_CONNECTION_TIMEOUT` is set unless
    /// the embedder sets it.
    fn has_reliable_connection_timeouts(&self) -> bool {
        false
    }
}

/// A network in memory: a function answers every request. It keeps to no timeouts, so that a test
/// decides when things happen.
pub struct InMemoryNetwork<F>(pub F);

impl<F> fmt::Debug for InMemoryNetwork<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("InMemoryNetwork")
            .finish_non_exhaustive()
    }
}

impl<F, R> Network for InMemoryNetwork<F>
where
    F: Fn(Request<WasiBody>, RequestOptions) -> R + Send + Sync,
    R: Future<Output = Result<Response<WasiBody>, Error>> + Send + 'static,
{
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        Box::pin((self.0)(request, options))
    }
}
