//! The subjects, which make the calls.

use super::component::{Component, Module};
use super::load::{Caller, Load};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use voice_calling::Client;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{
    Allocation, Loading, Outgoing, Plugin, Reach, Recorder, Sandbox, Trust, cache_in,
};

pub(super) const TOKEN: &str = "bench-token-0001";

/// The prefix of the names of all settings.
const PREFIX: &str = "VOICE_CALLING_";

/// Settings for thousands of connections that are opened at once: a machine needs time for that,
/// and a retry would distort the measurement.
const PATIENT: [(&str, &str); 3] = [
    ("DEADLINE_MS", "120000"),
    ("ATTEMPT_TIMEOUT_MS", "60000"),
    ("CONNECT_TIMEOUT_MS", "45000"),
];

/// The docket of every call.
pub(super) static DOCKET: LazyLock<DocketRequestV2> = LazyLock::new(|| DocketRequestV2 {
    agent_id: 42,
    to_phone_number: "919876543210".to_owned(),
    call_context:
        r#"{"name":"Asha","due":"2026-12-01","amount":4999.50,"policy":"P-1827","language":"hi"}"#
            .to_owned(),
    external_id: Some("crm-1827".to_owned()),
    extra: None,
});

/// A subject, which makes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A client written in Rust without a component.
    Native,
    /// The client for Rust programs.
    Rust,
    /// The component for WASI 0.2, with reused instances, one for each call in flight.
    Reused,
    /// The component for WASI 0.2, with a new instance for each call.
    Fresh,
    /// The component for WASI 0.3, used as in [`Subject::Reused`].
    ReusedP3,
    /// A component for WASI 0.2 written with wstd, with reused instances.
    PeerReused,
    /// The component written with wstd, with a new instance for each call.
    PeerFresh,
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Subject::Native => "native",
            Subject::Rust => "rust",
            Subject::Reused => "0.2, reused",
            Subject::Fresh => "0.2, fresh",
            Subject::ReusedP3 => "0.3, reused",
            Subject::PeerReused => "wstd, reused",
            Subject::PeerFresh => "wstd, fresh",
        })
    }
}

/// Returns the file of another component, beside the one for WASI 0.2 with a suffix to its name.
fn beside(component: &Path, ending: &str) -> PathBuf {
    let mut name = component.file_stem().unwrap_or_default().to_owned();
    name.push(ending);
    name.push(".wasm");
    component.with_file_name(name)
}

/// Compiles all components into the cache, so that loads only read them.
pub(super) fn compile(component: &Path, cache: &Path) -> Result<()> {
    for ending in ["", "-p3", "-peer"] {
        let loading = loading(Allocation::Pooling { instances: 1 }, cache)?;
        Sandbox::load(&beside(component, ending), &loading)
            .context("`cargo xtask bench` builds everything that the bench needs, side by side")?;
    }
    Ok(())
}

fn loading(allocation: Allocation, cache: &Path) -> Result<Loading> {
    let cache = Some(cache_in(cache)?);
    Ok(Loading { allocation, cache })
}

/// Returns the component that a load is for.
pub(super) fn component(load: &Load) -> Result<Arc<Component>> {
    let (ending, is_reused) = match load.subject {
        Subject::ReusedP3 => ("-p3", true),
        Subject::PeerReused => ("-peer", true),
        Subject::PeerFresh => ("-peer", false),
        subject => ("", subject == Subject::Reused),
    };
    let instances = u32::try_from(load.in_flight)?;
    let loading = loading(Allocation::Pooling { instances }, &load.cache)?;
    let file = beside(&load.component, ending);
    let module = match ending {
        "-peer" => Module::Peer(Sandbox::load(&file, &loading)?),
        _ => Module::Client(Plugin::load_with(&file, &loading)?),
    };
    let outgoing = Outgoing {
        recorder: Recorder::with_limit(0),
        ..Outgoing::within(Reach::Loopback, &Trust::Public)?
    };
    let component = Component::new(module, is_reused, environment(load), outgoing);
    Ok(Arc::new(component))
}

/// Returns the settings of a subject.
fn environment(load: &Load) -> Vec<(String, String)> {
    let in_flight = load.in_flight.to_string();
    let own = [
        ("BASE_URL", load.base_url.as_str()),
        ("API_TOKEN", TOKEN),
        ("MAX_IN_FLIGHT", &in_flight),
    ];
    let all = own.into_iter().chain(PATIENT);
    all.map(|(name, value)| (format!("{PREFIX}{name}"), value.to_owned()))
        .collect()
}

/// Returns the client for Rust programs.
pub(super) fn rust(load: &Load) -> Result<Client> {
    let http = reqwest::Client::builder()
        .tls_backend_preconfigured(Trust::Public.client()?)
        .no_proxy();
    let mut client = Client::builder().http_client(http);
    for (name, value) in environment(load) {
        client = client.setting(name.trim_start_matches(PREFIX), value);
    }
    Ok(client.build()?)
}

/// Returns the docket as the client for Rust accepts it.
fn request() -> voice_calling::DocketRequestV2 {
    let DocketRequestV2 {
        agent_id,
        to_phone_number,
        call_context,
        external_id,
        extra,
    } = DOCKET.clone();
    voice_calling::DocketRequestV2 {
        agent_id,
        to_phone_number,
        call_context,
        external_id,
        extra,
    }
}

impl Caller for Client {
    async fn call(&self, batch: Option<usize>) -> Result<()> {
        let Some(size) = batch else {
            let created = self.create_docket_v2(&request()).await?;
            ensure!(created.created == Some(true), "nothing was created");
            return Ok(());
        };
        let mut batch = self.create_dockets_v2(vec![request(); size], Duration::from_mins(1))?;
        let mut created = 0;
        while let Some((_, result)) = batch.next().await {
            result?;
            created += 1;
        }
        ensure!(created == size, "{created} of {size} dockets were created");
        Ok(())
    }
}
