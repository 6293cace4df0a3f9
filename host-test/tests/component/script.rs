//! The service in memory, for the component of the tests.

use crate::operation::Run;
use crate::operation::{Answered, Operation};
use crate::stage::instance_settings;
use std::ops::Deref;
use std::time::Duration;
use voice_calling_host::types::RequestError;
use voice_calling_host::{Instance, InstanceSettings, Recorder};

pub use voice_calling_check::script::{Piece, Step};

pub const TOKEN: &str = "scripted-token-0001";

pub struct Script(voice_calling_check::script::Script);

impl Deref for Script {
    type Target = voice_calling_check::script::Script;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Script {
    pub fn new(steps: impl Into<Vec<Step>>) -> Self {
        Self(voice_calling_check::script::Script::new(steps.into()))
    }

    /// What an instance gets that talks to this service, with these settings.
    pub fn settings(&self, settings: &[(&str, &str)]) -> InstanceSettings {
        let mut all = vec![("BASE_URL", "http://127.0.0.1"), ("API_TOKEN", TOKEN)];
        all.extend(settings);
        instance_settings(&all, self.outgoing())
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
    ) -> Result<Answered, RequestError> {
        operation.run(&mut self.instance(settings).await).await
    }

    /// When the requests came.
    pub fn sent_at_ms(&self) -> Vec<u64> {
        self.sent().iter().map(|sent| sent.at_ms).collect()
    }

    pub fn recorder(&self) -> Recorder {
        self.outgoing().recorder
    }
}

/// Bytes of a body.
pub fn bytes(bytes: impl Into<Vec<u8>>) -> Piece {
    Piece::Bytes(bytes.into().into())
}

/// The same bytes for ever, each time after a pause.
pub fn endless(bytes: impl Into<Vec<u8>>, pause: Duration) -> Piece {
    Piece::Repeat {
        bytes: bytes.into().into(),
        times: None,
        pause,
    }
}
