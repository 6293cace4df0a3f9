//! The network of the clients: connections that are kept for later requests, TLS with the system's
//! trust, and proxies.
//!
//! A [`Network`] sends a request once, or not at all: it follows no redirect, retries nothing, and
//! changes no body. An [`Error`] says whether the request may have left, since a create that has
//! not may be sent again, and one that has may ring.
//!
//! It speaks HTTP/1.1 alone. A connection has one request in flight, so that its end makes the
//! outcome of one create unknown instead of that of all; and what was never given to a connection is
//! certainly unsent. A client has a few dozen requests in flight, and the service takes longer to
//! carry out one of them than a connection takes to be made.
//!
//! The provider of cryptography is a feature, `ring` or `aws-lc-rs`, and is given to rustls explicitly.
//! Without either it is the one that the process has installed.

#![warn(missing_docs)]

mod connector;
mod error;
mod network;
mod proxies;
mod resolver;
mod trust;

pub use error::Error;
pub use hyper::body::Incoming;
pub use network::Network;
pub use proxies::Proxies;
pub use trust::Trust;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
