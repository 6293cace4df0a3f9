//! A request on its way, and what has come of it.

use super::bindings::{
    Answered, Body, Chunk, Delivery, Ended, Event, ExchangeId, Failed, Head, Headers, OperationId,
    Send as ToSend,
};
use super::fault::Fault;
use crate::guest::limits::HEADER_BYTES;
use crate::network::outgoing::Outgoing;
use bytes::Bytes;
use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, DATE, HOST, LOCATION, RETRY_AFTER,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use voice_calling_core::{Delivery as CoreDelivery, ErrorCode, SendError, error_code};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// The headers of an answer that the guest reads.
static READ: [HeaderName; 8] = [
    RETRY_AFTER,
    DATE,
    LOCATION,
    CONTENT_TYPE,
    CONTENT_ENCODING,
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("x-correlation-id"),
];

/// More of a body is not kept here but handed over: the guest may want no more of it.
const PIECE_BYTES: usize = 65_536;

/// What comes of a request. The task that sends it writes, the driver reads.
pub(super) struct Exchange {
    pub(super) id: ExchangeId,
    pub(super) operation: OperationId,
    /// For which request of a batch it is.
    pub(super) item: Option<u32>,
    pub(super) creates: bool,
    /// Whether a timeout of the connection is to be believed.
    trusts_connection_timeout: bool,
    max_response_bytes: usize,
    fault: Option<Fault>,
    come: Mutex<Come>,
}

/// What has come and is not handed over.
#[derive(Default)]
struct Come {
    head: Option<(u16, Headers)>,
    is_head_told: bool,
    body: Vec<u8>,
    end: Option<End>,
    /// Whether there is an end, handed over or not.
    is_over: bool,
}

/// How an exchange ended.
enum End {
    /// With all of its body, or with more of it than is read.
    Read,
    /// In the middle of its body.
    Broken(String),
    /// Without an answer.
    Failed(Delivery, String),
}

/// How much a task has to report to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The body is not whole yet. Who wants to know what has come, asks.
    Waiting,
    /// A large piece of the body came.
    Piece,
    /// It is over.
    Ended,
}

impl Exchange {
    pub(super) fn of(send: &ToSend, trusts_connection_timeout: bool, fault: Option<Fault>) -> Self {
        let max_response_bytes = send.request.max_response_bytes;
        Self {
            id: send.exchange,
            operation: send.operation,
            item: send.item,
            creates: send.creates,
            trusts_connection_timeout,
            max_response_bytes: usize::try_from(max_response_bytes).unwrap_or(usize::MAX),
            fault,
            come: Mutex::default(),
        }
    }

    fn come(&self) -> MutexGuard<'_, Come> {
        self.come.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the request and reads its answer.
    pub(super) async fn run(
        &self,
        outgoing: Arc<Outgoing>,
        request: Request<WasiBody>,
        options: RequestOptions,
        tell: impl Fn(News),
    ) {
        match outgoing.send(request, options).await {
            Ok(response) => {
                let (head, body) = response.into_parts();
                let headers = match self.fault {
                    Some(Fault::LosesHeaders) => Headers::new(),
                    _ => headers(&head.headers),
                };
                self.come().head = Some((head.status.as_u16(), headers));
                self.read(body, &tell).await;
            }
            Err(error) => self.fail(error),
        }
        tell(News::Ended);
    }

    async fn read(&self, mut body: WasiBody, tell: &impl Fn(News)) {
        let mut size = 0;
        let mut has_waited = false;
        let end = loop {
            let frame = poll_fn(|context| {
                let polled = Pin::new(&mut body).poll_frame(context);
                if polled.is_pending() && !mem::replace(&mut has_waited, true) {
                    tell(News::Waiting);
                }
                polled
            });
            let frame = frame.await;
            let data = match frame {
                None => break End::Read,
                Some(Err(_)) if self.fault == Some(Fault::MendsBodies) => break End::Read,
                Some(Err(error)) => break End::Broken(error.to_string()),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => data,
                    // Trailers.
                    Err(_) => continue,
                },
            };
            let room = self.max_response_bytes.saturating_add(1) - size;
            let read = &data[..data.len().min(room)];
            size += read.len();
            let held = {
                let mut come = self.come();
                come.body.extend_from_slice(read);
                come.body.len()
            };
            if size > self.max_response_bytes {
                break End::Read;
            }
            if held > PIECE_BYTES {
                tell(News::Piece);
            }
        };
        self.end(end);
    }

    fn fail(&self, error: Error) {
        let SendError { delivery, message } = send_error(&error);
        let delivery = match delivery {
            CoreDelivery::NotSent => Delivery::NotSent,
            CoreDelivery::Unknown if self.fault == Some(Fault::SaysUnsent) => Delivery::NotSent,
            CoreDelivery::ConnectionTimeout if self.fault == Some(Fault::BelievesTimeouts) => {
                Delivery::NotSent
            }
            CoreDelivery::ConnectionTimeout if !self.creates || self.trusts_connection_timeout => {
                Delivery::NotSent
            }
            CoreDelivery::Denied => Delivery::Denied,
            CoreDelivery::Refused => Delivery::Refused,
            CoreDelivery::Rejected if !self.creates => Delivery::Refused,
            CoreDelivery::ConnectionTimeout | CoreDelivery::Rejected | CoreDelivery::Unknown => {
                Delivery::Unknown
            }
        };
        self.end_without_answer(delivery, message);
    }

    /// The host does not take the request.
    pub(super) fn refuse(&self, what: &str) {
        let message = format!("the host rejected {what} of the request");
        self.end_without_answer(Delivery::Refused, message);
    }

    /// Its task is gone. Whether that is news.
    pub(super) fn lose(&self) -> bool {
        let mut come = self.come();
        if mem::replace(&mut come.is_over, true) {
            return false;
        }
        let message = "the task of the request is gone: the runtime has ended".to_owned();
        come.end = Some(match come.is_head_told || come.head.is_some() {
            true => End::Broken(message),
            false => End::Failed(Delivery::Unknown, message),
        });
        true
    }

    /// Whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        self.come().is_over
    }

    fn end(&self, end: End) {
        let mut come = self.come();
        come.is_over = true;
        come.end = Some(end);
    }

    pub(super) fn end_without_answer(&self, delivery: Delivery, message: String) {
        self.end(End::Failed(delivery, message));
    }

    /// Hands over all that has come. Whether the request may have created something, as far as
    /// is known.
    pub(super) fn hand_over(&self, events: &mut Vec<Event>) -> bool {
        let exchange = self.id;
        let mut come = self.come();
        let body = mem::take(&mut come.body);
        let end = come.end.take();
        match (come.head.take(), end) {
            (Some((status, headers)), Some(End::Read)) => {
                events.push(Event::Answered(Answered {
                    exchange,
                    status,
                    headers,
                    body: whole(body),
                }));
                return self.creates;
            }
            (head, end) => {
                if let Some((status, headers)) = head {
                    come.is_head_told = true;
                    events.push(Event::Head(Head {
                        exchange,
                        status,
                        headers,
                    }));
                }
                if !body.is_empty() {
                    let bytes = Body::Bytes(body);
                    events.push(Event::Chunk(Chunk { exchange, bytes }));
                }
                let error = match end {
                    None => return self.creates,
                    Some(End::Failed(delivery, message)) => {
                        events.push(Event::Failed(Failed {
                            exchange,
                            delivery,
                            message,
                        }));
                        return self.creates && delivery == Delivery::Unknown;
                    }
                    Some(End::Read) => None,
                    Some(End::Broken(error)) => Some(error),
                };
                events.push(Event::Ended(Ended { exchange, error }));
            }
        }
        self.creates
    }
}

/// Text where it is text: the guest then need not look.
fn whole(body: Vec<u8>) -> Body {
    match String::from_utf8(body) {
        Ok(text) => Body::Text(text),
        Err(error) => Body::Bytes(error.into_bytes()),
    }
}

/// The headers that the guest reads, the first of each name.
fn headers(headers: &HeaderMap) -> Headers {
    let read = READ.iter().filter_map(|name| {
        let value = String::from_utf8_lossy(headers.get(name)?.as_bytes());
        Some((name.as_str().to_owned(), value.into_owned()))
    });
    read.collect()
}

/// What an error says, with what it carries for people.
fn send_error(error: &Error) -> SendError {
    let detail = match error {
        Error::DnsError { rcode, .. } => rcode.as_deref(),
        Error::TlsAlertReceived { alert_message, .. } => alert_message.as_deref(),
        Error::InternalError(message) => message.as_deref(),
        _ => None,
    };
    // The last three are taken for what wasmtime takes them for.
    let code = error_code!(
        Error,
        error,
        Error::Connect(_) => ErrorCode::ConnectionRefused,
        Error::Tls(_) => ErrorCode::TlsProtocolError,
        _ => ErrorCode::HttpProtocolError,
    );
    SendError::of_code(code, detail)
}

/// The request as the network takes it. The error says of what it does not take it.
pub(super) fn request(send: ToSend) -> Result<(Request<WasiBody>, RequestOptions), &'static str> {
    let request = send.request;
    let uri: Uri = request.url.parse().map_err(|_| "the address")?;
    let host = uri.authority().ok_or("the address")?.as_str();
    let host = HeaderValue::from_str(host).map_err(|_| "the address")?;
    let method: Method = request.method.parse().map_err(|_| "the method")?;
    let mut headers = HeaderMap::with_capacity(request.headers.len() + 2);
    headers.insert(HOST, host);
    let mut size = 0;
    for (name, value) in &request.headers {
        size += name.len() + value.len();
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "the headers")?;
        let value = HeaderValue::from_str(value).map_err(|_| "the headers")?;
        headers.append(name, value);
    }
    if size > HEADER_BYTES {
        return Err("the headers");
    }
    if method != Method::GET {
        headers.insert(CONTENT_LENGTH, request.body.len().into());
    }
    let body = Full::new(Bytes::from(request.body));
    let mut sent = Request::new(body.map_err(|never| match never {}).boxed_unsync());
    *sent.method_mut() = method;
    *sent.uri_mut() = uri;
    *sent.headers_mut() = headers;
    let attempt = Duration::from_millis(request.attempt_ms.into());
    let options = RequestOptions {
        connect_timeout: Some(Duration::from_millis(request.connect_ms.into())),
        first_byte_timeout: Some(attempt),
        between_bytes_timeout: Some(attempt),
    };
    Ok((sent, options))
}
