//! The component, and instances that are connected to a service.

use crate::{CLIENT, CLIENT_P3, component, loading};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;
use voice_calling_check::operation::{Arguments, item};
use voice_calling_host::types::{CreatedDocketV2, RequestError};
use voice_calling_host::{
    Instance, InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach, Stderr, Trust,
};

pub use voice_calling_check::operation::{
    Answered, DOCKET_ID, NUMBER, Operation, SATISFYING, docket_v2, outcome,
};
pub use voice_calling_check::script::{Piece, Script, Step};

/// The token of all instances.
pub const TOKEN: &str = "scripted-token-0001";

/// Settings for peers: trusted connection timeouts, short pauses, and limits that no busy machine
/// exceeds.
const PATIENT: [(&str, &str); 6] = [
    ("BACKOFF_MS", "1"),
    ("MAX_BACKOFF_MS", "1"),
    ("CONNECT_TIMEOUT_MS", "60000"),
    ("ATTEMPT_TIMEOUT_MS", "60000"),
    ("DEADLINE_MS", "300000"),
    ("TRUST_CONNECTION_TIMEOUT", "true"),
];

/// Returns the component, compiled once for all tests.
pub fn plugin() -> &'static Plugin {
    static PLUGIN: OnceLock<Plugin> = OnceLock::new();
    PLUGIN.get_or_init(|| load(component()))
}

/// Returns the component for each WASI, whichever is under test.
pub fn both_plugins() -> &'static [Plugin; 2] {
    static PLUGINS: OnceLock<[Plugin; 2]> = OnceLock::new();
    PLUGINS.get_or_init(|| [CLIENT, CLIENT_P3].map(load))
}

/// Returns the component in a file.
pub fn load(path: &str) -> Plugin {
    Plugin::load_with(path.as_ref(), &loading()).expect("the component")
}

/// Returns an instance's settings: these (names without the prefix), a base URL of this machine and
/// a token, this network, and the shortest possible pauses.
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

/// Returns an instance with these settings and this network.
pub async fn instance(settings: &[(&str, &str)], outgoing: Outgoing) -> Instance {
    let settings = self::settings(settings, outgoing);
    plugin().instantiate(settings).await.expect("an instance")
}

/// Returns an instance at this URL, with pauses of a millisecond, long limits and trusted connection
/// timeouts.
pub async fn instance_at(
    base_url: &str,
    settings: &[(&str, &str)],
    outgoing: Outgoing,
) -> Instance {
    let all = [&PATIENT[..], &[("BASE_URL", base_url)], settings].concat();
    instance(&all, outgoing).await
}

/// Returns a network to peers on loopback, with its own connections.
pub fn pooled() -> Outgoing {
    Outgoing::over(PooledNetwork::new(&Trust::default(), Reach::Loopback).expect("a network"))
}

/// Returns the result of a function. The host must neither fail nor hang: a quarter of an hour is
/// longer than any test, even in virtual time.
pub async fn returned<T>(call: impl Future<Output = anyhow::Result<T>>) -> T {
    let returned = tokio::time::timeout(Duration::from_secs(900), call).await;
    returned
        .expect("an end within a quarter of an hour")
        .expect("no failure of the host")
}

/// Creates the docket whose `external_id` is this number.
pub async fn create(
    instance: &mut Instance,
    number: usize,
) -> Result<CreatedDocketV2, RequestError> {
    returned(instance.create_docket_v2(&item(number), None)).await
}

/// Calls a function with valid arguments in an instance. For a batch of one, the result is that
/// item's.
pub async fn run_in(
    instance: &mut Instance,
    operation: Operation,
) -> Result<Answered, RequestError> {
    let results = returned(operation.call(instance, Arguments::default(), None)).await;
    let [result] = results.try_into().expect("one result");
    result
}

/// Calls a function in a new instance that is connected to a service in memory.
pub async fn run(
    script: &Script,
    operation: Operation,
    settings: &[(&str, &str)],
) -> Result<Answered, RequestError> {
    let mut instance = instance(settings, script.outgoing()).await;
    run_in(&mut instance, operation).await
}

/// Returns the times at which the requests were received.
pub fn sent_at_ms(script: &Script) -> Vec<u64> {
    script.sent().iter().map(|sent| sent.at_ms).collect()
}
