//! Components in their host, with an instance for each call in flight.

use super::load::Caller;
use super::subject::DOCKET;
use anyhow::{Result, anyhow, ensure};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use voice_calling_host::{Instance, InstanceSettings, Outgoing, Plugin, Sandbox, SandboxInstance};

/// A compiled component.
pub(super) enum Module {
    Client(Plugin),
    /// The component written with wstd.
    Wstd(Sandbox),
}

/// An instance, which makes one call at a time.
pub(super) enum Started {
    Client(Instance),
    Wstd(SandboxInstance),
}

/// A component with its instances.
pub(super) struct Component {
    pub(super) module: Module,
    /// Whether an instance makes call after call, or only one.
    pub(super) is_reused: bool,
    pub(super) environment: Vec<(String, String)>,
    pub(super) outgoing: Outgoing,
    pub(super) idle: Mutex<Vec<Started>>,
}

impl Component {
    fn idle(&self) -> MutexGuard<'_, Vec<Started>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn start(&self) -> Result<Started> {
        let settings = InstanceSettings::new(self.environment.clone(), self.outgoing.clone());
        Ok(match &self.module {
            Module::Client(plugin) => Started::Client(plugin.instantiate(settings).await?),
            Module::Wstd(sandbox) => Started::Wstd(sandbox.instantiate(settings).await?),
        })
    }
}

impl Caller for Arc<Component> {
    async fn call(&self) -> Result<()> {
        let idle = self.idle().pop();
        let mut instance = match idle {
            Some(idle) => idle,
            None => self.start().await?,
        };
        let created = match &mut instance {
            Started::Client(instance) => {
                let created = instance.create_docket_v2(&DOCKET, None).await?;
                created
                    .map_err(|error| anyhow!("the component fails: {error:?}"))?
                    .created
            }
            Started::Wstd(instance) => create_with_wstd(instance).await?,
        };
        ensure!(created == Some(true), "nothing was created");
        if self.is_reused {
            self.idle().push(instance);
        }
        Ok(())
    }
}

/// Returns whether the docket was created.
async fn create_with_wstd(instance: &mut SandboxInstance) -> Result<Option<bool>> {
    type Arguments = (i64, &'static str, &'static str, Option<&'static str>);
    type Created = (String, Option<String>, Option<bool>);
    let arguments: Arguments = (
        DOCKET.agent_id,
        &DOCKET.to_phone_number,
        &DOCKET.call_context,
        DOCKET.external_id.as_deref(),
    );
    let (result,) = instance
        .call(async |store, instance| {
            let create = instance.get_typed_func::<Arguments, (Result<Created, String>,)>(
                &mut *store,
                "create-docket",
            )?;
            create.call_async(store, arguments).await
        })
        .await?;
    let (_, _, created) = result.map_err(|error| anyhow!("the wstd component fails: {error}"))?;
    Ok(created)
}
