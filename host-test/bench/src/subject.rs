//! The subjects, which make the calls.

use super::component::{Component, Module};
use super::load::{Caller, Load};
use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use strum::{Display, VariantArray};
use tempfile::TempDir;
use voice_calling::{Builder, Client, Ledger};
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{
    Allocation, Loading, Outgoing, Plugin, PooledNetwork, Reach, Sandbox, Trust, cache_in,
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
pub(super) enum Subject {
    /// A client written in Rust without a component: the baseline.
    #[strum(to_string = "native")]
    Native,
    /// A client written in Rust on reqwest, with retries.
    #[strum(to_string = "reqwest")]
    Reqwest,
    /// The client for Rust programs.
    #[strum(to_string = "rust")]
    Rust,
    /// The client for Rust programs, with a key for each call in a ledger of its own.
    #[strum(to_string = "rust, with keys")]
    RustKeyed,
    /// The component for WASI 0.2, with reused instances, one for each call in flight.
    #[strum(to_string = "0.2, reused")]
    Reused,
    /// The component for WASI 0.2, with a new instance for each call.
    #[strum(to_string = "0.2, fresh")]
    Fresh,
    /// The component for WASI 0.3, used as in [`Subject::Reused`].
    #[strum(to_string = "0.3, reused")]
    ReusedP3,
    /// A component for WASI 0.2 with this one operation, written with wstd, used as in
    /// [`Subject::Reused`].
    #[strum(to_string = "wstd, reused")]
    WstdReused,
    /// The component written with wstd, used as in [`Subject::Fresh`].
    #[strum(to_string = "wstd, fresh")]
    WstdFresh,
}

/// What the names of the components end in.
const P2: &str = ".wasm";
const P3: &str = "-p3.wasm";
const WSTD: &str = "-wstd.wasm";

/// Returns the file of a component, which is beside the one for WASI 0.2.
fn beside(component: &Path, ending: &str) -> PathBuf {
    let mut name = component.file_stem().unwrap_or_default().to_owned();
    name.push(ending);
    component.with_file_name(name)
}

/// Compiles all components into the cache, so that loads only read them.
pub(super) fn compile(component: &Path, cache: &Path) -> Result<()> {
    for ending in [P2, P3, WSTD] {
        Sandbox::load(&beside(component, ending), &loading(1, cache)?)
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
    let loading = loading(u32::try_from(load.in_flight)?, &load.cache)?;
    let client = |ending| Plugin::load_with(&beside(&load.component, ending), &loading);
    let module = match load.subject {
        Subject::WstdReused | Subject::WstdFresh => {
            Module::Wstd(Sandbox::load(&beside(&load.component, WSTD), &loading)?)
        }
        Subject::ReusedP3 => Module::Client(client(P3)?),
        _ => Module::Client(client(P2)?),
    };
    Ok(Arc::new(Component {
        module,
        is_reused: !matches!(load.subject, Subject::Fresh | Subject::WstdFresh),
        environment: environment(load),
        outgoing: Outgoing::over(PooledNetwork::new(&Trust::default(), Reach::Loopback)?),
        idle: Mutex::default(),
    }))
}

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

/// Returns the builder of the client for Rust programs.
pub(super) fn rust(load: &Load) -> Builder {
    let mut client = Client::builder().no_proxy();
    for (name, value) in environment(load) {
        client = client.setting(name.trim_start_matches(PREFIX), value);
    }
    client
}

impl Caller for Client {
    async fn call(&self) -> Result<()> {
        let created = self.create_docket_v2(&DOCKET_FOR_RUST).await?;
        ensure!(created.created == Some(true), "nothing was created");
        Ok(())
    }
}

/// The client for Rust programs with a ledger.
#[derive(Clone)]
pub(super) struct Keyed {
    client: Client,
    /// The number of keys so far.
    keys: Arc<AtomicUsize>,
    _folder: Arc<TempDir>,
}

impl Keyed {
    pub(super) fn new(builder: Builder) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder for the ledger")?;
        let ledger = Ledger::open(folder.path().join("calls.db"))?;
        Ok(Self {
            client: builder.ledger(ledger).build()?,
            keys: Arc::default(),
            _folder: Arc::new(folder),
        })
    }
}

impl Caller for Keyed {
    async fn call(&self) -> Result<()> {
        let key = self.keys.fetch_add(1, Ordering::Relaxed);
        self.client.with_key(format!("contact-{key}")).call().await
    }
}
