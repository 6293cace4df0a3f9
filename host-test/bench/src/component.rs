//! Components in the sandbox of the host, with an instance for each call in flight: the client, and
//! the one written with wstd.

use super::load::Caller;
use super::subject::DOCKET;
use anyhow::{Result, anyhow, bail, ensure};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use voice_calling_host::{Instance, InstanceSettings, Outgoing, Plugin, Sandbox, SandboxInstance};

mod bindings {
    wasmtime::component::bindgen!({
        path: "peer/wit",
        world: "peer",
        exports: { default: async },
        anyhow: true,
    });
}

/// A compiled component that can be instantiated.
pub(super) enum Module {
    Client(Plugin),
    /// The component written with wstd.
    Peer(Sandbox),
}

/// An instance, which makes one call at a time.
enum Started {
    Client(Instance),
    Peer(SandboxInstance),
}

/// A component with its instances.
pub(super) struct Component {
    module: Module,
    /// Whether an instance makes call after call, or only one.
    is_reused: bool,
    environment: Vec<(String, String)>,
    outgoing: Outgoing,
    idle: Mutex<Vec<Started>>,
}

impl Component {
    pub(super) fn new(
        module: Module,
        is_reused: bool,
        environment: Vec<(String, String)>,
        outgoing: Outgoing,
    ) -> Self {
        Self {
            module,
            is_reused,
            environment,
            outgoing,
            idle: Mutex::default(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Started>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn start(&self) -> Result<Started> {
        let settings = InstanceSettings::new(self.environment.clone(), self.outgoing.clone());
        Ok(match &self.module {
            Module::Client(plugin) => Started::Client(plugin.instantiate(settings).await?),
            Module::Peer(sandbox) => Started::Peer(sandbox.instantiate(settings).await?),
        })
    }
}

impl Caller for Arc<Component> {
    async fn call(&self, batch: Option<usize>) -> Result<()> {
        let idle = self.idle().pop();
        let mut instance = match idle {
            Some(idle) => idle,
            None => self.start().await?,
        };
        match (&mut instance, batch) {
            (Started::Client(instance), None) => {
                let created = instance.create_docket_v2(&DOCKET, None).await?;
                let created = created.map_err(|error| anyhow!("the component fails: {error:?}"))?;
                ensure!(created.created == Some(true), "nothing was created");
            }
            (Started::Client(instance), Some(size)) => {
                let dockets = vec![DOCKET.clone(); size];
                let results = instance.create_dockets_v2(&dockets, 60_000, None).await?;
                let results = results.map_err(|error| anyhow!("the component fails: {error:?}"))?;
                let created = results.iter().filter(|result| result.is_ok()).count();
                ensure!(created == size, "{created} of {size} dockets were created");
            }
            (Started::Peer(instance), None) => create_by_peer(instance).await?,
            (Started::Peer(_), Some(_)) => bail!("it has no batches"),
        }
        if self.is_reused {
            self.idle().push(instance);
        }
        Ok(())
    }
}

async fn create_by_peer(instance: &mut SandboxInstance) -> Result<()> {
    let docket = bindings::Docket {
        agent_id: DOCKET.agent_id,
        to_phone_number: DOCKET.to_phone_number.clone(),
        call_context: DOCKET.call_context.clone(),
        external_id: DOCKET.external_id.clone(),
    };
    let created = instance
        .call(async |store, instance| {
            let peer = bindings::Peer::new(&mut *store, instance)?;
            peer.call_create_docket(&mut *store, &docket).await
        })
        .await?;
    let created =
        created.map_err(|error| anyhow!("the component written with wstd fails: {error}"))?;
    ensure!(created.created == Some(true), "nothing was created");
    Ok(())
}
