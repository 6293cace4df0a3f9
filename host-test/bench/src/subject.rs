//! Who makes the calls.

use super::load::Caller;
use super::native::NativeClient;
use super::peer::Peer;
use super::sender::{DefaultSender, NewConnections};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use voice_calling::Client;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{
    Allocation, CompiledCache, Instance, InstanceSettings, Loading, Network, Outgoing, Plugin,
    Reach, Recorder, Sandbox, Trust,
};

const TOKEN: &str = "bench-token-0001";

/// What the names of all settings begin with.
const PREFIX: &str = "VOICE_CALLING_";

/// Settings for thousands of connections that are opened at once: a machine needs time for that,
/// and an attempt that is repeated would not be a call like the others.
const PATIENT: [(&str, &str); 3] = [
    ("DEADLINE_MS", "120000"),
    ("ATTEMPT_TIMEOUT_MS", "60000"),
    ("CONNECT_TIMEOUT_MS", "45000"),
];

/// Who makes the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A client written in Rust without a component.
    Native,
    /// The client for Rust programs.
    Rust,
    /// The component for WASI 0.2, an instance for each call in flight, used again and again.
    Reused,
    /// The same, a new instance for each call.
    Fresh,
    /// The component for WASI 0.3, in the same way as [`Subject::Reused`].
    ReusedP3,
    /// A component for WASI 0.2 written with wstd, instances used again.
    PeerReused,
    /// The same, a new instance for each call.
    PeerFresh,
    /// What an engine does that sets nothing: the component for WASI 0.2, a new instance for each
    /// call, not pooled, and a new connection for each request.
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

/// The components, one beside the other.
pub(super) struct Files {
    /// For WASI 0.2. The others lie beside it, with an ending behind its name.
    pub(super) component: PathBuf,
}

impl Files {
    pub(super) fn p3(&self) -> PathBuf {
        self.beside("-p3")
    }

    pub(super) fn sans_io(&self) -> PathBuf {
        self.beside("-sans-io")
    }

    pub(super) fn peer(&self) -> PathBuf {
        self.beside("-peer")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.component.file_stem().unwrap_or_default().to_owned();
        name.push(ending);
        name.push(".wasm");
        self.component.with_file_name(name)
    }
}

/// What makes the subjects.
pub(super) struct Subjects {
    pub(super) files: Files,
    pub(super) cache: CompiledCache,
    pub(super) base_url: String,
    /// Who vouches for the service.
    pub(super) trust: Trust,
    /// How many calls are in flight.
    pub(super) in_flight: u32,
}

impl Subjects {
    /// Compiles all, so that what is measured only reads it.
    pub(super) fn compile(files: &Files, cache: &CompiledCache) -> Result<()> {
        for allocation in [Allocation::Pooling { instances: 1 }, Allocation::OnDemand] {
            Plugin::load_with(&files.component, &loading(allocation, cache))?;
            Sandbox::load(&files.peer(), &loading(allocation, cache))?;
        }
        let pooling = Allocation::Pooling { instances: 1 };
        Plugin::load_with(&files.p3(), &loading(pooling, cache))?;
        Ok(())
    }

    fn pooling(&self) -> Loading {
        let instances = self.in_flight;
        loading(Allocation::Pooling { instances }, &self.cache)
    }

    /// Of an engine that sets nothing.
    fn on_demand(&self) -> Loading {
        loading(Allocation::OnDemand, &self.cache)
    }

    fn pooled_connections(&self) -> Result<Outgoing> {
        Ok(Outgoing {
            recorder: Recorder::keeping(0),
            ..Outgoing::within(Reach::Loopback, &self.trust)?
        })
    }

    pub(super) fn native(&self) -> Result<Native> {
        Ok(Native {
            client: NativeClient::new(&self.base_url, TOKEN, &self.trust)?,
            docket: Arc::new(docket()),
        })
    }

    pub(super) fn rust(&self) -> Result<Rust> {
        let mut tls = self.trust.client()?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .build()?;
        let settings = environment(&self.base_url, self.in_flight).into_iter();
        let client = settings.fold(Client::builder(), |builder, (name, value)| {
            builder.setting(name.trim_start_matches(PREFIX), value)
        });
        Ok(Rust {
            client: client.http_client(http).build()?,
            docket: Arc::new(docket()),
        })
    }

    pub(super) fn pool(&self, isolation: Isolation) -> Result<Pooled> {
        self.pool_of(&self.files.component, isolation)
    }

    pub(super) fn pool_p3(&self) -> Result<Pooled> {
        self.pool_of(&self.files.p3(), Isolation::Reused)
    }

    fn pool_of(&self, component: &Path, isolation: Isolation) -> Result<Pooled> {
        let outgoing = self.pooled_connections()?;
        self.pooled(component, &self.pooling(), isolation, outgoing)
    }

    pub(super) fn engine(&self) -> Result<Pooled> {
        // wasmtime-wasi-http trusts public authorities alone: over TLS its steps are taken with
        // our own.
        let network: Arc<dyn Network> = match &self.trust {
            Trust::Public => Arc::new(DefaultSender),
            trust => Arc::new(NewConnections {
                trust: trust.clone(),
            }),
        };
        let outgoing = Outgoing {
            reach: Reach::Loopback,
            network,
            recorder: Recorder::keeping(0),
        };
        let component = &self.files.component;
        self.pooled(component, &self.on_demand(), Isolation::EachCall, outgoing)
    }

    fn pooled(
        &self,
        component: &Path,
        loading: &Loading,
        isolation: Isolation,
        outgoing: Outgoing,
    ) -> Result<Pooled> {
        let plugin = Plugin::load_with(component, loading)?;
        let environment = environment(&self.base_url, self.in_flight);
        Ok(Pooled(Arc::new(Instances {
            plugin,
            isolation,
            environment,
            outgoing,
            idle: Mutex::default(),
            docket: docket(),
        })))
    }

    pub(super) fn peer(&self, isolation: Isolation) -> Result<Peer> {
        let sandbox = Sandbox::load(&self.files.peer(), &self.pooling())?;
        let environment = environment(&self.base_url, self.in_flight);
        let outgoing = self.pooled_connections()?;
        let settings = move || InstanceSettings::new(environment.clone(), outgoing.clone());
        Ok(Peer::new(sandbox, isolation, settings, docket()))
    }
}

pub(super) fn loading(allocation: Allocation, cache: &CompiledCache) -> Loading {
    Loading {
        allocation,
        cache: Some(cache.clone()),
    }
}

/// Whether each call has an instance of its own, or instances are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isolation {
    EachCall,
    Reused,
}

/// The docket that is created, again and again.
pub(super) fn docket() -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 42,
        to_phone_number: "919876543210".to_owned(),
        call_context:
            r#"{"name":"Asha","due":"2026-12-01","amount":4999.50,"policy":"P-1827","language":"hi"}"#
                .to_owned(),
        external_id: Some("crm-1827".to_owned()),
        extra: None,
    }
}

/// The settings of an instance with so many calls in flight.
pub(super) fn environment(base_url: &str, in_flight: u32) -> Vec<(String, String)> {
    let in_flight = in_flight.to_string();
    let mut environment = vec![
        (format!("{PREFIX}BASE_URL"), base_url.to_owned()),
        (format!("{PREFIX}API_TOKEN"), TOKEN.to_owned()),
    ];
    for (name, value) in [("MAX_IN_FLIGHT", in_flight.as_str())]
        .into_iter()
        .chain(PATIENT)
    {
        environment.push((format!("{PREFIX}{name}"), value.to_owned()));
    }
    environment
}

#[derive(Clone)]
pub(super) struct Native {
    client: NativeClient,
    docket: Arc<DocketRequestV2>,
}

impl Caller for Native {
    async fn call(&self) -> Result<()> {
        let created = self.client.create_docket(&self.docket).await?;
        let status = created.status.context("the docket has no status")?;
        ensure!(
            created.created == Some(true) && !status.is_empty() && !created.docket_id.is_empty(),
            "nothing was created"
        );
        Ok(())
    }
}

#[derive(Clone)]
pub(super) struct Rust {
    client: Client,
    docket: Arc<DocketRequestV2>,
}

/// A docket as the client for Rust takes it.
fn request(docket: &DocketRequestV2) -> voice_calling::DocketRequestV2 {
    let DocketRequestV2 {
        agent_id,
        to_phone_number,
        call_context,
        external_id,
        extra,
    } = docket.clone();
    voice_calling::DocketRequestV2 {
        agent_id,
        to_phone_number,
        call_context,
        external_id,
        extra,
    }
}

impl Caller for Rust {
    async fn call(&self) -> Result<()> {
        let created = self.client.create_docket_v2(&request(&self.docket)).await?;
        ensure!(created.created == Some(true), "nothing was created");
        Ok(())
    }

    async fn call_batch(&self, size: usize) -> Result<()> {
        let dockets = vec![request(&self.docket); size];
        let mut batch = self
            .client
            .create_dockets_v2(dockets, Duration::from_mins(1))?;
        let mut created = 0;
        while let Some((_, result)) = batch.next().await {
            result?;
            created += 1;
        }
        ensure_all(created, size)
    }
}

/// A component, one call at a time on an instance.
#[derive(Clone)]
pub(super) struct Pooled(Arc<Instances>);

struct Instances {
    plugin: Plugin,
    isolation: Isolation,
    environment: Vec<(String, String)>,
    outgoing: Outgoing,
    idle: Mutex<Vec<Instance>>,
    docket: DocketRequestV2,
}

impl Instances {
    fn idle(&self) -> MutexGuard<'_, Vec<Instance>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn instance(&self) -> Result<Instance> {
        let idle = self.idle().pop();
        if let Some(idle) = idle {
            return Ok(idle);
        }
        let settings = InstanceSettings::new(self.environment.clone(), self.outgoing.clone());
        self.plugin.instantiate(settings).await
    }

    fn give_back(&self, instance: Instance) {
        if self.isolation == Isolation::Reused {
            self.idle().push(instance);
        }
    }
}

impl Caller for Pooled {
    async fn call(&self) -> Result<()> {
        let mut instance = self.0.instance().await?;
        match instance.create_docket_v2(&self.0.docket, None).await? {
            Ok(created) => ensure!(created.created == Some(true), "nothing was created"),
            Err(error) => bail!("the component fails: {error:?}"),
        }
        self.0.give_back(instance);
        Ok(())
    }

    async fn call_batch(&self, size: usize) -> Result<()> {
        let dockets = vec![docket(); size];
        let mut instance = self.0.instance().await?;
        match instance.create_dockets_v2(&dockets, 60_000, None).await? {
            Ok(created) => ensure_all(created.iter().filter(|it| it.is_ok()).count(), size)?,
            Err(error) => bail!("the component fails: {error:?}"),
        }
        self.0.give_back(instance);
        Ok(())
    }
}

fn ensure_all(created: usize, size: usize) -> Result<()> {
    ensure!(created == size, "{created} of {size} dockets were created");
    Ok(())
}

/// A component's file must be there and of its kind.
pub(super) fn check(component: &Path, kind: voice_calling_host::GuestKind) -> Result<()> {
    let wasm = std::fs::read(component).with_context(|| {
        format!(
            "cannot read {} (`cargo xtask bench` builds everything that the bench needs, side by side)",
            component.display()
        )
    })?;
    let found = voice_calling_host::GuestKind::of(&wasm);
    ensure!(
        found == kind,
        "{} is a component for {found}; expected one for {kind}: name the one for WASI 0.2, and the bench finds the others beside it",
        component.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_components_lie_beside_the_one_that_is_given() {
        let files = Files {
            component: "target/voice-calling.wasm".into(),
        };
        let beside = [files.p3(), files.peer()];
        assert_eq!(
            beside,
            [
                "target/voice-calling-p3.wasm",
                "target/voice-calling-peer.wasm"
            ]
            .map(PathBuf::from)
        );
    }
}
