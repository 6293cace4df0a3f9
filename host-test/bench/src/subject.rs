//! The subjects, which make the calls.

use super::component::Component;
use super::load::{Caller, Load};
use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use strum::{Display, VariantArray};
use voice_calling::Client;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{
    Allocation, Loading, Outgoing, Plugin, PooledNetwork, Reach, Trust, cache_in,
};

pub(super) const TOKEN: &str = "bench-token-0001";

/// The prefix of the names of all settings.
const PREFIX: &str = "VOICE_CALLING_";

/// The docket of every call.
pub(super) static DOCKET: LazyLock<DocketRequestV2> = LazyLock::new(docket);

/// The same for the client for Rust programs.
static DOCKET_FOR_RUST: LazyLock<voice_calling::DocketRequestV2> = LazyLock::new(docket);

fn docket<R: DeserializeOwned>() -> R {
    let docket = json!({
        "agent_id": 42,
        "to_phone_number": "919876543210",
        "call_context": r#"{"name":"Asha","due":"2026-12-01","amount":4999.50,"policy":"P-1827","language":"hi"}"#,
        "external_id": "crm-1827",
    });
    serde_json::from_value(docket).expect("a record")
}

/// A subject, which makes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Display, Serialize, VariantArray)]
pub enum Subject {
    /// A client written in Rust without a component: the baseline.
    #[strum(to_string = "native")]
    Native,
    /// The client for Rust programs.
    #[strum(to_string = "rust")]
    Rust,
    /// The component for WASI 0.2, with reused instances, one for each call in flight.
    #[strum(to_string = "0.2, reused")]
    Reused,
    /// The component for WASI 0.2, with a new instance for each call.
    #[strum(to_string = "0.2, fresh")]
    Fresh,
    /// The component for WASI 0.3, used as in [`Subject::Reused`].
    #[strum(to_string = "0.3, reused")]
    ReusedP3,
}

/// Returns the component for WASI 0.3, which is beside the one for WASI 0.2.
fn for_p3(component: &Path) -> PathBuf {
    let mut name = component.file_stem().unwrap_or_default().to_owned();
    name.push("-p3.wasm");
    component.with_file_name(name)
}

/// Compiles both components into the cache, so that loads only read them.
pub(super) fn compile(component: &Path, cache: &Path) -> Result<()> {
    for file in [component, &for_p3(component)] {
        Plugin::load_with(file, &loading(1, cache)?)
            .context("`cargo xtask bench` builds everything that the bench needs, side by side")?;
    }
    Ok(())
}

fn loading(instances: u32, cache: &Path) -> Result<Loading> {
    Ok(Loading {
        allocation: Allocation::Pooling { instances },
        cache: Some(cache_in(cache)?),
    })
}

/// Returns the component that a load is for.
pub(super) fn component(load: &Load) -> Result<Arc<Component>> {
    let file = match load.subject {
        Subject::ReusedP3 => &for_p3(&load.component),
        _ => &load.component,
    };
    let loading = loading(u32::try_from(load.in_flight)?, &load.cache)?;
    Ok(Arc::new(Component {
        plugin: Plugin::load_with(file, &loading)?,
        is_reused: load.subject != Subject::Fresh,
        environment: environment(load),
        outgoing: Outgoing::over(PooledNetwork::new(&Trust::default(), Reach::Loopback)?),
        idle: Mutex::default(),
    }))
}

/// Returns the settings of a subject.
fn environment(load: &Load) -> Vec<(String, String)> {
    let in_flight = load.in_flight.to_string();
    let settings = [
        ("BASE_URL", load.base_url.as_str()),
        ("API_TOKEN", TOKEN),
        ("MAX_IN_FLIGHT", &in_flight),
    ];
    let variable = |(name, value): (&str, &str)| (format!("{PREFIX}{name}"), value.to_owned());
    settings.map(variable).into()
}

/// Returns the client for Rust programs.
pub(super) fn rust(load: &Load) -> Result<Client> {
    let mut client = Client::builder().no_proxy();
    for (name, value) in environment(load) {
        client = client.setting(name.trim_start_matches(PREFIX), value);
    }
    Ok(client.build()?)
}

impl Caller for Client {
    async fn call(&self) -> Result<()> {
        let created = self.create_docket_v2(&DOCKET_FOR_RUST).await?;
        ensure!(created.created == Some(true), "nothing was created");
        Ok(())
    }
}
