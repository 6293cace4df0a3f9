//! Where a guest's requests go: pooled connections, or whatever a test puts in
//! their place.

pub mod outgoing;

use self::outgoing::Reach;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, StreamBody};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustix::io::Errno;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;
use tower_service::Service;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// How long an idle connection is kept. Short, since a service that closes one
/// just when a request goes out leaves the request's outcome unknown.
const IDLE: Duration = Duration::from_secs(5);

/// For requests whose guest sets no timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Sends requests of guests.
pub trait Network: Send + Sync {
    /// Sends a request, and gives the head of the answer. It keeps to the timeouts
    /// in `options`, follows no redirect and repeats nothing.
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>>;
}

/// Whom a host trusts to vouch for a service over TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The public authorities (those of Mozilla).
    #[default]
    Public,
    /// These authorities, and no other.
    Only(Vec<CertificateDer<'static>>),
}

impl Trust {
    fn roots(&self) -> Result<RootCertStore, rustls::Error> {
        let mut roots = RootCertStore::empty();
        match self {
            Trust::Public => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Trust::Only(authorities) => {
                for authority in authorities {
                    roots.add(authority.clone())?;
                }
            }
        }
        Ok(roots)
    }

    /// A client's side of TLS.
    pub fn client(&self) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Ok(ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.roots()?)
            .with_no_client_auth())
    }
}

/// Pooled connections, which are kept for later requests. Over TLS, where the scheme is
/// https, HTTP/2 is spoken where the service offers it; otherwise HTTP/1.1.
///
/// With HTTP/2 all requests to a service share a connection. Those beyond the number of
/// streams that the service allows at once wait for their turn, and that counts as waiting
/// for the first byte. A stream that the service refuses, and all that were open when it
/// closes the connection, are requests of which nobody knows what came. Thousands of small
/// requests at once may be a reason for it to do so: h2, with its usual window, takes them for an
/// attack.
#[derive(Clone)]
pub struct PooledNetwork {
    client: Client<TimedConnector, WasiBody>,
}

impl PooledNetwork {
    /// A pool of its own, which trusts the public authorities.
    pub fn new(reach: Reach) -> anyhow::Result<Self> {
        Self::trusting(&Trust::Public, reach)
    }

    /// A pool of its own.
    pub fn trusting(trust: &Trust, reach: Reach) -> anyhow::Result<Self> {
        let mut http = HttpConnector::new_with_resolver(Resolver { reach });
        http.enforce_http(false);
        http.set_nodelay(true);
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(trust.client()?)
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .timer(TokioTimer::new())
            // Or a peer that has vanished would get request after request.
            .http2_keep_alive_interval(IDLE)
            .http2_keep_alive_timeout(IDLE)
            .build(TimedConnector(https));
        Ok(Self { client })
    }
}

impl Network for PooledNetwork {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        let client = self.client.clone();
        let connect_timeout = options.connect_timeout.unwrap_or(DEFAULT_TIMEOUT);
        // The first byte's time begins when there is a connection; that moment is
        // not to be seen from here, so both times together are the limit.
        let first_byte = connect_timeout + options.first_byte_timeout.unwrap_or(DEFAULT_TIMEOUT);
        let between_bytes = options.between_bytes_timeout.unwrap_or(DEFAULT_TIMEOUT);
        Box::pin(CONNECT_TIMEOUT.scope(connect_timeout, async move {
            match timeout(first_byte, client.request(request)).await {
                Ok(Ok(response)) => Ok(response.map(|body| timed_body(body, between_bytes))),
                Ok(Err(error)) => Err(wasi_error(&error)),
                Err(_) => Err(Error::ConnectionReadTimeout),
            }
        }))
    }
}

/// A body whose pieces must not be further apart than `between_bytes`.
fn timed_body(body: hyper::body::Incoming, between_bytes: Duration) -> WasiBody {
    let frames = futures_util::stream::unfold(Some(body), move |body| async move {
        let mut body = body?;
        match timeout(between_bytes, body.frame()).await {
            Ok(None) => None,
            Ok(Some(Ok(frame))) => Some((Ok(frame), Some(body))),
            Ok(Some(Err(error))) => Some((Err(Error::from(error)), None)),
            Err(_) => Some((Err(Error::ConnectionReadTimeout), None)),
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// What went wrong, in wasi:http's terms. Before there was a connection nothing
/// was sent, and the error says so; later nobody knows.
fn wasi_error(error: &hyper_util::client::legacy::Error) -> Error {
    let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
    if !error.is_connect() {
        return match causes().find_map(|cause| cause.downcast_ref::<hyper::Error>()) {
            Some(error) if error.is_incomplete_message() => Error::HttpResponseIncomplete,
            Some(error) if error.is_parse() => Error::HttpProtocolError,
            _ => Error::ConnectionTerminated,
        };
    }
    match causes().find_map(|cause| cause.downcast_ref()) {
        Some(NotResolved::OutOfReach(_)) => return Error::DestinationIpProhibited,
        Some(NotResolved::Unknown(_)) => {
            return Error::DnsError {
                rcode: None,
                info_code: None,
            };
        }
        None => {}
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
    // No descriptor or no port of this machine is left.
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::ADDRNOTAVAIL];
    if io
        .and_then(Errno::from_io_error)
        .is_some_and(|error| exhausted.contains(&error))
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

/// An `io::Error` may hold another one that holds the error of TLS, and says nothing of
/// what it holds when it is asked for its source.
fn tls_error<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    match cause.downcast_ref::<io::Error>() {
        Some(error) => tls_error(error.get_ref()?),
        None => cause.downcast_ref(),
    }
}

tokio::task_local! {
    /// The client's pool hands a connector nothing but the address, so that the
    /// time a request allows for its connection goes this way.
    static CONNECT_TIMEOUT: Duration;
}

/// Connects within the time that the request allows, TLS included.
#[derive(Clone)]
struct TimedConnector(HttpsConnector<HttpConnector<Resolver>>);

type Connection = <HttpsConnector<HttpConnector<Resolver>> as Service<Uri>>::Response;
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

/// Looks names up; only addresses within reach are answered.
#[derive(Clone)]
struct Resolver {
    reach: Reach,
}

/// A name that cannot be used.
#[derive(Debug)]
enum NotResolved {
    /// It has no address.
    Unknown(String),
    /// It has none within reach.
    OutOfReach(String),
}

impl fmt::Display for NotResolved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotResolved::Unknown(name) => write!(formatter, "the name {name} has no address"),
            NotResolved::OutOfReach(name) => {
                write!(formatter, "the name {name} has no address within reach")
            }
        }
    }
}

impl StdError for NotResolved {}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = NotResolved;
    type Future = BoxFuture<'static, Result<Self::Response, NotResolved>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NotResolved>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let reach = self.reach.clone();
        Box::pin(async move {
            let Ok(found) = tokio::net::lookup_host((name.as_str(), 0)).await else {
                return Err(NotResolved::Unknown(name.to_string()));
            };
            let within: Vec<_> = found
                .filter(|address| reach.includes_address(address.ip()))
                .collect();
            match within.is_empty() {
                true => Err(NotResolved::OutOfReach(name.to_string())),
                false => Ok(within.into_iter()),
            }
        })
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

/// An answer made up on the spot, for networks that are not there.
pub fn answer(status: StatusCode, body: impl Into<Bytes>) -> Response<WasiBody> {
    let body = http_body_util::Full::new(body.into()).map_err(|never| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    response
}
