//! Where a guest's requests go: pooled connections, or whatever a test puts in
//! their place.

pub mod outgoing;
pub mod pooled;
pub mod reach;
pub mod trust;

use futures_util::future::BoxFuture;
use http::{Request, Response};
use std::future::Future;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// Sends requests of guests.
pub trait Network: Send + Sync {
    /// Sends a request, and gives the head of the answer. It keeps to the timeouts
    /// in `options`, follows no redirect and repeats nothing.
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>>;

    /// Returns `true` if it reports `connection-timeout` only where no connection was made. A
    /// guest may then try a create again after it, which it may not on hosts that report the same
    /// for a request that was sent: its variable `VOICE_CALLING_TRUST_CONNECTION_TIMEOUT` is set
    /// unless the embedder sets it.
    fn has_true_connection_timeouts(&self) -> bool {
        false
    }
}

/// A network that is not there: a function answers every request. It keeps to no
/// timeouts, so that a test decides when what happens.
pub struct InMemoryNetwork<F>(pub F);

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
