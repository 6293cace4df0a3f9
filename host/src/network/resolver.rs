//! How names become addresses.

use futures_util::future::BoxFuture;
use std::io;
use std::net::IpAddr;

/// Looks names up.
pub trait Resolver: Send + Sync {
    /// All addresses of a name, as it stands in the URL. No answer is kept.
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// As the system does it.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
