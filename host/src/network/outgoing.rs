//! The hook that all requests of a guest pass.

use crate::network::Network;
use crate::network::pooled::PooledNetwork;
use crate::network::reach::Reach;
use crate::network::trust::Trust;
use crate::recorder::Recorder;
use anyhow::Result;
use http::{Request, Response};
use std::future::Future;
use std::sync::Arc;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

/// The route of a guest's requests: what they may reach, over which network, and the record of
/// them.
#[derive(Clone)]
pub struct Outgoing {
    /// The origins within reach. Everything else is denied before it leaves.
    pub reach: Reach,
    /// The network that sends the requests.
    pub network: Arc<dyn Network>,
    /// The recorder of exchanges, including denied ones.
    pub recorder: Recorder,
}

impl Outgoing {
    /// Returns a route to the services at these base URLs and to nothing else, over pooled
    /// connections, with its own recorder.
    ///
    /// # Errors
    ///
    /// Returns an error if one is not a URL that the component accepts, or the certificate of an
    /// authority is broken.
    pub fn to<'a>(base_urls: impl IntoIterator<Item = &'a str>, trust: &Trust) -> Result<Self> {
        Self::within(Reach::of_urls(base_urls)?, trust)
    }

    /// Returns such a route to everything within reach.
    ///
    /// # Errors
    ///
    /// Returns an error if the certificate of an authority is broken.
    pub fn within(reach: Reach, trust: &Trust) -> Result<Self> {
        Ok(Self {
            network: Arc::new(PooledNetwork::trusting(trust, reach.clone())?),
            reach,
            recorder: Recorder::default(),
        })
    }

    /// Returns a route to this machine over this network, with its own recorder.
    pub fn loopback(network: impl Network + 'static) -> Self {
        Self {
            reach: Reach::Loopback,
            network: Arc::new(network),
            recorder: Recorder::default(),
        }
    }
}

type Sent = (
    Response<WasiBody>,
    Box<dyn Future<Output = Result<(), Error>> + Send>,
);

/// A request that is being sent.
pub(crate) type Sending = Box<dyn Future<Output = Result<Sent, Error>> + Send>;

impl Outgoing {
    /// Sends a request if it is within reach, and returns the head of the response.
    pub(crate) fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> impl Future<Output = Result<Response<WasiBody>, Error>> + Send + use<> {
        let recording = self.recorder.begin(&request);
        let sending = match self.reach.includes(request.uri()) {
            true => Some(self.network.send(request, options)),
            false => None,
        };
        async move {
            let sent = match sending {
                Some(sending) => sending.await,
                None => Err(Error::HttpRequestDenied),
            };
            recording.end(&sent);
            sent
        }
    }
}

impl WasiHttpHooks for Outgoing {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Sending {
        let sending = self.send(request, options.unwrap_or_default());
        Box::new(async move {
            let response = sending.await?;
            let done: Box<dyn Future<Output = _> + Send> = Box::new(async { Ok(()) });
            Ok((response, done))
        })
    }
}
