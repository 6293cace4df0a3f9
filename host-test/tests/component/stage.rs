//! What a test needs: the component, and instances that talk to a service.

use crate::compiled::{component_path, in_repository, loading};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;
use voice_calling_check::operation::{Arguments, item};
use voice_calling_host::types::{CreatedDocketV2, RequestError};
use voice_calling_host::{
    Instance, InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach, Stderr,
};

pub use voice_calling_check::operation::{
    Answered, DOCKET_ID, NUMBER, Operation, SATISFYING, docket_v2, outcome,
};
pub use voice_calling_check::script::{Piece, Script, Step};

pub const TOKEN: &str = "scripted-token-0001";

/// JSON that only survives as the text that it is: digits, order and duplicates of
/// keys, a lone surrogate.
pub const FREE_FORM: &str = r#"{"z":12345678901234567890,"amount":0.10,"a":[1e400,-0],"name":"Asha \ud83d","z":"again","\udc00":null}"#;

/// Settings with which pauses are short, and the host's word on connections is trusted.
const QUICK: [(&str, &str); 3] = [
    ("BACKOFF_MS", "1"),
    ("MAX_BACKOFF_MS", "1"),
    ("TRUST_CONNECTION_TIMEOUT", "true"),
];

/// The component, compiled once for all tests.
pub fn plugin() -> &'static Plugin {
    static PLUGIN: OnceLock<Plugin> = OnceLock::new();
    PLUGIN.get_or_init(|| Plugin::load_with(&component_path(), &loading()).expect("the component"))
}

/// The component for each WASI, whichever is under test.
pub fn both_plugins() -> &'static [Plugin; 2] {
    static PLUGINS: OnceLock<[Plugin; 2]> = OnceLock::new();
    PLUGINS.get_or_init(|| {
        ["target/voice-calling.wasm", "target/voice-calling-p3.wasm"].map(|file| {
            let plugin = Plugin::load_with(&in_repository(file), &loading());
            plugin.expect("the component")
        })
    })
}

/// What an instance gets with these settings (names without the prefix) over a base URL of this
/// machine and a token, and with this way out: pauses are as short as they can be.
pub fn settings(settings: &[(&str, &str)], outgoing: Outgoing) -> InstanceSettings {
    let required = [("BASE_URL", "http://127.0.0.1"), ("API_TOKEN", TOKEN)];
    let environment: BTreeMap<_, _> = required
        .iter()
        .chain(settings)
        .map(|(name, value)| (format!("VOICE_CALLING_{name}"), *value))
        .collect();
    let mut settings = InstanceSettings::new(environment, outgoing);
    settings.randomness = Some(vec![0]);
    settings.stderr = Stderr::kept();
    settings
}

/// An instance with these settings and way out.
pub async fn instance(settings: &[(&str, &str)], outgoing: Outgoing) -> Instance {
    let settings = self::settings(settings, outgoing);
    plugin().instantiate(settings).await.expect("an instance")
}

/// The same at this URL, with pauses of a millisecond and the host's word on connections trusted.
pub async fn instance_at(
    base_url: &str,
    settings: &[(&str, &str)],
    outgoing: Outgoing,
) -> Instance {
    let all = [&QUICK[..], &[("BASE_URL", base_url)], settings].concat();
    instance(&all, outgoing).await
}

/// A way to peers on loopback, over connections of its own.
pub fn pooled() -> Outgoing {
    Outgoing::loopback(PooledNetwork::new(Reach::Loopback).expect("a network"))
}

/// What a function returned. Neither may the host fail, nor may it take for ever: a
/// quarter of an hour is longer than any test, even in virtual time.
pub async fn returned<T>(call: impl Future<Output = anyhow::Result<T>>) -> T {
    let returned = tokio::time::timeout(Duration::from_secs(900), call).await;
    returned
        .expect("an end within a quarter of an hour")
        .expect("no failure of the host")
}

/// Creates the docket that has this number as its `external_id`.
pub async fn create(
    instance: &mut Instance,
    number: usize,
) -> Result<CreatedDocketV2, RequestError> {
    returned(instance.create_docket_v2(&item(number), None)).await
}

/// Calls a function with arguments that are right, in an instance. Of a batch of one, the result
/// is that one's; a wait has time for one poll and ends where the service does not know what it
/// waits for.
pub async fn run_in(
    instance: &mut Instance,
    operation: Operation,
) -> Result<Answered, RequestError> {
    let arguments = Arguments {
        timeout_ms: if operation.is_wait() { 1_500 } else { 60_000 },
        not_found_is_pending: Some(false),
        ..Arguments::default()
    };
    let results = returned(operation.call(instance, arguments, None)).await;
    let [result] = results.try_into().expect("one result");
    result
}

/// The same in an instance of its own that talks to a service in memory.
pub async fn run(
    script: &Script,
    operation: Operation,
    settings: &[(&str, &str)],
) -> Result<Answered, RequestError> {
    let mut instance = instance(settings, script.outgoing()).await;
    run_in(&mut instance, operation).await
}

/// When the requests came.
pub fn sent_at_ms(script: &Script) -> Vec<u64> {
    script.sent().iter().map(|sent| sent.at_ms).collect()
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
