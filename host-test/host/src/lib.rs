//! For programs that embed voice-calling: runs a component with its WIT in wasmtime, limits what it
//! reaches and uses up, and records what it sends.
//!
//! | folder | what belongs there |
//! |---|---|
//! | [`load`] | a component's file: compiled, cached, linked, instantiated |
//! | [`guest`] | what an instance is given, and its limits |
//! | [`client`] | calls as many as come, on one instance of the component for steps |
//! | [`calls`] | instances of the others for many calls: pools, shared instances, batches |
//! | [`network`] | which origins it reaches, over which connections |
//! | [`record`] | the last exchanges, without the token; HTTP Archives |
//! | [`invoke`] | any function by name, JSON in and out |
//!
//! The smallest program that creates a docket is the example `embed`:
//!
//! ```no_run
#![doc = include_str!("../examples/embed.rs")]
//! ```
//!
//! A [`Client`] is what most embedders take. It runs `voice-calling-steps.wasm`, which does no I/O
//! itself: one instance has any number of calls under way, from any number of tasks, for little
//! more than a client without WebAssembly costs. Dropping the future of a call ends its request. A
//! trap ends all calls that are under way: each caller gets an error, one that may have created
//! something as `permanent-outcome-unknown`, and the next call gets a new instance.
//!
//! # An instance for each call
//!
//! Who wants calls apart from each other, or has a composition of components, takes the component
//! for WASI 0.2 and a [`Pool`]: no more than so many instances exist at once, further calls wait in
//! a queue, and each call has an instance of its own, unless [`Isolation`] says otherwise.
//!
//! ```no_run
//! # async fn example(outgoing: voice_calling_host::Outgoing) -> anyhow::Result<()> {
//! use voice_calling_host::{
//!     Allocation, CompiledCache, InstanceSettings, Isolation, Loading, Plugin, Pool,
//! };
//!
//! let instances = 64;
//! let loading = Loading {
//!     allocation: Allocation::Pooling { instances },
//!     cache: Some(CompiledCache::for_user()),
//! };
//! let plugin = Plugin::load_with("target/voice-calling.wasm".as_ref(), &loading)?;
//! let environment = [
//!     ("VOICE_CALLING_BASE_URL", "https://api.example"),
//!     ("VOICE_CALLING_API_TOKEN", "…"),
//! ];
//! let pool = Pool::new(plugin, instances, Isolation::EachCall, move || {
//!     InstanceSettings::new(environment, outgoing.clone())
//! });
//! let agents = pool.instance().await?.list_agents("org-1", None).await?;
//! println!("{agents:?}");
//! # Ok(())
//! # }
//! ```
//!
//! # The log
//!
//! What a host should know of goes to `tracing`, without tokens:
//!
//! | target | level | what |
//! |---|---|---|
//! | `voice_calling_host::guest::in_flight` | WARN | a call was dropped that had begun creates; the id of what it had created, where an answer came |
//! | `voice_calling_host::guest::stderr` | WARN | a line that a guest wrote, unless [`Stderr`] says otherwise |
//! | `voice_calling_host::recorder` | DEBUG | an exchange: method, host, what came of it |
//!
//! # WASI 0.3
//!
//! With the feature `wasi-0-3` a component for WASI 0.3 has all its calls on one instance. It is for
//! compositions that want async functions: a [`Client`] costs less. wasmtime's own part in it is
//! experimental.
//!
#![cfg_attr(feature = "wasi-0-3", doc = "```no_run")]
#![cfg_attr(not(feature = "wasi-0-3"), doc = "```ignore")]
//! # async fn example(outgoing: voice_calling_host::Outgoing) -> anyhow::Result<()> {
//! use futures_util::future::join_all;
//! use voice_calling_host::{InstanceSettings, Plugin};
//!
//! let plugin = Plugin::load("target/voice-calling-p3.wasm".as_ref())?;
//! let environment = [
//!     ("VOICE_CALLING_BASE_URL", "https://api.example"),
//!     ("VOICE_CALLING_API_TOKEN", "…"),
//!     ("VOICE_CALLING_MAX_IN_FLIGHT", "1000"),
//! ];
//! let instance = plugin.share(InstanceSettings::new(environment, outgoing)).await?;
//! let calls = (0..1000).map(|_| instance.list_agents("org-1", None));
//! for agents in join_all(calls).await {
//!     println!("{:?}", agents?);
//! }
//! # Ok(())
//! # }
//! ```

//!
//! # Systems
//!
//! Tested on Linux; macOS has all that it needs. For Windows it is checked that the crate builds,
//! without [`CompiledCache`], and nothing more.

// The one exception is in `load::cache`.
#![deny(unsafe_code)]

pub mod calls;
pub mod client;
pub mod clock;
pub mod guest;
pub mod invoke;
pub mod load;
pub mod network;
pub mod recorder;

pub use calls::batch::{BatchResult, DocketResult, UnfinishedBatch};
pub use calls::pool::{Isolation, Pool, PooledInstance};
#[cfg(feature = "wasi-0-3")]
pub use calls::shared::SharedInstance;
#[cfg(feature = "wasi-0-3")]
pub use calls::shared::batch::BatchResults;
pub use client::history::History;
pub use client::{Batch, Client};
pub use guest::capabilities::Guest;
pub use guest::limits::Limits;
pub use guest::settings::{InstanceSettings, STDERR_TARGET, Stderr};
pub use load::allocation::Allocation;
pub use load::cache::CompiledCache;
pub use load::kind::GuestKind;
pub use load::plugin::{Instance, Plugin, types};
pub use load::sandbox::{Loading, Running, Sandbox};
pub use network::outgoing::Outgoing;
pub use network::pooled::PooledNetwork;
pub use network::reach::{Origins, Reach};
pub use network::resolver::Resolver;
pub use network::trust::Trust;
pub use network::{InMemoryNetwork, Network, TRUST_CONNECTION_TIMEOUT};
pub use recorder::Recorder;
#[doc(inline)]
pub use voice_calling_record::{self as record, Exchange, PersonalData, Secrets, har};
