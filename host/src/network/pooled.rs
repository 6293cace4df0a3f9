//! Connections that are kept for later requests.

use crate::network::Network;
use crate::network::reach::Reach;
use crate::network::trust::Trust;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustix::io::Errno;
use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, ready};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Sleep, sleep, timeout};
use tower_service::Service;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// The time that an idle connection is kept. It is short, since a service that closes a connection
/// just when a request is sent leaves the request's outcome unknown.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// The timeout of requests whose guest sets none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Pooled connections, which are kept for later requests. If the scheme is https, HTTP/2 is used if
/// the service offers it; otherwise HTTP/1.1.
///
/// With HTTP/2 all requests to a service share a connection. Requests beyond the number of
/// concurrent streams that the service allows wait for their turn, and that counts as waiting for
/// the first byte. If the service refuses a stream, or closes the connection, the outcome of the
/// requests concerned is unknown. Thousands of small requests at once may be a reason for it to do
/// so: h2, with its usual window, treats them as an attack.
///
/// A request to an origin out of reach fails with `HTTP-request-denied`. A name is resolved for
/// each connection, and its addresses out of reach are not used; if it has no other, no connection
/// is made and the error is `destination-IP-prohibited`.
#[derive(Clone)]
pub struct PooledNetwork {
    client: Client<TimedConnector, WasiBody>,
    reach: Arc<Reach>,
}

impl PooledNetwork {
    /// Creates a pool that trusts the public authorities.
    ///
    /// # Errors
    ///
    /// See [`PooledNetwork::trusting`].
    pub fn new(reach: Reach) -> anyhow::Result<Self> {
        Self::trusting(&Trust::Public, reach)
    }

    /// Creates a pool with this trust.
    ///
    /// # Errors
    ///
    /// Returns an error if the certificate of an authority is broken.
    pub fn trusting(trust: &Trust, reach: Reach) -> anyhow::Result<Self> {
        let reach = Arc::new(reach);
        let mut http = HttpConnector::new_with_resolver(ReachResolver(reach.clone()));
        http.enforce_http(false);
        http.set_nodelay(true);
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(trust.client()?)
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .timer(TokioTimer::new())
            // Without it, a peer that has vanished would get request after request.
            .http2_keep_alive_interval(IDLE_TIMEOUT)
            .http2_keep_alive_timeout(IDLE_TIMEOUT)
            .build(TimedConnector(https));
        Ok(Self { client, reach })
    }
}

impl Network for PooledNetwork {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        // The connector resolves only names: an address in a URL is as allowed as its origin.
        if !self.reach.includes(request.uri()) {
            return Box::pin(ready(Err(Error::HttpRequestDenied)));
        }
        let sending = self.client.request(request);
        let connect_timeout = options.connect_timeout.unwrap_or(DEFAULT_TIMEOUT);
        // The time of the first byte begins when there is a connection; that moment cannot be seen
        // from here, so that the limit is both times together.
        let first_byte = connect_timeout + options.first_byte_timeout.unwrap_or(DEFAULT_TIMEOUT);
        let between_bytes = options.between_bytes_timeout.unwrap_or(DEFAULT_TIMEOUT);
        Box::pin(CONNECT_TIMEOUT.scope(connect_timeout, async move {
            match timeout(first_byte, sending).await {
                Ok(Ok(response)) => Ok(response.map(|body| TimedBody::of(body, between_bytes))),
                Ok(Err(error)) => Err(wasi_error(&error)),
                Err(_) => Err(Error::ConnectionReadTimeout),
            }
        }))
    }

    fn has_reliable_connection_timeouts(&self) -> bool {
        true
    }
}

/// A body whose pieces must not be further apart than `between_bytes`.
struct TimedBody {
    /// `None` after its end.
    body: Option<Incoming>,
    between_bytes: Duration,
    /// The timer of an awaited piece; most are there already.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl TimedBody {
    fn of(body: Incoming, between_bytes: Duration) -> WasiBody {
        let timed = Self {
            body: Some(body),
            between_bytes,
            waiting: None,
        };
        timed.boxed_unsync()
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        let Some(body) = &mut this.body else {
            return Poll::Ready(None);
        };
        let error = match Pin::new(body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.waiting = None;
                return Poll::Ready(Some(Ok(frame)));
            }
            Poll::Ready(None) => None,
            Poll::Ready(Some(Err(error))) => Some(Error::from(error)),
            Poll::Pending => {
                let limit = this.between_bytes;
                let waiting = this.waiting.get_or_insert_with(|| Box::pin(sleep(limit)));
                ready!(waiting.as_mut().poll(context));
                Some(Error::ConnectionReadTimeout)
            }
        };
        this.body = None;
        Poll::Ready(error.map(Err))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

/// The errors for a machine without free descriptors or ports.
const EXHAUSTED: &[Errno] = &[
    Errno::MFILE,
    #[cfg(not(windows))]
    Errno::NFILE,
    Errno::ADDRNOTAVAIL,
];

/// Converts an error to wasi:http's terms. It says that nothing was sent if there was no
/// connection; later the outcome is unknown.
fn wasi_error(error: &hyper_util::client::legacy::Error) -> Error {
    let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
    if !error.is_connect() {
        return match causes().find_map(|cause| cause.downcast_ref::<hyper::Error>()) {
            Some(error) if error.is_incomplete_message() => Error::HttpResponseIncomplete,
            Some(error) if error.is_parse() => Error::HttpProtocolError,
            _ => Error::ConnectionTerminated,
        };
    }
    if let Some(error) = causes().find_map(|cause| cause.downcast_ref()) {
        return match error {
            ResolveError::OutOfReach => Error::DestinationIpProhibited,
            ResolveError::Unknown => Error::DnsError {
                rcode: None,
                info_code: None,
            },
        };
    }
    let mut tls = causes().filter_map(tls_error);
    if let Some(error) = tls.next() {
        return match error {
            rustls::Error::InvalidCertificate(_) => Error::TlsCertificateError,
            _ => Error::TlsProtocolError,
        };
    }
    let mut io = causes().filter_map(|cause| cause.downcast_ref::<io::Error>());
    let io = io.next();
    if io
        .and_then(Errno::from_io_error)
        .is_some_and(|error| EXHAUSTED.contains(&error))
    {
        return Error::ConnectionLimitReached;
    }
    match io.map(io::Error::kind) {
        Some(io::ErrorKind::TimedOut) => Error::ConnectionTimeout,
        Some(io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable) => {
            Error::DestinationIpUnroutable
        }
        _ => Error::ConnectionRefused,
    }
}

/// Returns the TLS error in an `io::Error`, which may contain another one that contains it, and
/// does not return its content as its source.
fn tls_error<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    match cause.downcast_ref::<io::Error>() {
        Some(error) => tls_error(error.get_ref()?),
        None => cause.downcast_ref(),
    }
}

tokio::task_local! {
    /// The time that a request allows for its connection. The client's pool passes only the address
    /// to a connector.
    static CONNECT_TIMEOUT: Duration;
}

/// Connects within the time that the request allows, TLS included.
#[derive(Clone)]
struct TimedConnector(HttpsConnector<HttpConnector<ReachResolver>>);

type Connection = <HttpsConnector<HttpConnector<ReachResolver>> as Service<Uri>>::Response;
type BoxError = Box<dyn StdError + Send + Sync>;

impl Service<Uri> for TimedConnector {
    type Response = Connection;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Connection, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let limit = CONNECT_TIMEOUT.try_get().unwrap_or(DEFAULT_TIMEOUT);
        let connecting = self.0.call(uri);
        Box::pin(async move {
            match timeout(limit, connecting).await {
                Ok(connected) => connected,
                Err(_) => Err(Box::new(io::Error::from(io::ErrorKind::TimedOut)) as BoxError),
            }
        })
    }
}

/// Resolves names as the system does, to addresses within reach only.
#[derive(Clone)]
struct ReachResolver(Arc<Reach>);

impl ReachResolver {
    /// Returns those of a name's addresses that may be used.
    fn allowed(&self, name: &str, found: Vec<IpAddr>) -> Result<Vec<SocketAddr>, ResolveError> {
        if found.is_empty() {
            return Err(ResolveError::Unknown);
        }
        let (within, denied): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|address| self.0.includes_address(name, *address));
        for address in denied {
            tracing::warn!("{name} resolves to {address}, which is not allowed and not used");
        }
        match within.is_empty() {
            true => Err(ResolveError::OutOfReach),
            // The connector sets the port.
            false => Ok(within
                .into_iter()
                .map(|it| SocketAddr::new(it, 0))
                .collect()),
        }
    }
}

/// Why a name cannot be used. Its text is not shown: the guest gets a code of wasi:http.
#[derive(Debug)]
enum ResolveError {
    /// The name has no address.
    Unknown,
    /// The name has no address within reach.
    OutOfReach,
}

impl fmt::Display for ResolveError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

impl StdError for ResolveError {}

impl Service<Name> for ReachResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = ResolveError;
    type Future = BoxFuture<'static, Result<Self::Response, ResolveError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ResolveError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (name, this) = (name.as_str().to_owned(), self.clone());
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            let found = found.map_or_else(|_| Vec::new(), |it| it.map(|it| it.ip()).collect());
            Ok(this.allowed(&name, found)?.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(addresses: &[&str]) -> Result<Vec<String>, ResolveError> {
        let addresses = addresses.iter().map(|address| address.parse().unwrap());
        let reach = Reach::of_urls(["https://api.example"]).unwrap();
        let used = ReachResolver(Arc::new(reach)).allowed("api.example", addresses.collect())?;
        Ok(used.iter().map(SocketAddr::to_string).collect())
    }

    #[test]
    fn only_the_addresses_within_reach_are_used_in_their_order() {
        let mixed = ["203.0.113.7", "127.0.0.1", "::1", "2001:db8::7", "10.0.0.7"];
        let expected = ["203.0.113.7:0", "[2001:db8::7]:0", "10.0.0.7:0"];
        assert_eq!(used(&mixed).unwrap(), expected);
        let local = used(&["127.0.0.1", "169.254.169.254"]);
        assert!(matches!(local, Err(ResolveError::OutOfReach)), "{local:?}");
        let none = used(&[]);
        assert!(matches!(none, Err(ResolveError::Unknown)), "{none:?}");
    }

    #[tokio::test]
    async fn a_name_whose_addresses_are_all_out_of_reach_is_prohibited_and_not_connected_to() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let remote = PooledNetwork::new(Reach::of_url("https://api.example").unwrap());
        let network = PooledNetwork {
            reach: Arc::new(Reach::Loopback),
            ..remote.unwrap()
        };
        let body = http_body_util::Empty::new().map_err(|never| match never {});
        let request = Request::get(format!("http://localhost:{port}")).body(body.boxed_unsync());
        let options = RequestOptions {
            connect_timeout: None,
            first_byte_timeout: None,
            between_bytes_timeout: None,
        };
        let sent = network.send(request.unwrap(), options).await;
        assert!(matches!(sent, Err(Error::DestinationIpProhibited)));
        let accepted = listener.accept().map_err(|error| error.kind());
        assert_eq!(accepted.unwrap_err(), io::ErrorKind::WouldBlock);
    }
}
