//! Connections that are kept for later requests.

use crate::network::Network;
use crate::network::reach::{Reach, may_resolve_to};
use futures_util::future::BoxFuture;
use futures_util::stream;
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody};
use std::error::Error as StdError;
use std::future::ready;
use std::io::{self, ErrorKind};
use std::iter;
use std::time::Duration;
use tokio::time::timeout;
use voice_calling_net::{self as net, Incoming, Proxies, Trust};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// The timeout of requests whose guest sets none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Pooled connections over HTTP/1.1, which are kept for later requests. It uses no proxy.
///
/// A request to an origin out of reach fails with `HTTP-request-denied`. A name is resolved for
/// each connection, and its addresses out of reach are not used; if it has no other, no connection
/// is made and the error is `destination-IP-prohibited`.
#[derive(Debug)]
pub struct PooledNetwork {
    network: net::Network<WasiBody>,
    reach: Reach,
}

impl PooledNetwork {
    /// Creates a pool with this trust and reach.
    ///
    /// # Errors
    ///
    /// Returns an error if the system's authorities cannot be read, or if a certificate or the key
    /// is missing or broken.
    pub fn new(trust: &Trust, reach: Reach) -> anyhow::Result<Self> {
        let tls = trust.client().map_err(anyhow::Error::from_boxed)?;
        let filter = |name: &str, address| {
            let is_allowed = may_resolve_to(name, address);
            if !is_allowed {
                tracing::warn!("{name} resolves to {address}, which is not allowed and not used");
            }
            is_allowed
        };
        let network = net::Network::with_address_filter(tls, Proxies::none(), filter);
        Ok(Self { network, reach })
    }
}

impl Network for PooledNetwork {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        // Only names are resolved: an address in a URL is as allowed as its origin.
        if !self.reach.includes(request.uri()) {
            return Box::pin(ready(Err(Error::HttpRequestDenied)));
        }
        let connect_timeout = options.connect_timeout.unwrap_or(DEFAULT_TIMEOUT);
        // The time of the first byte begins when there is a connection; that moment cannot be seen
        // from here, so that the limit is both times together.
        let first_byte = connect_timeout + options.first_byte_timeout.unwrap_or(DEFAULT_TIMEOUT);
        let between_bytes = options.between_bytes_timeout.unwrap_or(DEFAULT_TIMEOUT);
        let sending = self.network.send(request, connect_timeout);
        Box::pin(async move {
            match timeout(first_byte, sending).await {
                Ok(Ok(response)) => Ok(response.map(|body| timed(body, between_bytes))),
                Ok(Err(error)) => Err(wasi_error(&error)),
                Err(_) => Err(Error::ConnectionReadTimeout),
            }
        })
    }

    fn has_reliable_connection_timeouts(&self) -> bool {
        true
    }
}

/// Returns a body whose pieces must not be further apart than `between_bytes`.
fn timed(body: Incoming, between_bytes: Duration) -> WasiBody {
    let frames = stream::try_unfold(body, move |mut body| async move {
        match timeout(between_bytes, body.frame()).await {
            Ok(Some(frame)) => Ok(Some((frame?, body))),
            Ok(None) => Ok(None),
            Err(_) => Err(Error::ConnectionReadTimeout),
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Converts an error to wasi:http's terms, of which the guest learns whether the request may have
/// left.
fn wasi_error(error: &net::Error) -> Error {
    let mut causes = iter::successors(error.source(), |cause| (*cause).source());
    if !error.is_unsent() {
        let mut causes = causes.filter_map(|cause| cause.downcast_ref());
        return match causes.any(hyper::Error::is_parse) {
            true => Error::HttpProtocolError,
            false => Error::ConnectionTerminated,
        };
    }
    let Some(error) = causes.find_map(|cause| cause.downcast_ref::<io::Error>()) else {
        return Error::DestinationUnavailable;
    };
    let tls = error.get_ref().and_then(|error| error.downcast_ref());
    match (error.kind(), tls) {
        (_, Some(rustls::Error::InvalidCertificate(_))) => Error::TlsCertificateError,
        (_, Some(_)) => Error::TlsProtocolError,
        (ErrorKind::TimedOut, None) => Error::ConnectionTimeout,
        (ErrorKind::ConnectionRefused, None) => Error::ConnectionRefused,
        (ErrorKind::PermissionDenied, None) => Error::DestinationIpProhibited,
        (ErrorKind::NotFound, None) => Error::DnsError {
            rcode: None,
            info_code: None,
        },
        _ => Error::DestinationUnavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voice_calling_peer::ClosedPort;

    /// Returns the error of a request to this host, which did not leave.
    async fn error(host: &str) -> Error {
        let network = PooledNetwork::new(&Trust::default(), Reach::Loopback).unwrap();
        let body = http_body_util::Empty::new().map_err(|never| match never {});
        let request = Request::get(format!("http://{host}")).body(body.boxed_unsync());
        let sent = network
            .network
            .send(request.unwrap(), DEFAULT_TIMEOUT)
            .await;
        wasi_error(&sent.unwrap_err())
    }

    #[tokio::test]
    async fn a_name_whose_addresses_are_all_out_of_reach_is_prohibited_and_not_connected_to() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        // The system reads this name as an address of this machine.
        let prohibited = error(&format!("127.1:{port}")).await;
        assert!(matches!(prohibited, Error::DestinationIpProhibited));
        let accepted = listener.accept().map_err(|error| error.kind());
        assert_eq!(accepted.unwrap_err(), ErrorKind::WouldBlock);

        let closed = ClosedPort::bind().unwrap().base_url();
        let refused = error(closed.trim_start_matches("http://")).await;
        assert!(matches!(refused, Error::ConnectionRefused), "{refused}");
        let unknown = error("no..name").await;
        assert!(matches!(unknown, Error::DnsError { .. }), "{unknown}");
    }
}
