//! Why there is no response.

use hyper_util::client::legacy;
use std::error::Error as StdError;
use std::{fmt, iter};

/// Why there is no response. Its text names no URL, whose path and query may contain ids. Its
/// sources are hyper's errors, and those of the connection: the [`std::io::Error`] is of the kind
/// `TimedOut` if the time for the connection was up, `NotFound` if the host's name has no address,
/// and `PermissionDenied` if none of its addresses may be used. It contains a [`rustls::Error`] if
/// TLS has failed.
#[derive(Debug)]
pub struct Error(pub(crate) legacy::Error);

impl Error {
    /// Returns `true` if nothing of the request has left: it got no connection, or was returned by
    /// one that was closing.
    pub fn is_unsent(&self) -> bool {
        let cause = self.0.source().and_then(|it| it.downcast_ref());
        self.0.connect_info().is_none() || cause.is_some_and(hyper::Error::is_canceled)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.0.source().unwrap_or(&self.0);
        let causes = iter::successors(Some(first), |error| (*error).source());
        let causes: Vec<_> = causes.map(ToString::to_string).collect();
        formatter.write_str(&causes.join(": "))
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
