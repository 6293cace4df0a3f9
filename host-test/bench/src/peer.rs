//! The component written with wstd, in the same sandbox and with the same connections as ours.

use super::load::Caller;
use super::subject::Isolation;
use anyhow::{Result, bail, ensure};
use bindings::Docket;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{InstanceSettings, Running, Sandbox};

mod bindings {
    wasmtime::component::bindgen!({
        path: "peer/wit",
        world: "peer",
        exports: { default: async },
        anyhow: true,
    });
}

#[derive(Clone)]
pub(super) struct Peer(Arc<Instances>);

struct Instances {
    sandbox: Sandbox,
    isolation: Isolation,
    settings: Box<dyn Fn() -> InstanceSettings + Send + Sync>,
    idle: Mutex<Vec<Running>>,
    docket: DocketRequestV2,
}

impl Peer {
    pub(super) fn new(
        sandbox: Sandbox,
        isolation: Isolation,
        settings: impl Fn() -> InstanceSettings + Send + Sync + 'static,
        docket: DocketRequestV2,
    ) -> Self {
        Self(Arc::new(Instances {
            sandbox,
            isolation,
            settings: Box::new(settings),
            idle: Mutex::default(),
            docket,
        }))
    }
}

impl Instances {
    fn idle(&self) -> MutexGuard<'_, Vec<Running>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller for Peer {
    async fn call(&self) -> Result<()> {
        let idle = self.0.idle().pop();
        let mut instance = match idle {
            Some(idle) => idle,
            None => self.0.sandbox.instantiate((self.0.settings)()).await?,
        };
        let docket = Docket {
            agent_id: self.0.docket.agent_id,
            to_phone_number: self.0.docket.to_phone_number.clone(),
            call_context: self.0.docket.call_context.clone(),
            external_id: self.0.docket.external_id.clone(),
        };
        let created = instance
            .call(async |store, instance| {
                let peer = bindings::Peer::new(&mut *store, instance)?;
                peer.call_create_docket(&mut *store, &docket).await
            })
            .await?;
        match created {
            Ok(created) => ensure!(created.created == Some(true), "nothing was created"),
            Err(error) => bail!("the component written with wstd fails: {error}"),
        }
        if self.0.isolation != Isolation::EachCall {
            self.0.idle().push(instance);
        }
        Ok(())
    }
}
