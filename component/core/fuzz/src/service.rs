//! A service that exists only in memory and has one answer to everything.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};
use voice_calling_core::{Client, Limits, Request, Response, SendError, Settings, Transport};

/// The token of the clients here. JSON may write it in three ways, all of which have to
/// be masked.
pub(crate) const TOKEN: &str = r#"to/k"en\0123"#;

/// What the service answers, and what it has seen.
pub(crate) struct Service {
    status: u16,
    body: Vec<u8>,
    now_ms: Cell<u64>,
    /// Every request with the time it may take.
    pub(crate) sent: RefCell<Vec<(Request, Limits)>>,
}

impl Service {
    /// A service that answers so.
    pub(crate) fn answering(status: u16, body: &[u8]) -> Self {
        Self {
            status,
            body: body.to_vec(),
            now_ms: Cell::new(0),
            sent: RefCell::default(),
        }
    }

    /// When it is, after all sleeps. Unit: milliseconds.
    pub(crate) fn time_ms(&self) -> u64 {
        self.now_ms.get()
    }
}

/// A client of this service. It makes one attempt.
pub(crate) fn client(service: &Service) -> Client<&Service> {
    static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
        let environment = [
            ("VOICE_CALLING_BASE_URL", "https://api.example"),
            ("VOICE_CALLING_API_TOKEN", TOKEN),
            ("VOICE_CALLING_MAX_ATTEMPTS", "1"),
        ];
        Settings::from_environment(
            environment.map(|(variable, value)| (variable.to_owned(), value.to_owned())),
        )
        .expect("settings of a fuzz target")
    });
    Client::new(SETTINGS.clone(), service)
}

/// The result of what never has to wait.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a service in memory made somebody wait"),
    }
}

impl Transport for &Service {
    type Response = Answer;

    async fn send(&self, request: &Request, limits: Limits) -> Result<Answer, SendError> {
        self.sent.borrow_mut().push((request.clone(), limits));
        Ok(Answer {
            status: self.status,
            body: Some(self.body.clone()),
        })
    }

    /// Time passes at once, for those who wait for it.
    async fn sleep(&self, duration_ms: u64) {
        self.now_ms
            .set(self.now_ms.get().saturating_add(duration_ms));
    }

    fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    fn unix_time_s(&self) -> u64 {
        0
    }

    fn random(&self) -> u64 {
        u64::MAX
    }

    async fn log(&self, _line: &str) {}
}

/// An answer on its way.
pub(crate) struct Answer {
    status: u16,
    body: Option<Vec<u8>>,
}

impl Response for Answer {
    fn status(&self) -> u16 {
        self.status
    }

    fn header(&self, _name: &str) -> Option<Vec<u8>> {
        None
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        Ok(self.body.take())
    }
}
