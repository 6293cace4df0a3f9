//! The core's seam, on a transport and a clock.

use crate::clock::Clock;
use crate::gzip::Gunzip;
use crate::hook::{Ending, Hook, Outgoing};
use crate::operation::{self, OpenCreate};
use crate::telemetry;
use crate::transport::{RequestBody, ResponseBody, Transport};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use std::time::Duration;
use tracing::Instrument;
use voice_calling_core::{self as core, CANCELLED, Delivery, Limits, Method, Request, SendError};

/// The environment of the core: a transport, in the task that polls the operation, and a clock.
pub(crate) struct Wire {
    transport: Box<dyn Transport>,
    /// Further headers of each request.
    headers: HeaderMap,
    hook: Option<Hook>,
    clock: Clock,
}

impl Wire {
    pub(crate) fn new(
        transport: Box<dyn Transport>,
        headers: HeaderMap,
        hook: Option<Hook>,
        clock: Clock,
    ) -> Self {
        Self {
            transport,
            headers,
            hook,
            clock,
        }
    }

    /// Returns the headers of a request after those of the user. The HTTP library determines host
    /// and length itself.
    fn headers(&self, request: &Request, mut headers: HeaderMap) -> Result<HeaderMap, SendError> {
        for name in [HOST, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.remove(name);
        }
        for (name, value) in &request.headers {
            let name = HeaderName::from_static(name);
            let mut value = HeaderValue::from_str(value).map_err(|error| refused(&error))?;
            value.set_sensitive(name == "auth_token");
            if name != CONTENT_LENGTH {
                headers.insert(name, value);
            }
        }
        Ok(headers)
    }
}

fn refused(error: &dyn std::error::Error) -> SendError {
    SendError::new(Delivery::Refused, error.to_string())
}

fn uri(request: &Request) -> Result<Uri, SendError> {
    let (scheme, authority) = (request.scheme.as_str(), &request.authority);
    let uri = format!("{scheme}://{authority}{}", request.path_and_query);
    Uri::try_from(uri).map_err(|error| refused(&error))
}

impl core::Transport for Wire {
    type Response = Response;

    async fn send(&self, request: &Request, limits: Limits) -> Result<Response, SendError> {
        let (create, body) = match request.method {
            Method::Get => (None, RequestBody::empty()),
            Method::Post => {
                let content = Bytes::from(request.body.clone());
                let ticket = request.departure.hold();
                (
                    Some(OpenCreate::begin(request.item)),
                    RequestBody::of_create(content, ticket),
                )
            }
        };
        // The request is held back: if the hook panics, it is unsent.
        let mut outgoing = Outgoing::new(request, self.headers.clone());
        let span = telemetry::attempt_span(request);
        let on_attempt = |hook: &Hook| span.in_scope(|| hook(&mut outgoing));
        let on_end = self.hook.as_ref().map(on_attempt);
        let mut ending = Ending::of(on_end, span.clone());
        let mut sent = http::Request::new(body);
        *sent.method_mut() = match request.method {
            Method::Get => http::Method::GET,
            Method::Post => http::Method::POST,
        };
        *sent.uri_mut() = uri(request)?;
        *sent.headers_mut() = self.headers(request, outgoing.headers)?;
        let sending = self.transport.send(sent, limits).instrument(span);
        let response = operation::unless_cancelled(sending).await;
        let cancelled = || Err(SendError::new(Delivery::NotSent, CANCELLED));
        let response = response.unwrap_or_else(cancelled);
        let response = response.map_err(|mut error| {
            if create.is_some() {
                error.delivery = delivery(error.delivery, request.departure.withdraw());
            }
            ending.set_error(&error.message);
            error
        })?;
        ending.set_status(response.status().as_u16());
        let (head, body) = response.into_parts();
        let encoding = head.headers.get(CONTENT_ENCODING);
        let is_gzip = encoding.is_some_and(|encoding| encoding == "gzip");
        Ok(Response {
            gunzip: is_gzip.then(|| Gunzip::new(limits.response_bytes)),
            head,
            body,
            create,
            ending,
        })
    }

    async fn sleep(&self, duration_ms: u64) {
        let sleeping = self.clock.sleep(Duration::from_millis(duration_ms));
        operation::unless_cancelled(sleeping).await;
    }

    fn is_cancelled(&self) -> bool {
        operation::is_cancelled()
    }

    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    fn unix_time_s(&self) -> u64 {
        self.clock.unix_time_s()
    }

    fn random(&self) -> u64 {
        self.clock.random()
    }

    fn on_dropped(&self, create: &Request) {
        operation::warn_of(create);
    }

    async fn log(&self, line: &str) {
        tracing::info!(target: "voice_calling::attempts", "{line}");
    }
}

/// Returns whether a create may have reached the service. What a transport says does not count
/// against what has become of the body.
fn delivery(said: Delivery, is_unsent: bool) -> Delivery {
    match (said, is_unsent) {
        (_, false) => Delivery::Unknown,
        (Delivery::Denied | Delivery::Refused, true) => said,
        (_, true) => Delivery::NotSent,
    }
}

/// A response whose head has arrived.
pub(crate) struct Response {
    head: http::response::Parts,
    body: ResponseBody,
    /// Decompresses a body that came compressed, although none was asked for.
    gunzip: Option<Gunzip>,
    /// The create that it responds to.
    create: Option<OpenCreate>,
    ending: Ending,
}

impl Response {
    async fn read(&mut self) -> Result<Option<Bytes>, String> {
        match (self.body.piece().await?, &mut self.gunzip) {
            (piece, None) => Ok(piece),
            (Some(piece), Some(gunzip)) => gunzip.decompress(&piece).map(Some),
            (None, Some(gunzip)) => gunzip.finish(),
        }
    }
}

impl core::Response for Response {
    fn status(&self) -> u16 {
        self.head.status.as_u16()
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let headers = self.head.headers.iter();
        headers.map(|(name, value)| (name.as_str(), value.as_bytes()))
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        let piece = operation::unless_cancelled(self.read()).await;
        let piece = piece.unwrap_or_else(|| Err(CANCELLED.to_owned()));
        let piece = piece.inspect_err(|error| self.ending.set_error(error))?;
        if let (Some(create), Some(piece)) = (&mut self.create, &piece) {
            create.append_response(piece);
        }
        Ok(piece.map(Vec::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_create_is_unsent_if_its_body_was_not_read_whatever_a_transport_says() {
        for said in [Delivery::NotSent, Delivery::Unknown, Delivery::Rejected] {
            assert_eq!(delivery(said, true), Delivery::NotSent);
            assert_eq!(delivery(said, false), Delivery::Unknown);
        }
        assert_eq!(delivery(Delivery::Refused, true), Delivery::Refused);
        assert_eq!(delivery(Delivery::Denied, false), Delivery::Unknown);
    }
}
