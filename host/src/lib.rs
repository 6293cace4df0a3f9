//! For programs that embed voice-calling: runs a component with its WIT in wasmtime, limits its
//! network access and its use of resources, and logs its requests.
//!
//! | | contents |
//! |---|---|
//! | [`Plugin`], [`Instance`] | a component with its functions |
//! | [`load`] | a component's file: compiled, cached, linked, instantiated |
//! | [`guest`] | the capabilities and limits of an instance |
//! | [`network`] | the origins within its reach, and the connections to them |
//! | [`invoke`] | any function by name, JSON in and out |
//!
//! The smallest program that creates a docket is the example `embed`:
//!
//! ```no_run
#![doc = include_str!("../examples/embed.rs")]
//! ```
//!
//! A Rust program that wants to place calls needs none of this: the crate `voice-calling` is the
//! same client without WebAssembly. This crate is for hosts that run components.
//!
//! # Many calls
//!
//! An instance has one call at a time, and on WASI 0.3 too each call should have its own instance:
//! a dropped call ends its instance. A semaphore limits the number of concurrent instances.
//!
//! ```no_run
//! # async fn example(outgoing: voice_calling_host::Outgoing) -> anyhow::Result<()> {
//! use tokio::sync::Semaphore;
//! use voice_calling_host::{Allocation, InstanceSettings, Loading, Plugin, user_cache};
//!
//! let instances = 64;
//! let loading = Loading {
//!     allocation: Allocation::Pooling { instances },
//!     cache: user_cache(),
//! };
//! let plugin = Plugin::load_with("target/voice-calling.wasm".as_ref(), &loading)?;
//! let permits = Semaphore::new(instances as usize);
//! let environment = [
//!     ("VOICE_CALLING_BASE_URL", "https://api.example"),
//!     ("VOICE_CALLING_API_TOKEN", "…"),
//! ];
//!
//! // For each call:
//! let _permit = permits.acquire().await?;
//! let settings = InstanceSettings::new(environment, outgoing.clone());
//! let mut instance = plugin.instantiate(settings).await?;
//! let agents = instance.list_agents("org-1", None).await?;
//! println!("{agents:?}");
//! # Ok(())
//! # }
//! ```
//!
//! # The log
//!
//! Events that a host should know about go to `tracing`, without tokens:
//!
//! | target | level | event |
//! |---|---|---|
//! | `voice_calling_host::guest::call` | WARN | a call was dropped or trapped that had begun creates |
//! | `voice_calling_host::guest::stderr` | WARN | a line that a guest wrote, unless [`Stderr`] says otherwise |
//! | `voice_calling_host::network::pooled` | WARN | an address of a name that is not allowed |
//! | `voice_calling_host::network::outgoing` | DEBUG | an exchange: method, host, outcome |
//!
//! # WASI 0.3
//!
//! A [`Plugin`] may also be a component for WASI 0.3 (`voice-calling-p3.wasm`), which is for
//! compositions with async functions.
//!
//! # Systems
//!
//! This crate is tested on Linux; macOS provides everything that it needs. On Windows only the
//! build is checked, without [`cache_in`].

#![warn(missing_docs)]

pub mod clock;
pub mod guest;
pub mod invoke;
pub mod load;
pub mod network;
mod plugin;
pub mod secrets;
pub mod types;

pub use guest::capabilities::Guest;
pub use guest::limits::Limits;
pub use guest::settings::{InstanceSettings, STDERR_TARGET, Stderr};
pub use load::allocation::Allocation;
pub use load::cache::{cache_in, user_cache};
pub use load::kind::GuestKind;
pub use load::sandbox::{Loading, Sandbox, SandboxInstance};
pub use network::outgoing::Outgoing;
pub use network::pooled::PooledNetwork;
pub use network::reach::Reach;
pub use network::{InMemoryNetwork, Network};
pub use plugin::{Instance, Plugin};
pub use secrets::Secrets;
pub use voice_calling_net::Trust;
