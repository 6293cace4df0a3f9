//! Who makes the calls: the component in the harness, or the native client.

use super::load::Caller;
use super::native::NativeClient;
use super::sender::{DefaultSender, NewConnections};
use anyhow::{Context, Result, bail, ensure};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use voice_calling_host::calls::shared::SharedInstance;
use voice_calling_host::load::cache::CompiledCache;
use voice_calling_host::load::plugin::Plugin;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{
    Allocation, Client, Isolation, Network, Outgoing, Pool, PooledNetwork, Reach, Recorder,
    TRUST_CONNECTION_TIMEOUT, Trust,
};
use voice_calling_host::{InstanceSettings, Loading};

const TOKEN: &str = "bench-token-0001";

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

/// How requests leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connections {
    /// The harness's pool.
    Pooled,
    /// What an engine does that sets nothing: wasmtime-wasi-http's own sender.
    DefaultSender,
    /// The same for services that are vouched for by nobody public.
    New,
}

/// How the component is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) allocation: Allocation,
    pub(super) isolation: Isolation,
    pub(super) connections: Connections,
    /// How many instances there may be at once.
    pub(super) instances: u32,
}

impl Shape {
    /// What an embedder does who has many calls: all that is pooled, and an instance for
    /// each call.
    pub(super) fn fresh(instances: u32) -> Self {
        Self {
            allocation: Allocation::Pooling { instances },
            isolation: Isolation::EachCall,
            connections: Connections::Pooled,
            instances,
        }
    }

    /// The same with instances that are used again.
    pub(super) fn reused(instances: u32) -> Self {
        Self {
            isolation: Isolation::Reused {
                calls: NonZeroU32::MAX,
            },
            ..Self::fresh(instances)
        }
    }

    /// The engines' way: nothing is pooled.
    pub(super) fn engine(instances: u32, connections: Connections) -> Self {
        Self {
            allocation: Allocation::OnDemand,
            isolation: Isolation::EachCall,
            connections,
            instances,
        }
    }
}

/// What makes the subjects.
pub(super) struct Subjects {
    /// The component for WASI 0.2.
    pub(super) component: PathBuf,
    pub(super) cache: CompiledCache,
    /// Who vouches for the service.
    pub(super) trust: Trust,
}

impl Subjects {
    pub(super) fn plugin(&self, allocation: Allocation) -> Result<Plugin> {
        Plugin::load_with(&self.component, &self.loading(allocation))
    }

    fn loading(&self, allocation: Allocation) -> Loading {
        Loading {
            allocation,
            cache: Some(self.cache.clone()),
        }
    }

    /// The component for WASI 0.3. There is nothing to pool where one instance does all.
    pub(super) fn concurrent_plugin(&self) -> Result<Plugin> {
        let concurrent = beside(&self.component, CONCURRENT);
        Plugin::load_with(&concurrent, &self.loading(Allocation::OnDemand))
    }

    /// The component for steps, whose one instance does all too.
    pub(super) fn steps_plugin(&self) -> Result<Plugin> {
        let steps = beside(&self.component, STEPS);
        Plugin::load_with(&steps, &self.loading(Allocation::OnDemand))
    }

    fn network(&self, connections: Connections) -> Result<Arc<dyn Network>> {
        Ok(match connections {
            Connections::Pooled => Arc::new(PooledNetwork::trusting(&self.trust, Reach::Loopback)?),
            Connections::DefaultSender => Arc::new(DefaultSender),
            Connections::New => Arc::new(NewConnections {
                trust: self.trust.clone(),
            }),
        })
    }

    /// The component in the harness.
    pub(super) fn harness(&self, shape: Shape, base_url: &str) -> Result<Harness> {
        self.harness_with(shape, base_url, &[])
    }

    /// The component with further settings, names without the prefix.
    pub(super) fn harness_with(
        &self,
        shape: Shape,
        base_url: &str,
        settings: &[(&str, &str)],
    ) -> Result<Harness> {
        let plugin = self.plugin(shape.allocation)?;
        let environment = environment_with(base_url, settings);
        let outgoing = self.outgoing(shape.connections)?;
        let pool = Pool::new(plugin, shape.instances, shape.isolation, move || {
            InstanceSettings::new(environment.clone(), outgoing.clone())
        });
        Ok(Harness {
            pool: Arc::new(pool),
            docket: Arc::new(docket()),
        })
    }

    /// One instance of the component for WASI 0.3, for so many calls at once.
    pub(super) async fn shared(
        &self,
        in_flight: usize,
        base_url: &str,
        settings: &[(&str, &str)],
    ) -> Result<Shared> {
        let in_flight = in_flight.to_string();
        let settings = [settings, &[("MAX_IN_FLIGHT", in_flight.as_str())]].concat();
        let settings = InstanceSettings::new(
            environment_with(base_url, &settings),
            self.outgoing(Connections::Pooled)?,
        );
        Ok(Shared {
            instance: self.concurrent_plugin()?.share(settings).await?,
            docket: Arc::new(docket()),
        })
    }

    /// A client on the component for steps, for so many calls at once.
    pub(super) fn steps(
        &self,
        in_flight: usize,
        base_url: &str,
        settings: &[(&str, &str)],
    ) -> Result<Steps> {
        let in_flight = in_flight.to_string();
        let settings = [settings, &[("MAX_IN_FLIGHT", in_flight.as_str())]].concat();
        let settings = InstanceSettings::new(
            environment_with(base_url, &settings),
            self.outgoing(Connections::Pooled)?,
        );
        Ok(Steps {
            client: self.steps_plugin()?.client(settings)?,
            docket: Arc::new(docket()),
        })
    }

    fn outgoing(&self, connections: Connections) -> Result<Outgoing> {
        Ok(Outgoing {
            reach: Reach::Loopback,
            network: self.network(connections)?,
            recorder: Recorder::keeping_nothing(),
        })
    }

    /// The baseline.
    pub(super) fn native(&self, base_url: &str) -> Result<Native> {
        Ok(Native {
            client: NativeClient::new(base_url, TOKEN, &self.trust)?,
            docket: Arc::new(docket()),
        })
    }
}

/// The settings of an instance.
pub(super) fn environment(base_url: &str) -> Vec<(String, String)> {
    [
        ("VOICE_CALLING_BASE_URL", base_url),
        ("VOICE_CALLING_API_TOKEN", TOKEN),
        TRUST_CONNECTION_TIMEOUT,
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// The same and further ones, names without the prefix.
fn environment_with(base_url: &str, settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut environment = environment(base_url);
    for (name, value) in settings {
        environment.push((format!("VOICE_CALLING_{name}"), (*value).to_owned()));
    }
    environment
}

/// What is behind the name of the component for WASI 0.3.
pub(super) const CONCURRENT: &str = "-p3";

/// The same of the one for steps.
pub(super) const STEPS: &str = "-steps";

/// Where another component lies: beside that for WASI 0.2, this behind its name.
pub(super) fn beside(component: &Path, suffix: &str) -> PathBuf {
    let mut name = component.file_stem().unwrap_or_default().to_owned();
    name.push(suffix);
    name.push(".wasm");
    component.with_file_name(name)
}

/// The component.
#[derive(Clone)]
pub(super) struct Harness {
    pub(super) pool: Arc<Pool>,
    docket: Arc<DocketRequestV2>,
}

impl Caller for Harness {
    async fn call(&self) -> Result<()> {
        let mut instance = self.pool.instance().await?;
        match instance.create_docket_v2(&self.docket, None).await? {
            Ok(created) => ensure!(created.created == Some(true), "nothing was created"),
            Err(error) => bail!("the component fails: {error:?}"),
        }
        Ok(())
    }
}

/// The component for WASI 0.3, all calls on one instance.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) instance: SharedInstance,
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

/// A client on the component for steps.
#[derive(Clone)]
pub(super) struct Steps {
    pub(super) client: Client,
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
}

/// The native client.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_components_lie_beside_the_one_that_is_given() {
        for (given, suffix, found) in [
            (
                "target/voice-calling.wasm",
                CONCURRENT,
                "target/voice-calling-p3.wasm",
            ),
            ("mine.wasm", STEPS, "mine-steps.wasm"),
        ] {
            assert_eq!(beside(given.as_ref(), suffix), PathBuf::from(found));
        }
    }
}
