//! Components in the sandbox of the host, with an instance for each call in flight: ours, and the
//! one written with wstd.

use super::crowd::Caller;
use super::subject::DOCKET;
use anyhow::{Result, anyhow, ensure};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use voice_calling_host::{Instance, InstanceSettings, Loading, Outgoing, Plugin, Running, Sandbox};

mod bindings {
    wasmtime::component::bindgen!({
        path: "peer/wit",
        world: "peer",
        exports: { default: async },
        anyhow: true,
    });
}

/// A compiled component, of which instances are made.
pub(super) trait Module: Sized + Send + Sync + 'static {
    /// An instance, which has one call at a time.
    type Instance: Send;

    /// Reads a component's file.
    fn load_file(path: &Path, loading: &Loading) -> Result<Self>;

    /// Makes an instance.
    fn start(
        &self,
        settings: InstanceSettings,
    ) -> impl Future<Output = Result<Self::Instance>> + Send;

    /// Creates the docket, or so many in a batch.
    fn create(
        instance: &mut Self::Instance,
        batch: Option<usize>,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// A component with its instances.
pub(super) struct Component<M: Module> {
    module: M,
    /// Whether an instance has one call after the other, or one.
    is_reused: bool,
    environment: Vec<(String, String)>,
    outgoing: Outgoing,
    idle: Mutex<Vec<M::Instance>>,
}

impl<M: Module> Component<M> {
    pub(super) fn new(
        module: M,
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

    fn idle(&self) -> MutexGuard<'_, Vec<M::Instance>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Module> Caller for Arc<Component<M>> {
    async fn call(&self, batch: Option<usize>) -> Result<()> {
        let idle = self.idle().pop();
        let mut instance = match idle {
            Some(idle) => idle,
            None => {
                let settings =
                    InstanceSettings::new(self.environment.clone(), self.outgoing.clone());
                self.module.start(settings).await?
            }
        };
        M::create(&mut instance, batch).await?;
        if self.is_reused {
            self.idle().push(instance);
        }
        Ok(())
    }
}

impl Module for Plugin {
    type Instance = Instance;

    fn load_file(path: &Path, loading: &Loading) -> Result<Self> {
        Self::load_with(path, loading)
    }

    async fn start(&self, settings: InstanceSettings) -> Result<Instance> {
        self.instantiate(settings).await
    }

    async fn create(instance: &mut Instance, batch: Option<usize>) -> Result<()> {
        let Some(size) = batch else {
            let created = instance.create_docket_v2(&DOCKET, None).await?;
            let created = created.map_err(|error| anyhow!("the component fails: {error:?}"))?;
            ensure!(created.created == Some(true), "nothing was created");
            return Ok(());
        };
        let dockets = vec![DOCKET.clone(); size];
        let results = instance.create_dockets_v2(&dockets, 60_000, None).await?;
        let results = results.map_err(|error| anyhow!("the component fails: {error:?}"))?;
        let created = results.iter().filter(|result| result.is_ok()).count();
        ensure!(created == size, "{created} of {size} dockets were created");
        Ok(())
    }
}

impl Module for Sandbox {
    type Instance = Running;

    fn load_file(path: &Path, loading: &Loading) -> Result<Self> {
        Self::load(path, loading)
    }

    async fn start(&self, settings: InstanceSettings) -> Result<Running> {
        self.instantiate(settings).await
    }

    async fn create(instance: &mut Running, batch: Option<usize>) -> Result<()> {
        ensure!(batch.is_none(), "it has no batches");
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
}
