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

#![forbid(unsafe_code)]

mod capabilities;
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
pub mod receiver;
pub mod recorder;
pub mod script;
pub mod secrets;
mod stderr;
mod timestamp;
pub mod values;

pub use limits::Limits;
pub use masking::PersonalData;
pub use network::{InMemoryNetwork, Network, PooledNetwork};
pub use outgoing::{Outgoing, Reach};
pub use plugin::{Instance, InstanceSettings, Plugin, Stderr, types};
pub use recorder::{Exchange, Recorder};
pub use secrets::Secrets;
