//! A service in memory that does what a script says, request by request, in virtual
//! time.

use crate::operation::Operation;
use crate::stage::instance_settings;
use bytes::Bytes;
use futures_util::stream;
use host_test::types::RequestError;
use host_test::{InMemoryNetwork, Instance, InstanceSettings, Outgoing, Recorder};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

pub const TOKEN: &str = "scripted-token-0001";

/// What the service does with one request.
#[derive(Clone)]
pub struct Step {
    after: Duration,
    reads_body: bool,
    does: Does,
}

#[derive(Clone)]
enum Does {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        pieces: Vec<Piece>,
    },
    Fail(ErrorCode),
    Silence,
}

/// A piece of a body.
#[derive(Clone)]
pub enum Piece {
    Bytes(Vec<u8>),
    Pause(Duration),
    Break(ErrorCode),
    /// The same bytes for ever, each time after a pause.
    Endless(Vec<u8>, Duration),
}

impl Step {
    fn does(does: Does) -> Self {
        Self {
            after: Duration::ZERO,
            reads_body: true,
            does,
        }
    }

    /// An answer with an empty body.
    pub fn status(status: u16) -> Self {
        Self::does(Does::Answer {
            status,
            headers: Vec::new(),
            pieces: Vec::new(),
        })
    }

    /// 200 with this body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200).body(body)
    }

    pub fn fail(code: ErrorCode) -> Self {
        Self::does(Does::Fail(code))
    }

    /// Neither answer nor error, ever.
    pub fn silence() -> Self {
        Self::does(Does::Silence)
    }

    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        self.pieces([Piece::Bytes(body.into())])
    }

    pub fn pieces(mut self, new: impl Into<Vec<Piece>>) -> Self {
        if let Does::Answer { pieces, .. } = &mut self.does {
            *pieces = new.into();
        }
        self
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Does::Answer { headers, .. } = &mut self.does {
            headers.push((name, value.to_owned()));
        }
        self
    }

    /// Lets the head, or the failure, come so much later.
    pub fn after_ms(mut self, after_ms: u64) -> Self {
        self.after = Duration::from_millis(after_ms);
        self
    }

    /// Leaves the request's body unread, but open, so that nobody can write it whole.
    pub fn without_reading(mut self) -> Self {
        self.reads_body = false;
        self
    }

    async fn play(self) -> Result<http::Response<WasiBody>, Error> {
        sleep(self.after).await;
        match self.does {
            Does::Silence => std::future::pending().await,
            Does::Fail(code) => Err(error(code)),
            Does::Answer {
                status,
                headers,
                pieces,
            } => {
                let mut response = http::Response::builder().status(status);
                for (name, value) in headers {
                    response = response.header(name, value);
                }
                Ok(response.body(body(pieces)).expect("an answer"))
            }
        }
    }
}

/// The host's error for a code. wasmtime-wasi-http 48.0.8 takes the response's header
/// size for the request's.
fn error(code: ErrorCode) -> Error {
    match code {
        ErrorCode::HttpResponseHeaderSize(payload) => Error::HttpResponseHeaderSize {
            field_name: payload.field_name,
            field_size: payload.field_size,
        },
        code => code.into(),
    }
}

fn body(pieces: Vec<Piece>) -> WasiBody {
    let frames = stream::unfold(pieces.into_iter(), |mut pieces| async move {
        loop {
            match pieces.next()? {
                Piece::Pause(pause) => sleep(pause).await,
                Piece::Bytes(bytes) => return Some((Ok(Frame::data(Bytes::from(bytes))), pieces)),
                Piece::Break(code) => return Some((Err(error(code)), pieces)),
                Piece::Endless(bytes, pause) => {
                    sleep(pause).await;
                    let again = vec![Piece::Endless(bytes.clone(), pause)].into_iter();
                    return Some((Ok(Frame::data(Bytes::from(bytes))), again));
                }
            }
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// A request that reached the service.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Milliseconds since the service began.
    pub at_ms: u64,
    pub method: String,
    pub uri: http::Uri,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub options: RequestOptions,
}

impl Sent {
    pub fn path_and_query(&self) -> &str {
        self.uri.path_and_query().map_or("", |path| path.as_str())
    }

    /// The values of a header, separated by a bar.
    pub fn header(&self, name: &str) -> String {
        let values = self.headers.iter().filter(|(header, _)| header == name);
        let values: Vec<_> = values.map(|(_, value)| value.as_str()).collect();
        values.join("|")
    }
}

/// A service in memory. The last step of its script is for all further requests.
pub struct Script {
    began: Instant,
    outgoing: Outgoing,
    sent: Arc<Mutex<Vec<Sent>>>,
    open: Arc<Open>,
}

/// How many requests are open, and how many were at once at most.
#[derive(Default)]
struct Open {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// A request that is open for as long as this lives.
struct OpenRequest(Arc<Open>);

impl OpenRequest {
    fn begin(open: &Arc<Open>) -> Self {
        let now = open.now.fetch_add(1, Ordering::Relaxed) + 1;
        open.most.fetch_max(now, Ordering::Relaxed);
        Self(open.clone())
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Script {
    pub fn new(steps: impl Into<Vec<Step>>) -> Self {
        let (began, steps) = (Instant::now(), steps.into());
        let sent: Arc<Mutex<Vec<Sent>>> = Arc::default();
        let open = Arc::new(Open::default());
        let (kept, counted) = (sent.clone(), open.clone());
        let unread: Arc<Mutex<Vec<WasiBody>>> = Arc::default();
        let network = InMemoryNetwork(move |request: http::Request<WasiBody>, options| {
            let (steps, kept, unread) = (steps.clone(), kept.clone(), unread.clone());
            let at_ms = elapsed_ms(began);
            let open_request = OpenRequest::begin(&counted);
            let (head, body) = request.into_parts();
            let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
                let value = String::from_utf8_lossy(value.as_bytes());
                (name.to_string(), value.into_owned())
            };
            let index = {
                let mut kept = kept.lock().expect("the requests");
                kept.push(Sent {
                    at_ms,
                    method: head.method.to_string(),
                    uri: head.uri.clone(),
                    headers: head.headers.iter().map(header).collect(),
                    body: Vec::new(),
                    options,
                });
                kept.len() - 1
            };
            async move {
                let step = steps.get(index).or(steps.last()).expect("a step");
                if step.reads_body {
                    let body = body.collect().await?.to_bytes();
                    kept.lock().expect("the requests")[index].body = body.to_vec();
                } else {
                    unread.lock().expect("the bodies").push(body);
                }
                let answer = step.clone().play().await;
                drop(open_request);
                answer
            }
        });
        Self {
            began,
            outgoing: Outgoing::loopback(network),
            sent,
            open,
        }
    }

    /// What an instance gets that talks to this service, with these settings.
    pub fn settings(&self, settings: &[(&str, &str)]) -> InstanceSettings {
        let mut all = vec![("BASE_URL", "http://127.0.0.1"), ("API_TOKEN", TOKEN)];
        all.extend(settings);
        instance_settings(&all, self.outgoing.clone())
    }

    pub async fn instance(&self, settings: &[(&str, &str)]) -> Instance {
        let settings = self.settings(settings);
        let instance = crate::stage::plugin().instantiate(settings).await;
        instance.expect("an instance")
    }

    /// Runs an operation in an instance of its own.
    pub async fn run(
        &self,
        operation: Operation,
        settings: &[(&str, &str)],
    ) -> Result<(), RequestError> {
        operation.run(&mut self.instance(settings).await).await
    }

    pub fn sent(&self) -> Vec<Sent> {
        self.sent.lock().expect("the requests").clone()
    }

    /// When the requests came.
    pub fn sent_at_ms(&self) -> Vec<u64> {
        self.sent().iter().map(|sent| sent.at_ms).collect()
    }

    /// How many requests were open at once, at most.
    pub fn most_open(&self) -> usize {
        self.open.most.load(Ordering::Relaxed)
    }

    /// The time since the service began.
    pub fn now_ms(&self) -> u64 {
        elapsed_ms(self.began)
    }

    pub fn recorder(&self) -> &Recorder {
        &self.outgoing.recorder
    }
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).expect("a test shorter than that")
}
