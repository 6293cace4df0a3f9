//! What a test needs: the component, and what its instances get.

use crate::compiled::{component_path, loading};
use std::sync::OnceLock;
use voice_calling_check::operation::item;
use voice_calling_check::script::{Script, Step};
use voice_calling_host::types::{CreatedDocketV2, DocketRequestV2, RequestError};
use voice_calling_host::{Allocation, Instance, InstanceSettings, Loading, Outgoing, Plugin};

pub const TOKEN: &str = "embedding-token-0001";

/// An answer that satisfies who creates a docket.
pub const CREATED: &str =
    r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"OPEN","created":true}"#;

/// The component, compiled once for all tests that allocate on demand.
pub fn plugin() -> Plugin {
    static PLUGIN: OnceLock<Plugin> = OnceLock::new();
    PLUGIN.get_or_init(|| load(Allocation::OnDemand)).clone()
}

/// The component with room for so many instances. Each test has its own: how much room is
/// left is what it is about.
pub fn pooling(instances: u32) -> Plugin {
    load(Allocation::Pooling { instances })
}

pub const WASI_0_2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/voice-calling.wasm");

pub const WASI_0_3: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../target/voice-calling-p3.wasm"
);

/// The component for WASI 0.3.
pub fn plugin_v0_3() -> Plugin {
    static PLUGIN: OnceLock<Plugin> = OnceLock::new();
    let load =
        || Plugin::load_with(WASI_0_3.as_ref(), &loading()).expect("the component for WASI 0.3");
    PLUGIN.get_or_init(load).clone()
}

fn load(allocation: Allocation) -> Plugin {
    let loading = Loading {
        allocation,
        ..loading()
    };
    Plugin::load_with(&component_path(), &loading).expect("the component")
}

/// What an instance gets that talks to this address: pauses are as short as they can be.
pub fn settings_for(base_url: &str, outgoing: Outgoing) -> InstanceSettings {
    let environment = [
        ("VOICE_CALLING_BASE_URL", base_url),
        ("VOICE_CALLING_API_TOKEN", TOKEN),
        ("VOICE_CALLING_BACKOFF_MS", "1"),
        ("VOICE_CALLING_MAX_BACKOFF_MS", "1"),
        ("VOICE_CALLING_TRUST_CONNECTION_TIMEOUT", "true"),
    ];
    let mut settings = InstanceSettings::new(environment, outgoing);
    settings.randomness = Some(vec![0]);
    settings
}

/// The same for a service that is not on the network.
pub fn settings(outgoing: Outgoing) -> InstanceSettings {
    settings_for("http://127.0.0.1", outgoing)
}

/// The same with room for so many open requests.
pub fn with_places(outgoing: Outgoing, places: usize) -> InstanceSettings {
    let mut settings = settings(outgoing);
    let name = "VOICE_CALLING_MAX_IN_FLIGHT".to_owned();
    settings.environment.push((name, places.to_string()));
    settings
}

/// A service in memory that creates every docket after so many milliseconds.
pub fn creating_after_ms(after_ms: u64) -> Script {
    Script::new([Step::ok(CREATED).after_ms(after_ms)])
}

/// Creates the docket that has this number as its `external_id`. The host must not fail.
pub async fn create(
    instance: &mut Instance,
    number: usize,
) -> Result<CreatedDocketV2, RequestError> {
    let created = instance.create_docket_v2(&item(number), None).await;
    created.expect("no failure of the host")
}

/// A docket with a large context: as large as a request may be, nearly.
pub fn large() -> DocketRequestV2 {
    DocketRequestV2 {
        call_context: format!(r#"{{"note":"{}"}}"#, "x".repeat(1_000_000)),
        ..item(0)
    }
}
