//! The hook through which all requests of a guest go.

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

/// A guest's way out: what it may reach, how, and a record of it.
#[derive(Clone)]
pub struct Outgoing {
    /// What it may reach. Everything else is denied before it leaves.
    pub reach: Reach,
    /// How it gets there.
    pub network: Arc<dyn Network>,
    /// Where exchanges are recorded, denied ones too.
    pub recorder: Recorder,
}

impl Outgoing {
    /// The way out to the services at these base URLs and to nothing else, over connections that
    /// are kept, with a recorder of its own.
    ///
    /// # Errors
    ///
    /// If one is not a URL that the component accepts, or the certificate of an authority is
    /// broken.
    pub fn to<'a>(base_urls: impl IntoIterator<Item = &'a str>, trust: &Trust) -> Result<Self> {
        Self::within(Reach::of_urls(base_urls)?, trust)
    }

    /// The same to all that is within reach.
    ///
    /// # Errors
    ///
    /// If the certificate of an authority is broken.
    pub fn within(reach: Reach, trust: &Trust) -> Result<Self> {
        Ok(Self {
            network: Arc::new(PooledNetwork::trusting(trust, reach.clone())?),
            reach,
            recorder: Recorder::default(),
        })
    }

    /// A way out to this machine over this network, with a recorder of its own.
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

/// A request on its way.
pub(crate) type Sending = Box<dyn Future<Output = Result<Sent, Error>> + Send>;

impl Outgoing {
    /// Sends a request if it may go out, and gives the head of the answer.
    pub(crate) fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> impl Future<Output = Result<Response<WasiBody>, Error>> + Send + use<> {
        let (request, recording) = self.recorder.begin(request);
        let sending = match self.reach.includes(request.uri()) {
            true => Some(self.network.send(request, options)),
            false => None,
        };
        async move {
            let sent = match sending {
                Some(sending) => sending.await,
                None => Err(Error::HttpRequestDenied),
            };
            recording.end(sent)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{InMemoryNetwork, answer};
    use http::StatusCode;
    use http_body_util::{BodyExt, Empty};

    /// Whether a request to this URL goes out.
    async fn leaves(reach: &Reach, url: &str) -> bool {
        let network = InMemoryNetwork(|_, _| async { Ok(answer(StatusCode::OK, "")) });
        let outgoing = Outgoing {
            reach: reach.clone(),
            ..Outgoing::loopback(network)
        };
        let body = Empty::new().map_err(|never| match never {});
        let request = Request::get(url).body(body.boxed_unsync()).unwrap();
        match outgoing.send(request, RequestOptions::default()).await {
            Ok(_) => true,
            Err(Error::HttpRequestDenied) => false,
            Err(error) => panic!("{url}: {error}"),
        }
    }

    #[tokio::test]
    async fn the_reach_of_a_url_is_its_scheme_host_and_port_and_no_other() {
        // Each line is one origin.
        let origins = [
            &["https://api.example", "HTTPS://API.example:443/v1"][..],
            &["http://api.example", "http://Api.Example:80/"],
            &["https://api.example:80"],
            &["http://api.example:443"],
            &["https://api.example:8443"],
            &["http://api.example:8443"],
            &["https://api.example."],
            &["https://x.api.example"],
            &["https://203.0.113.7"],
            &["http://127.0.0.1:8080"],
            &["http://localhost:8080"],
            &["http://[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080"],
            &["http://[::ffff:127.0.0.1]:8080"],
            &["https://[2001:DB8::7]", "https://[2001:db8:0::7]:443"],
        ];
        for origin in origins {
            for url in origin {
                let reach = Reach::of_url(url).unwrap();
                for other in origins {
                    for requested in other {
                        // A request's scheme is in lower case.
                        let requested = requested.replace("HTTPS", "https");
                        let left = leaves(&reach, &requested).await;
                        assert_eq!(left, origin == other, "{url} {requested}");
                    }
                }
            }
        }
    }

    #[tokio::test]
    async fn a_request_that_is_not_plainly_to_an_allowed_origin_does_not_leave() {
        let reach = Reach::of_urls(["https://api.example", "https://[fe80::1]"]).unwrap();
        for url in [
            "https://me@api.example",
            "https://me:secret@api.example:443",
            "https://api.example@evil.example",
            "ftp://api.example",
            "wss://api.example",
            "https://api.example:0",
            "https://[fe80::1%25eth0]",
            "/path-alone",
        ] {
            assert!(!leaves(&reach, url).await, "{url}");
        }
    }
}
