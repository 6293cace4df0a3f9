//! What a test needs: the component, the mock service, and instances that talk to it.

use crate::compiled::loading;
use crate::operation::Run;
use crate::operation::{Answered, Operation};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use voice_calling_host::types::RequestError;
use voice_calling_host::{
    Instance, InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach, Recorder, Stderr,
};
use voice_calling_mock::{MockService, Options};

pub use voice_calling_check::operation::NUMBER;

/// JSON that only survives as the text that it is: digits, order and duplicates of
/// keys, a lone surrogate.
pub const FREE_FORM: &str = r#"{"z":12345678901234567890,"amount":0.10,"a":[1e400,-0],"name":"Asha \ud83d","z":"again","\udc00":null}"#;

/// The component, compiled once for all tests: the file that
/// `HOST_TEST_COMPONENT` names, or the one that `cargo xtask build` makes.
pub fn plugin() -> &'static Plugin {
    static PLUGIN: OnceLock<Plugin> = OnceLock::new();
    PLUGIN.get_or_init(|| Plugin::load_with(&component_path(), &loading()).expect("the component"))
}

pub fn component_path() -> PathBuf {
    match std::env::var_os("HOST_TEST_COMPONENT") {
        Some(path) => path.into(),
        None => concat!(env!("CARGO_MANIFEST_DIR"), "/../target/voice-calling.wasm").into(),
    }
}

/// Settings for tests over real connections, which are this host's: pauses of a
/// millisecond, and its word on connections is trusted.
pub const QUICK: [(&str, &str); 3] = [
    ("BACKOFF_MS", "1"),
    ("MAX_BACKOFF_MS", "1"),
    ("TRUST_CONNECTION_TIMEOUT", "true"),
];

/// What an instance gets with these settings (names without the prefix; later ones
/// win) and this way out: pauses are as short as they can be.
pub fn instance_settings(settings: &[(&str, &str)], outgoing: Outgoing) -> InstanceSettings {
    let environment: BTreeMap<_, _> = settings
        .iter()
        .map(|(name, value)| (format!("VOICE_CALLING_{name}"), *value))
        .collect();
    let mut settings = InstanceSettings::new(environment, outgoing);
    settings.randomness = Some(vec![0]);
    settings.stderr = Stderr::kept();
    settings
}

/// An instance with these settings and way out.
pub async fn instance(settings: &[(&str, &str)], outgoing: Outgoing) -> Instance {
    let settings = instance_settings(settings, outgoing);
    plugin().instantiate(settings).await.expect("an instance")
}

/// A way out to this machine, over real connections.
pub fn loopback() -> Outgoing {
    Outgoing::loopback(PooledNetwork::new(Reach::Loopback).expect("a network"))
}

/// An instance that talks to a peer that is not a mock service, with quick pauses.
pub async fn instance_at(base_url: &str, settings: &[(&str, &str)]) -> Instance {
    let mut all = vec![("BASE_URL", base_url), ("API_TOKEN", "peer-token-0001")];
    all.extend(QUICK);
    all.extend(settings);
    instance(&all, loopback()).await
}

/// The mock service, and a way to it.
pub struct Stage {
    pub mock: MockService,
    outgoing: Outgoing,
}

impl Stage {
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    pub async fn with(options: Options) -> Self {
        Self {
            mock: MockService::start(options).await.expect("the mock service"),
            outgoing: loopback(),
        }
    }

    /// The default options with a change.
    pub async fn changed(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::default();
        change(&mut options);
        Self::with(options).await
    }

    /// An instance that is set up for the mock, with quick pauses.
    pub async fn instance(&self) -> Instance {
        self.instance_with(&[]).await
    }

    /// The same with more settings; later ones win.
    pub async fn instance_with(&self, settings: &[(&str, &str)]) -> Instance {
        let (base_url, token) = (self.mock.base_url(), self.mock.token());
        let mut all = vec![
            ("BASE_URL", base_url.as_str()),
            ("API_TOKEN", token.as_str()),
        ];
        all.extend(QUICK);
        all.extend(settings);
        instance(&all, self.outgoing.clone()).await
    }

    /// Runs an operation in an instance of its own.
    pub async fn run(
        &self,
        operation: Operation,
        settings: &[(&str, &str)],
    ) -> Result<Answered, RequestError> {
        operation.run(&mut self.instance_with(settings).await).await
    }

    pub fn recorder(&self) -> &Recorder {
        &self.outgoing.recorder
    }
}
