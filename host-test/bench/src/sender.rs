//! How engines send that set nothing: a new connection for every request.

use futures_util::future::BoxFuture;
use http::uri::Scheme;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use voice_calling_host::{Network, Trust};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, default_send_request};

/// wasmtime-wasi-http's own sender.
pub(super) struct DefaultSender;

impl Network for DefaultSender {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        Box::pin(async move {
            let (response, connection) = default_send_request(request, Some(options)).await?;
            tokio::spawn(connection);
            Ok(response.map(BodyExt::boxed_unsync))
        })
    }
}

/// The same steps as in wasmtime-wasi-http's sender, with the settings of TLS made anew for
/// each request as there; that one trusts only public authorities, and none of these
/// vouches for a service on loopback.
pub(super) struct NewConnections {
    pub(super) trust: Trust,
}

impl Network for NewConnections {
    fn send(
        &self,
        request: Request<WasiBody>,
        _: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        let trust = self.trust.clone();
        Box::pin(async move {
            let uri = request.uri();
            let authority = uri.authority().ok_or(Error::HttpRequestUriInvalid)?;
            let (host, is_tls) = (
                authority.host().to_owned(),
                uri.scheme() == Some(&Scheme::HTTPS),
            );
            let stream = TcpStream::connect(authority.as_str())
                .await
                .map_err(Error::Connect)?;
            if !is_tls {
                return exchange(stream, request).await;
            }
            let client = trust.client().map_err(|_| Error::TlsProtocolError)?;
            let name = ServerName::try_from(host).map_err(|_| Error::TlsProtocolError)?;
            let stream = TlsConnector::from(Arc::new(client))
                .connect(name, stream)
                .await
                .map_err(Error::Tls)?;
            exchange(stream, request).await
        })
    }
}

async fn exchange<S>(stream: S, mut request: Request<WasiBody>) -> Result<Response<WasiBody>, Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
    let response = sender.send_request(request).await?;
    Ok(response.map(|body| body.map_err(Error::from).boxed_unsync()))
}
