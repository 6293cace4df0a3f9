//! The sender of engines without settings: a new connection for every request.

use futures_util::future::BoxFuture;
use http::uri::Scheme;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use voice_calling_host::{Network, Trust};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, default_send_request};

/// The sender of wasmtime-wasi-http. Over TLS that one trusts only public authorities, none of
/// which certifies a service on loopback, so its steps are reproduced.
pub(super) struct NewConnections(pub(super) Trust);

impl Network for NewConnections {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        let trust = self.0.clone();
        Box::pin(async move {
            if request.uri().scheme() == Some(&Scheme::HTTPS) {
                return send_over_tls(request, trust).await;
            }
            let (response, connection) = default_send_request(request, Some(options)).await?;
            tokio::spawn(connection);
            Ok(response.map(BodyExt::boxed_unsync))
        })
    }
}

/// Follows the steps of wasmtime-wasi-http's sender, which also creates the TLS configuration anew
/// for each request.
async fn send_over_tls(
    mut request: Request<WasiBody>,
    trust: Trust,
) -> Result<Response<WasiBody>, Error> {
    let authority = request.uri().authority().cloned();
    let authority = authority.ok_or(Error::HttpRequestUriInvalid)?;
    let stream = TcpStream::connect(authority.as_str())
        .await
        .map_err(Error::Connect)?;
    let client = trust.client().map_err(|_| Error::TlsProtocolError)?;
    let name =
        ServerName::try_from(authority.host().to_owned()).map_err(|_| Error::TlsProtocolError)?;
    let stream = TlsConnector::from(Arc::new(client))
        .connect(name, stream)
        .await
        .map_err(Error::Tls)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
    let response = sender.send_request(request).await?;
    Ok(response.map(|body| body.map_err(Error::from).boxed_unsync()))
}
