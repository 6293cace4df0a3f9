//! The subjects, which make the calls.

use super::component::{Component, Module};
use super::crowd::{Caller, Crowd, Gathering, What, watch};
use super::native::NativeClient;
use super::sender::NewConnections;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use voice_calling::Client;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{
    Allocation, CompiledCache, Loading, Outgoing, Plugin, Reach, Recorder, Sandbox, Trust,
};

const TOKEN: &str = "bench-token-0001";

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
    /// An engine without settings: the component for WASI 0.2, with a new instance for each call,
    /// no pools, and a new connection for each request.
    Engine,
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Subject::Native => "native",
            Subject::Rust => "rust",
            Subject::Reused => "0.2, reused",
            Subject::Fresh => "0.2, fresh",
            Subject::ReusedP3 => "0.3, reused",
            Subject::PeerReused => "wstd, reused",
            Subject::PeerFresh => "wstd, fresh",
            Subject::Engine => "0.2, engine's defaults",
        })
    }
}

/// Returns the file of another component, beside the one for WASI 0.2 with a suffix to its name.
pub(super) fn beside(component: &Path, ending: &str) -> PathBuf {
    let mut name = component.file_stem().unwrap_or_default().to_owned();
    name.push(ending);
    name.push(".wasm");
    component.with_file_name(name)
}

/// Compiles all components, so that measurements only load them.
pub(super) fn compile(component: &Path, cache: &CompiledCache) -> Result<()> {
    let compile = || -> Result<()> {
        for allocation in [Allocation::Pooling { instances: 1 }, Allocation::OnDemand] {
            let loading = loading(allocation, cache);
            Plugin::load_with(component, &loading)?;
            Plugin::load_with(&beside(component, "-p3"), &loading)?;
            Sandbox::load(&beside(component, "-peer"), &loading)?;
        }
        Ok(())
    };
    compile().context("`cargo xtask bench` builds everything that the bench needs, side by side")
}

pub(super) fn loading(allocation: Allocation, cache: &CompiledCache) -> Loading {
    Loading {
        allocation,
        cache: Some(cache.clone()),
    }
}

/// The set-up of a subject.
pub(super) struct Setup {
    component: PathBuf,
    pooling: Loading,
    on_demand: Loading,
    base_url: String,
    trust: Trust,
    in_flight: usize,
}

impl Setup {
    pub(super) fn new(gathering: &Gathering, trust: Trust) -> Result<Self> {
        let cache = CompiledCache::in_folder(&gathering.cache)?;
        let instances = u32::try_from(gathering.in_flight)?;
        Ok(Self {
            component: gathering.component.clone(),
            pooling: loading(Allocation::Pooling { instances }, &cache),
            on_demand: loading(Allocation::OnDemand, &cache),
            base_url: gathering.base_url.clone(),
            trust,
            in_flight: gathering.in_flight,
        })
    }

    /// Has a subject make the calls.
    pub(super) async fn watch(&self, subject: Subject, what: What) -> Result<Crowd> {
        match subject {
            Subject::Native => {
                let client = NativeClient::new(&self.base_url, TOKEN, &self.trust)?;
                watch(&client, self.in_flight, what).await
            }
            Subject::Rust => watch(&self.rust()?, self.in_flight, what).await,
            Subject::Reused => self.pooled(self.client("")?, true, what).await,
            Subject::Fresh => self.pooled(self.client("")?, false, what).await,
            Subject::ReusedP3 => self.pooled(self.client("-p3")?, true, what).await,
            Subject::PeerReused => self.pooled(self.peer()?, true, what).await,
            Subject::PeerFresh => self.pooled(self.peer()?, false, what).await,
            Subject::Engine => {
                let plugin = Plugin::load_with(&self.component, &self.on_demand)?;
                let outgoing = Outgoing {
                    reach: Reach::Loopback,
                    network: Arc::new(NewConnections(self.trust.clone())),
                    recorder: Recorder::with_limit(0),
                };
                let module = Module::Client(plugin);
                let component = Component::new(module, false, self.environment(), outgoing);
                watch(&Arc::new(component), self.in_flight, what).await
            }
        }
    }

    fn client(&self, ending: &str) -> Result<Module> {
        let file = beside(&self.component, ending);
        Ok(Module::Client(Plugin::load_with(&file, &self.pooling)?))
    }

    fn peer(&self) -> Result<Module> {
        let file = beside(&self.component, "-peer");
        Ok(Module::Peer(Sandbox::load(&file, &self.pooling)?))
    }

    /// Measures a component with pools of memory and connections.
    async fn pooled(&self, module: Module, is_reused: bool, what: What) -> Result<Crowd> {
        let outgoing = Outgoing {
            recorder: Recorder::with_limit(0),
            ..Outgoing::within(Reach::Loopback, &self.trust)?
        };
        let component = Component::new(module, is_reused, self.environment(), outgoing);
        watch(&Arc::new(component), self.in_flight, what).await
    }

    fn rust(&self) -> Result<Client> {
        let mut tls = self.trust.client()?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .build()?;
        let mut client = Client::builder().http_client(http);
        for (name, value) in self.environment() {
            client = client.setting(name.trim_start_matches(PREFIX), value);
        }
        Ok(client.build()?)
    }

    /// Returns the settings of an instance.
    fn environment(&self) -> Vec<(String, String)> {
        let in_flight = self.in_flight.to_string();
        let own = [
            ("BASE_URL", self.base_url.as_str()),
            ("API_TOKEN", TOKEN),
            ("MAX_IN_FLIGHT", &in_flight),
        ];
        let all = own.into_iter().chain(PATIENT);
        all.map(|(name, value)| (format!("{PREFIX}{name}"), value.to_owned()))
            .collect()
    }
}

impl Caller for NativeClient {
    async fn call(&self, batch: Option<usize>) -> Result<()> {
        ensure!(batch.is_none(), "it has no batches");
        let created = self.create_docket(&DOCKET).await?;
        let status = created.status.context("the docket has no status")?;
        ensure!(
            created.created == Some(true) && !status.is_empty() && !created.docket_id.is_empty(),
            "nothing was created"
        );
        Ok(())
    }
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
