//! Connections: TCP, the tunnel of a proxy, and TLS.

use crate::BoxError;
use crate::proxies::Proxies;
use crate::resolver::Resolver;
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::uri::Scheme;
use http::{Request, Uri};
use hyper::client::conn::http1;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{self, Connected, HttpConnector};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower_service::Service;

tokio::task_local! {
    /// The time that a request allows for its connection. The pool passes only the host to a
    /// connector, which it calls while it polls the request.
    pub(crate) static CONNECT_TIMEOUT: Duration;
}

/// Connects to the hosts of requests, or to their proxies. The pool clones it for each request.
#[derive(Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector<Resolver>,
    tls: TlsConnector,
    proxies: Arc<Proxies>,
}

impl Connector {
    pub(crate) fn new(tls: ClientConfig, proxies: Arc<Proxies>, resolver: Resolver) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(resolver);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let tls = TlsConnector::from(Arc::new(tls));
        Self { tcp, tls, proxies }
    }

    async fn connect(&self, uri: &Uri, limit: Duration) -> Result<Connection, BoxError> {
        let proxy = self.proxies.of(uri)?;
        let first = proxy.as_ref().map_or(uri, Intercept::uri);
        let mut tcp = self.tcp.clone();
        // Several addresses of a name share the time, so that one that is silent does not use it up.
        tcp.set_connect_timeout(Some(limit));
        let tcp = tcp.call(first.clone()).await?;
        let mut stream: BoxStream = Box::new(tcp.into_inner());
        if is_https(first) {
            stream = self.encrypt(first, stream).await?;
        }
        if let Some(proxy) = &proxy
            && is_https(uri)
        {
            let tunnel = tunnel(proxy, uri, stream).await?;
            stream = self.encrypt(uri, tunnel).await?;
        }
        let is_proxied = proxy.is_some() && !is_https(uri);
        let stream = TokioIo::new(stream);
        Ok(Connection { stream, is_proxied })
    }

    async fn encrypt(&self, uri: &Uri, stream: BoxStream) -> Result<BoxStream, BoxError> {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned())?;
        Ok(Box::new(self.tls.connect(name, stream).await?))
    }
}

impl Service<Uri> for Connector {
    type Response = Connection;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Connection, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (this, limit) = (self.clone(), CONNECT_TIMEOUT.get());
        Box::pin(async move {
            let connected = timeout(limit, this.connect(&uri, limit)).await;
            connected.unwrap_or_else(|_| {
                let message = format!("no connection within {} ms", limit.as_millis());
                Err(io::Error::new(io::ErrorKind::TimedOut, message).into())
            })
        })
    }
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

/// Asks a proxy for a tunnel to a host.
async fn tunnel(proxy: &Intercept, uri: &Uri, stream: BoxStream) -> Result<BoxStream, BoxError> {
    let (host, port) = (uri.host().unwrap_or_default(), uri.port_u16());
    let authority = format!("{host}:{}", port.unwrap_or(443));
    let mut request = Request::connect(&authority).header(HOST, &authority);
    if let Some(authorization) = proxy.basic_auth() {
        request = request.header(PROXY_AUTHORIZATION, authorization);
    }
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection.with_upgrades());
    let response = sender.send_request(request.body(String::new())?).await?;
    if !response.status().is_success() {
        return Err(format!("the proxy refused a tunnel: {}", response.status()).into());
    }
    let stream = hyper::upgrade::on(response).await?;
    Ok(Box::new(TokioIo::new(stream)))
}

/// A stream of bytes, encrypted or not.
type BoxStream = Box<dyn Stream>;

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection to a host, or to the proxy of requests that are not encrypted.
pub(crate) struct Connection {
    stream: TokioIo<BoxStream>,
    is_proxied: bool,
}

impl connect::Connection for Connection {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.is_proxied)
    }
}

impl Read for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

/// Slices are not written together: hyper makes one piece of a head and its small body.
impl Write for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
