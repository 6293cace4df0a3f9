//! Who makes the calls.

use super::load::Caller;
use super::native::NativeClient;
use super::peer::Peer;
use super::sender::{DefaultSender, NewConnections};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use voice_calling_host::calls::shared::SharedInstance;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{
    Allocation, Client, CompiledCache, InstanceSettings, Isolation, Loading, Network, Outgoing,
    Plugin, Pool, PooledNetwork, Reach, Recorder, Sandbox, TRUST_CONNECTION_TIMEOUT, Trust,
};

const TOKEN: &str = "bench-token-0001";

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
    /// A [`Client`] on the component for steps.
    Steps,
    /// The component for WASI 0.2, an instance for each call in flight, used again and again.
    Reused,
    /// The same, a new instance for each call.
    Fresh,
    /// The component for WASI 0.3, one instance for all calls.
    Shared,
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
            Subject::Steps => "steps",
            Subject::Reused => "0.2, reused",
            Subject::Fresh => "0.2, fresh",
            Subject::Shared => "0.3, shared",
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
    pub(super) fn concurrent(&self) -> PathBuf {
        self.beside("-p3")
    }

    pub(super) fn steps(&self) -> PathBuf {
        self.beside("-steps")
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
        let on_demand = loading(Allocation::OnDemand, cache);
        Plugin::load_with(&files.concurrent(), &on_demand)?;
        Plugin::load_with(&files.steps(), &on_demand)?;
        Ok(())
    }

    fn pooling(&self) -> Loading {
        let instances = self.in_flight;
        loading(Allocation::Pooling { instances }, &self.cache)
    }

    /// Of one instance there is nothing to pool; and of an engine that sets nothing.
    fn on_demand(&self) -> Loading {
        loading(Allocation::OnDemand, &self.cache)
    }

    fn pooled_connections(&self) -> Result<Outgoing> {
        self.outgoing(Arc::new(PooledNetwork::trusting(
            &self.trust,
            Reach::Loopback,
        )?))
    }

    fn outgoing(&self, network: Arc<dyn Network>) -> Result<Outgoing> {
        Ok(Outgoing {
            reach: Reach::Loopback,
            network,
            recorder: Recorder::keeping_nothing(),
        })
    }

    fn settings(&self, outgoing: Outgoing) -> InstanceSettings {
        InstanceSettings::new(environment(&self.base_url, self.in_flight), outgoing)
    }

    pub(super) fn native(&self) -> Result<Native> {
        Ok(Native {
            client: NativeClient::new(&self.base_url, TOKEN, &self.trust)?,
            docket: Arc::new(docket()),
        })
    }

    pub(super) fn steps(&self) -> Result<Steps> {
        let plugin = Plugin::load_with(&self.files.steps(), &self.on_demand())?;
        Ok(Steps {
            client: plugin.client(self.settings(self.pooled_connections()?))?,
            docket: Arc::new(docket()),
        })
    }

    pub(super) async fn shared(&self) -> Result<Shared> {
        let plugin = Plugin::load_with(&self.files.concurrent(), &self.on_demand())?;
        let settings = self.settings(self.pooled_connections()?);
        Ok(Shared {
            instance: plugin.share(settings).await?,
            docket: Arc::new(docket()),
        })
    }

    pub(super) fn pool(&self, isolation: Isolation) -> Result<Pooled> {
        self.pooled(&self.pooling(), isolation, self.pooled_connections()?)
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
        let outgoing = self.outgoing(network)?;
        self.pooled(&self.on_demand(), Isolation::EachCall, outgoing)
    }

    fn pooled(
        &self,
        loading: &Loading,
        isolation: Isolation,
        outgoing: Outgoing,
    ) -> Result<Pooled> {
        let plugin = Plugin::load_with(&self.files.component, loading)?;
        let environment = environment(&self.base_url, self.in_flight);
        let pool = Pool::new(plugin, self.in_flight, isolation, move || {
            InstanceSettings::new(environment.clone(), outgoing.clone())
        });
        Ok(Pooled {
            pool: Arc::new(pool),
            docket: Arc::new(docket()),
        })
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

/// Instances that are used again for as long as they are sound.
pub(super) const REUSED: Isolation = Isolation::Reused {
    calls: NonZeroU32::MAX,
};

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
        ("VOICE_CALLING_BASE_URL".to_owned(), base_url.to_owned()),
        ("VOICE_CALLING_API_TOKEN".to_owned(), TOKEN.to_owned()),
    ];
    let (name, value) = TRUST_CONNECTION_TIMEOUT;
    environment.push((name.to_owned(), value.to_owned()));
    for (name, value) in [("MAX_IN_FLIGHT", in_flight.as_str())]
        .into_iter()
        .chain(PATIENT)
    {
        environment.push((format!("VOICE_CALLING_{name}"), value.to_owned()));
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
pub(super) struct Steps {
    client: Client,
    docket: Arc<DocketRequestV2>,
}

impl Caller for Steps {
    async fn call(&self) -> Result<()> {
        match self.client.create_docket_v2(&self.docket, None).await? {
            Ok(created) => ensure!(created.created == Some(true), "nothing was created"),
            Err(error) => bail!("the component fails: {error:?}"),
        }
        Ok(())
    }

    async fn call_batch(&self, size: usize) -> Result<()> {
        let dockets = vec![docket(); size];
        match self
            .client
            .create_dockets_v2(&dockets, 60_000, None)
            .await?
        {
            Ok(created) => ensure_all(created.iter().filter(|it| it.is_ok()).count(), size),
            Err(error) => bail!("the component fails: {error:?}"),
        }
    }
}

#[derive(Clone)]
pub(super) struct Shared {
    instance: SharedInstance,
    docket: Arc<DocketRequestV2>,
}

impl Caller for Shared {
    async fn call(&self) -> Result<()> {
        match self.instance.create_docket_v2(&self.docket, None).await? {
            Ok(created) => ensure!(created.created == Some(true), "nothing was created"),
            Err(error) => bail!("the component fails: {error:?}"),
        }
        Ok(())
    }
}

/// The component for WASI 0.2, one call at a time on an instance.
#[derive(Clone)]
pub(super) struct Pooled {
    pool: Arc<Pool>,
    docket: Arc<DocketRequestV2>,
}

impl Caller for Pooled {
    async fn call(&self) -> Result<()> {
        let mut instance = self.pool.instance().await?;
        match instance.create_docket_v2(&self.docket, None).await? {
            Ok(created) => ensure!(created.created == Some(true), "nothing was created"),
            Err(error) => bail!("the component fails: {error:?}"),
        }
        Ok(())
    }

    async fn call_batch(&self, size: usize) -> Result<()> {
        let dockets = vec![docket(); size];
        let mut instance = self.pool.instance().await?;
        match instance.create_dockets_v2(&dockets, 60_000, None).await? {
            Ok(created) => ensure_all(created.iter().filter(|it| it.is_ok()).count(), size),
            Err(error) => bail!("the component fails: {error:?}"),
        }
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
        let beside = [files.concurrent(), files.steps(), files.peer()];
        assert_eq!(
            beside,
            [
                "target/voice-calling-p3.wasm",
                "target/voice-calling-steps.wasm",
                "target/voice-calling-peer.wasm"
            ]
            .map(PathBuf::from)
        );
    }
}
