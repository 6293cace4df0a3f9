//! The addresses of a name.

use hyper_util::client::legacy::connect::dns::Name;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::lookup_host;
use tower_service::Service;

/// Resolves names as the system does, to those addresses that the filter permits. The error is of
/// the kind `NotFound` if the name has none, and `PermissionDenied` if it has no other.
#[derive(Clone)]
pub(crate) struct Resolver(pub(crate) Arc<Filter>);

/// Returns `true` if a name's address may be used.
pub(crate) type Filter = dyn Fn(&str, IpAddr) -> bool + Send + Sync;

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let filter = self.0.clone();
        Box::pin(async move {
            // The connector sets the port.
            let found = lookup_host((name.as_str(), 0)).await;
            let found = found.map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))?;
            let permitted = found.filter(|found| filter(name.as_str(), found.ip()));
            let permitted: Vec<_> = permitted.collect();
            if permitted.is_empty() {
                let message = "the host's name has no address that may be used";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
            }
            Ok(permitted.into_iter())
        })
    }
}
