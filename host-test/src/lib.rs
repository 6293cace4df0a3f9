//! The host harness of voice-calling: it runs any component that exports the world
//! `plugin` of `voice-calling:client` in wasmtime, against a mock of the service or
//! the real one, and shows every HTTP exchange.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use host_test::mock::{MockService, Options};
//! use host_test::{InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach};
//!
//! let mock = MockService::start(Options::default()).await?;
//! let plugin = Plugin::load("target/voice-calling.wasm".as_ref())?;
//! let environment = [
//!     ("VOICE_CALLING_BASE_URL", mock.base_url()),
//!     ("VOICE_CALLING_API_TOKEN", mock.token()),
//! ];
//! let outgoing = Outgoing::loopback(PooledNetwork::new(Reach::Loopback)?);
//! let mut instance = plugin.instantiate(InstanceSettings::new(environment, outgoing)).await?;
//! // The outer result is the host's (a trap), the inner one the component's.
//! let agents = instance.list_agents("org-1").await?;
//! println!("{agents:?}");
//! # Ok(())
//! # }
//! ```
//!
//! [`Sandbox`] does the same for components of other worlds that need no more than ours:
//! workflows in any language, with our component plugged in.
//!
//! A host with many calls pools what can be pooled: memory, connections, compiled code,
//! and instances, of which no more than so many exist at once; who comes then waits in a
//! queue. Each call still has an instance of its own, unless [`Isolation`] says otherwise.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use host_test::{
//!     Allocation, CompiledCache, InstanceSettings, Isolation, Loading, Outgoing, Plugin, Pool,
//!     PooledNetwork, Reach, Recorder,
//! };
//! use std::sync::Arc;
//!
//! let instances = 64;
//! let loading = Loading {
//!     allocation: Allocation::Pooling { instances },
//!     cache: Some(CompiledCache::for_user()?),
//!     ..Loading::default()
//! };
//! let plugin = Plugin::load_with("target/voice-calling.wasm".as_ref(), &loading)?;
//! let reach = Reach::Hosts(["api.example".to_owned()].into());
//! let outgoing = Outgoing {
//!     network: Arc::new(PooledNetwork::new(reach.clone())?),
//!     reach,
//!     recorder: Recorder::keeping_nothing(),
//! };
//! let environment = [
//!     ("VOICE_CALLING_BASE_URL", "https://api.example"),
//!     ("VOICE_CALLING_API_TOKEN", "…"),
//! ];
//! let pool = Pool::new(plugin, instances, Isolation::EachCall, move || {
//!     InstanceSettings::new(environment, outgoing.clone())
//! });
//! let agents = pool.instance().await?.list_agents("org-1").await?;
//! println!("{agents:?}");
//! # Ok(())
//! # }
//! ```
//!
//! A component for WASI 0.3 has all its calls on one instance, or on a few ([`SharedPool`]).
//! wasmtime's own part in it is experimental.
//!
//! ```no_run
//! # async fn example(outgoing: host_test::Outgoing) -> anyhow::Result<()> {
//! use futures_util::future::join_all;
//! use host_test::{InstanceSettings, Plugin};
//!
//! let plugin = Plugin::load("target/voice-calling-p3.wasm".as_ref())?;
//! let environment = [
//!     ("VOICE_CALLING_BASE_URL", "https://api.example"),
//!     ("VOICE_CALLING_API_TOKEN", "…"),
//!     ("VOICE_CALLING_MAX_IN_FLIGHT", "1000"),
//! ];
//! let instance = plugin.share(InstanceSettings::new(environment, outgoing)).await?;
//! let calls = (0..1000).map(|_| instance.list_agents("org-1"));
//! for agents in join_all(calls).await {
//!     println!("{:?}", agents?);
//! }
//! # Ok(())
//! # }
//! ```

// The one exception is in `cache`.
#![deny(unsafe_code)]

mod abandoned;
pub mod allocation;
pub mod bench;
pub mod cache;
mod capabilities;
pub mod cases;
pub mod check;
pub mod clock;
pub mod demo;
pub mod error_codes;
pub mod failure;
pub mod har;
pub mod interface;
pub mod invoke;
pub mod limits;
pub mod masking;
pub mod mock;
pub mod network;
pub mod operation;
pub mod outgoing;
pub mod plugin;
pub mod pool;
pub mod progress;
pub mod receiver;
pub mod recorder;
pub mod sandbox;
pub mod script;
pub mod secrets;
pub mod shared;
mod stderr;
mod timestamp;
mod turnstile;
pub mod values;
pub mod wasi;

pub use allocation::Allocation;
pub use cache::CompiledCache;
pub use capabilities::Guest;
pub use limits::Limits;
pub use masking::PersonalData;
pub use network::{InMemoryNetwork, Network, PooledNetwork, Trust};
pub use outgoing::{Outgoing, Reach};
pub use plugin::{Instance, Plugin, types};
pub use pool::{Isolation, Pool, PooledInstance};
pub use recorder::{Exchange, Recorder};
pub use sandbox::{InstanceSettings, Loading, Running, Sandbox, Stderr};
pub use secrets::Secrets;
pub use shared::{SharedInstance, SharedPool};
pub use wasi::Wasi;
