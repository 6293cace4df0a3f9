//! The component in its host, with an instance for each call in flight.

use super::load::Caller;
use super::subject::DOCKET;
use anyhow::{Result, anyhow, ensure};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use voice_calling_host::{Instance, InstanceSettings, Outgoing, Plugin};

/// A component with its instances.
pub(super) struct Component {
    pub(super) plugin: Plugin,
    /// Whether an instance makes call after call, or only one.
    pub(super) is_reused: bool,
    pub(super) environment: Vec<(String, String)>,
    pub(super) outgoing: Outgoing,
    pub(super) idle: Mutex<Vec<Instance>>,
}

impl Component {
    fn idle(&self) -> MutexGuard<'_, Vec<Instance>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller for Arc<Component> {
    async fn call(&self) -> Result<()> {
        let idle = self.idle().pop();
        let mut instance = match idle {
            Some(idle) => idle,
            None => {
                let environment = self.environment.clone();
                let settings = InstanceSettings::new(environment, self.outgoing.clone());
                self.plugin.instantiate(settings).await?
            }
        };
        let created = instance.create_docket_v2(&DOCKET, None).await?;
        let created = created.map_err(|error| anyhow!("the component fails: {error:?}"))?;
        ensure!(created.created == Some(true), "nothing was created");
        if self.is_reused {
            self.idle().push(instance);
        }
        Ok(())
    }
}
