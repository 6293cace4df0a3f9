//! What a guest may reach, and the hook through which all its requests go.

use crate::network::Network;
use crate::record::recorder::Recorder;
use anyhow::{Result, anyhow};
use http::Request;
use std::collections::BTreeSet;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use voice_calling_core::base_url::BaseUrl;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

/// The hosts that a guest may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// This machine, by name or address. What is meant by a name is looked at once
    /// more when it has been resolved.
    Loopback,
    /// These hosts (`host` or `host:port`, as in a URL), wherever they are.
    Hosts(BTreeSet<String>),
}

impl Reach {
    /// The host of a service at this URL (a value of `VOICE_CALLING_BASE_URL`), and no other.
    ///
    /// # Errors
    ///
    /// Where it is not a URL that the component takes.
    pub fn of_url(base_url: &str) -> Result<Self> {
        let url = BaseUrl::parse(base_url).map_err(|found| {
            anyhow!("the base URL must be http(s)://host[:port][/path], found {found}")
        })?;
        Ok(match url.is_loopback() {
            true => Reach::Loopback,
            false => Reach::Hosts(BTreeSet::from([url.authority().to_owned()])),
        })
    }

    /// Whether a request to this authority (`host` or `host:port`) may go out.
    pub fn includes(&self, authority: &str) -> bool {
        match self {
            Reach::Loopback => {
                BaseUrl::parse(&format!("http://{authority}")).is_ok_and(|url| url.is_loopback())
            }
            Reach::Hosts(hosts) => hosts.contains(&authority.to_ascii_lowercase()),
        }
    }

    /// Whether a name may mean this address.
    pub fn includes_address(&self, address: IpAddr) -> bool {
        match self {
            Reach::Loopback => address.is_loopback(),
            Reach::Hosts(_) => true,
        }
    }
}

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
    http::Response<WasiBody>,
    Box<dyn Future<Output = Result<(), Error>> + Send>,
);

/// A request on its way.
pub(crate) type Sending = Box<dyn Future<Output = Result<Sent, Error>> + Send>;

impl WasiHttpHooks for Outgoing {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Sending {
        let (request, recording) = self.recorder.begin(request);
        let authority = request
            .uri()
            .authority()
            .map_or_else(String::new, |authority| authority.to_string());
        let sending = match self.reach.includes(&authority) {
            true => Some(self.network.send(request, options.unwrap_or_default())),
            false => None,
        };
        Box::new(async move {
            let sent = match sending {
                Some(sending) => sending.await,
                None => Err(Error::HttpRequestDenied),
            };
            let done: Box<dyn Future<Output = _> + Send> = Box::new(async { Ok(()) });
            recording.end(sent).map(|response| (response, done))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reach_of_loopback_is_this_machine_and_nothing_that_looks_like_it() {
        for (authority, within) in [
            ("127.0.0.1:8080", true),
            ("localhost", true),
            ("[::1]:80", true),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("0.0.0.0:80", false),
            ("10.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(Reach::Loopback.includes(authority), within, "{authority:?}");
        }
        assert!(!Reach::Loopback.includes_address([10, 0, 0, 1].into()));
    }

    #[test]
    fn named_hosts_are_matched_with_their_port() {
        let reach = Reach::Hosts(BTreeSet::from(["api.example:8443".to_owned()]));
        assert!(reach.includes("API.example:8443"));
        assert!(!reach.includes("api.example"));
        assert!(!reach.includes("x.api.example:8443"));
    }
}
