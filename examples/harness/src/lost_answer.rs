//! The worst fate of a creation: it is carried out, and its answer is lost.

use futures_util::future::BoxFuture;
use http::{Method, Request, Response};
use std::sync::atomic::{AtomicUsize, Ordering};
use voice_calling_host::{Network, PooledNetwork};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// A network whose connection breaks after the service has received the `nth` creation (from 1) and
/// before it answers.
pub struct LostAnswer {
    network: PooledNetwork,
    nth: usize,
    creations: AtomicUsize,
}

impl LostAnswer {
    /// Returns a network that loses the answer to the `nth` creation from now.
    pub fn to_nth_creation(nth: usize, network: PooledNetwork) -> Self {
        Self {
            network,
            nth,
            creations: AtomicUsize::new(0),
        }
    }
}

impl Network for LostAnswer {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        let lost = request.method() == Method::POST
            && self.creations.fetch_add(1, Ordering::Relaxed) + 1 == self.nth;
        let sending = self.network.send(request, options);
        Box::pin(async move {
            let answer = sending.await;
            match lost {
                true => Err(Error::ConnectionTerminated),
                false => answer,
            }
        })
    }
}
