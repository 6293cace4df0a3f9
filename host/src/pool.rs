//! Instances of one plugin for many calls, bounded in number.

use crate::guest::settings::InstanceSettings;
use crate::plugin::{Instance, Plugin};
use anyhow::Result;
use std::num::NonZeroU32;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

/// How much calls may share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Nothing: every call has an instance of its own, which goes with it.
    #[default]
    EachCall,
    /// The instance, one after the other, up to so many. One that trapped, or whose call
    /// was dropped before it returned, is not used again. What an instance got when it was
    /// made (settings, the token among them) it has for as long as it is used, and its
    /// memory stays as large as its largest call needed.
    Reused {
        /// How many calls an instance may serve.
        calls: NonZeroU32,
    },
}

/// Instances of one plugin. When all that are allowed at once are in use, who asks for
/// one more waits until it is given back; who came first is served first.
pub struct Pool {
    plugin: Plugin,
    settings: Box<dyn Fn() -> InstanceSettings + Send + Sync>,
    isolation: Isolation,
    places: Semaphore,
    idle: Mutex<Vec<Instance>>,
}

impl Pool {
    /// A pool of so many instances at once (at least 1). They are made when they are
    /// asked for, each with the settings that `settings` gives. With
    /// [`crate::Allocation::Pooling`] the engine has to have room for as many.
    pub fn new(
        plugin: Plugin,
        instances: u32,
        isolation: Isolation,
        settings: impl Fn() -> InstanceSettings + Send + Sync + 'static,
    ) -> Self {
        Self {
            plugin,
            settings: Box::new(settings),
            isolation,
            places: Semaphore::new(instances.max(1) as usize),
            idle: Mutex::default(),
        }
    }

    /// An instance for one call, as soon as there is one. It is given back when it is
    /// dropped.
    pub async fn instance(&self) -> Result<PooledInstance<'_>> {
        let place = self.places.acquire().await?;
        let idle = self.idle().pop();
        let instance = match idle {
            Some(instance) => instance,
            None => self.plugin.instantiate((self.settings)()).await?,
        };
        Ok(PooledInstance {
            pool: self,
            instance: Some(instance),
            _place: place,
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Instance>> {
        // A list of whole instances, whoever panicked meanwhile.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An instance that goes back to its pool.
pub struct PooledInstance<'a> {
    pool: &'a Pool,
    /// Only a dropped one has none.
    instance: Option<Instance>,
    // Last, since the instance must be gone before the next one is made.
    _place: SemaphorePermit<'a>,
}

impl Deref for PooledInstance<'_> {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        self.instance.as_ref().expect("it is not dropped")
    }
}

impl DerefMut for PooledInstance<'_> {
    fn deref_mut(&mut self) -> &mut Instance {
        self.instance.as_mut().expect("it is not dropped")
    }
}

impl Drop for PooledInstance<'_> {
    fn drop(&mut self) {
        let Isolation::Reused { calls } = self.pool.isolation else {
            return;
        };
        let sound = |it: &Instance| it.is_sound() && it.calls() < calls.get();
        // One that is not used again goes here, not while the others wait for the list.
        if let Some(instance) = self.instance.take().filter(sound) {
            self.pool.idle().push(instance);
        }
    }
}
