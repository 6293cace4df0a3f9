//! What sends requests: the crate's own network, or the user's.

use bytes::Bytes;
pub use http;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use std::error::Error as StdError;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{fmt, iter};
use voice_calling_core::Ticket;
pub use voice_calling_core::{Delivery, Limits, SendError};

/// Sends requests in place of the crate's own network. `examples/reqwest.rs` in the repository is a
/// transport on reqwest.
///
/// # Examples
/// A service that is never there:
/// ```
/// use voice_calling::transport::{
///     Delivery, Limits, RequestBody, SendError, Sending, Transport, http,
/// };
///
/// struct Nowhere;
///
/// impl Transport for Nowhere {
///     fn send(&self, _: http::Request<RequestBody>, _: Limits) -> Sending {
///         let error = SendError::new(Delivery::NotSent, "there is no service");
///         Box::pin(std::future::ready(Err(error)))
///     }
/// }
///
/// let client = voice_calling::Client::builder()
///     .base_url("https://api.example")
///     .api_token("token")
///     .transport(Nowhere)
///     .build()?;
/// # Ok::<_, voice_calling::Error>(())
/// ```
pub trait Transport: Send + Sync + 'static {
    /// Sends a request once, and waits for the head of the response. It must neither follow a
    /// redirect nor send the request again, and should make no connection for longer than
    /// [`Limits::connect_ms`].
    ///
    /// A create whose body was not read is unsent, whatever the error says, and one whose body was
    /// read may have been sent. The future is dropped once no one waits for the response.
    fn send(&self, request: http::Request<RequestBody>, limits: Limits) -> Sending;
}

/// A request that is being sent.
pub type Sending =
    Pin<Box<dyn Future<Output = Result<http::Response<ResponseBody>, SendError>> + Send>>;

/// The body of a request, which is empty unless it is a create. It can be read once, so that no
/// layer below can repeat it, and no more if its create has been withdrawn.
#[derive(Debug)]
pub struct RequestBody {
    content: Option<(Bytes, Ticket)>,
}

impl RequestBody {
    pub(crate) fn empty() -> Self {
        Self { content: None }
    }

    pub(crate) fn of_create(content: Bytes, ticket: Ticket) -> Self {
        Self {
            content: Some((content, ticket)),
        }
    }
}

#[cfg(feature = "testing")]
impl RequestBody {
    /// Returns the content without reading it: the request is not sent by that.
    pub(crate) fn content(&self) -> &[u8] {
        let content = self.content.as_ref();
        content.map_or(&[], |(content, _)| content)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Withdrawn;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Withdrawn>>> {
        Poll::Ready(self.content.take().map(|(content, ticket)| {
            // From here on its outcome is unknown until it is answered.
            match ticket.depart() {
                true => Ok(Frame::data(content)),
                false => Err(Withdrawn),
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let content = self.content.as_ref();
        SizeHint::with_exact(content.map_or(0, |(content, _)| content.len() as u64))
    }
}

/// The error of reading the body of a create that has been withdrawn: no one waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdrawn;

impl fmt::Display for Withdrawn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the request was withdrawn before it was sent")
    }
}

impl StdError for Withdrawn {}

/// The body of a response.
#[derive(Debug)]
pub struct ResponseBody(UnsyncBoxBody<Bytes, String>);

impl ResponseBody {
    /// Creates a body of another one.
    pub fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes, Error: StdError + 'static> + Send + 'static,
    {
        Self(body.map_err(|error| chain(&error)).boxed_unsync())
    }

    /// Returns the next piece, or `None` at its end. The error says how it broke off.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, String> {
        while let Some(frame) = self.0.frame().await {
            if let Ok(piece) = frame?.into_data() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }
}

/// Formats an error with its causes.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let causes = iter::successors(Some(error), |error| (*error).source());
    let causes: Vec<_> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}
