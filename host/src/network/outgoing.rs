//! The hook that all requests of a guest pass.

use crate::network::Network;
use crate::network::pooled::PooledNetwork;
use crate::network::reach::Reach;
use crate::secrets::Secrets;
use anyhow::Result;
use http::{Method, Request, Response, Uri};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use voice_calling_net::Trust;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

/// The route of a guest's requests. Each is in the log, at the level DEBUG, when it has ended.
#[derive(Clone)]
pub struct Outgoing {
    /// The network that sends the requests, and decides what is within reach.
    pub network: Arc<dyn Network>,
    /// The tokens that the log does not show: those in the environments of guests that use this
    /// route, and those that were added. Sending a token does not add it.
    pub secrets: Secrets,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Outgoing")
            .field("secrets", &self.secrets)
            .finish_non_exhaustive()
    }
}

impl Outgoing {
    /// Returns a route to the services at these base URLs and to nothing else, over pooled
    /// connections.
    ///
    /// # Errors
    ///
    /// Returns an error if one is not a URL that the component accepts, or if the trust is broken.
    pub fn to<'a>(base_urls: impl IntoIterator<Item = &'a str>, trust: &Trust) -> Result<Self> {
        let reach = Reach::of_urls(base_urls)?;
        Ok(Self::over(PooledNetwork::new(trust, reach)?))
    }

    /// Returns a route over this network.
    pub fn over(network: impl Network + 'static) -> Self {
        Self {
            network: Arc::new(network),
            secrets: Secrets::default(),
        }
    }
}

type Sent = (
    Response<WasiBody>,
    Box<dyn Future<Output = Result<(), Error>> + Send>,
);

pub(crate) type Sending = Box<dyn Future<Output = Result<Sent, Error>> + Send>;

impl WasiHttpHooks for Outgoing {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Sending {
        let exchange = Exchange {
            secrets: self.secrets.clone(),
            method: request.method().clone(),
            uri: request.uri().clone(),
            outcome: "cancelled".to_owned(),
        };
        let sending = self.network.send(request, options.unwrap_or_default());
        Box::new(async move {
            let sent = sending.await;
            exchange.end(&sent);
            let done: Box<dyn Future<Output = _> + Send> = Box::new(async { Ok(()) });
            Ok((sent?, done))
        })
    }
}

/// An exchange, up to the head of its response. It ends when this is dropped.
struct Exchange {
    secrets: Secrets,
    method: Method,
    uri: Uri,
    /// The status, or why there is none.
    outcome: String,
}

impl Exchange {
    fn end(mut self, sent: &Result<Response<WasiBody>, Error>) {
        self.outcome = match sent {
            Ok(response) => response.status().as_str().to_owned(),
            Err(error) => error.to_string(),
        };
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        let scheme = self.uri.scheme_str().unwrap_or_default();
        let authority = self.uri.authority().map_or("", |it| it.as_str());
        let method = self.secrets.mask(self.method.as_str());
        let origin = self.secrets.mask(&format!("{scheme}://{authority}"));
        let outcome = self.secrets.mask(&self.outcome);
        tracing::debug!(method, origin, outcome, "exchange");
    }
}
