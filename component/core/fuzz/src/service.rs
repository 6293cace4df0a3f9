//! A service that exists only in memory and gives one response to every request.

use std::cell::Cell;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};
use voice_calling_core::{Client, Limits, Request, Response, SendError, Settings, Transport};

/// The token of the clients here. JSON may write it in three ways, all of which must be masked.
pub(crate) const TOKEN: &str = r#"to/k"en\0123"#;

/// A service that answers 200 with this body.
pub(crate) struct Service {
    body: Vec<u8>,
    /// The number of requests that it received.
    pub(crate) sent: Cell<usize>,
}

impl Service {
    pub(crate) fn responding_with(body: &[u8]) -> Self {
        Self {
            body: body.to_vec(),
            sent: Cell::new(0),
        }
    }
}

/// Creates a client of this service, which makes one attempt.
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

/// Returns the output of a future that never has to wait.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a service in memory was not ready"),
    }
}

impl Transport for &Service {
    type Response = FixedResponse;

    async fn send(&self, _: &Request, _: Limits) -> Result<FixedResponse, SendError> {
        self.sent.set(self.sent.get() + 1);
        Ok(FixedResponse(Some(self.body.clone())))
    }

    async fn sleep(&self, _duration_ms: u64) {}

    fn now_ms(&self) -> u64 {
        0
    }

    fn unix_time_s(&self) -> u64 {
        0
    }

    fn random(&self) -> u64 {
        u64::MAX
    }

    async fn log(&self, _line: &str) {}
}

/// A response that is being read.
pub(crate) struct FixedResponse(Option<Vec<u8>>);

impl Response for FixedResponse {
    fn status(&self) -> u16 {
        200
    }

    fn header(&self, _name: &str) -> Option<Vec<u8>> {
        None
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.take())
    }
}
