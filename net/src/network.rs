//! Requests on connections that are kept.

use crate::connector::{CONNECT_TIMEOUT, Connector};
use crate::error::Error;
use crate::proxies::Proxies;
use crate::resolver::Resolver;
use crate::{BoxError, Incoming};
use http::header::PROXY_AUTHORIZATION;
use http::uri::Scheme;
use http::{Request, Response};
use http_body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The time that an idle connection is kept. It is short, since a service that closes a connection
/// just when a create is sent on it leaves the outcome unknown.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends requests with bodies of type `B`.
#[derive(Debug)]
pub struct Network<B> {
    client: Client<Connector, B>,
    proxies: Arc<Proxies>,
}

impl<B> Network<B>
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Creates a network with this TLS, such as that of a [`Trust`](crate::Trust), and these
    /// proxies.
    pub fn new(tls: ClientConfig, proxies: Proxies) -> Self {
        Self::with_address_filter(tls, proxies, |_, _| true)
    }

    /// Creates a network that uses those addresses of a name for which the filter returns `true`.
    /// The filter is not asked about an address that stands in a URL.
    pub fn with_address_filter(
        tls: ClientConfig,
        proxies: Proxies,
        filter: impl Fn(&str, IpAddr) -> bool + Send + Sync + 'static,
    ) -> Self {
        let proxies = Arc::new(proxies);
        let resolver = Resolver(Arc::new(filter));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .retry_canceled_requests(false)
            .build(Connector::new(tls, proxies.clone(), resolver));
        Self { client, proxies }
    }

    /// Sends a request and waits for the head of the response. A new connection, if it needs one,
    /// has `connect_timeout` for TCP, the proxy's CONNECT, and TLS. Dropping the future cancels the
    /// request, and closes its connection.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time and I/O.
    pub fn send(
        &self,
        mut request: Request<B>,
        connect_timeout: Duration,
    ) -> impl Future<Output = Result<Response<Incoming>, Error>> + Send + use<B> {
        // A tunnel is authorized when it is made; without one, each request is.
        if request.uri().scheme() == Some(&Scheme::HTTP)
            && let Ok(Some(proxy)) = self.proxies.of(request.uri())
            && let Some(authorization) = proxy.basic_auth().cloned()
        {
            let headers = request.headers_mut();
            headers.insert(PROXY_AUTHORIZATION, authorization);
        }
        let sending = CONNECT_TIMEOUT.scope(connect_timeout, self.client.request(request));
        async { sending.await.map_err(Error) }
    }
}
