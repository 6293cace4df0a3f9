//! A service that exists only in memory and gives one response to every request.

use futures_util::FutureExt;
use std::sync::LazyLock;
use voice_calling_core::ledger::NoLedger;
use voice_calling_core::{Client, Limits, Request, Response, SendError, Settings, Transport};

/// The token of the clients here. JSON may write it in three ways, all of which must be masked.
pub(crate) const TOKEN: &str = r#"to/k"en\0123"#;

/// A service that answers 200 with this body.
pub(crate) struct Service<'a>(&'a [u8]);

/// Creates a client of a service with this body. It makes one attempt.
pub(crate) fn client(body: &[u8]) -> Client<Service<'_>> {
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
    Client::new(SETTINGS.clone(), Service(body), NoLedger)
}

/// Returns the output of a future that never has to wait.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    let output = future.now_or_never();
    output.expect("a service in memory is always ready")
}

impl Transport for Service<'_> {
    type Response = FixedResponse;

    async fn send(&self, _: &Request, _: Limits) -> Result<FixedResponse, SendError> {
        Ok(FixedResponse(Some(self.0.to_vec())))
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

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        std::iter::empty()
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.take())
    }
}
