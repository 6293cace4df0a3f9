//! Nodes of the [Obelisk](https://obeli.sk) workflow engine, as the end-to-end tests of
//! voice-calling need them: started in seconds, killed at the worst moment, started again
//! on the same database, and asked over HTTP what became of every execution.
//!
//! The engine is a program, not a library, and runs here just as it does for others: as a
//! process that can die. What its tests want to know is what a SIGKILL leaves behind, and
//! that no engine within the test's own process could show.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use obelisk_harness::{Engine, Node, NodeSettings, execution_id};
//! use std::time::Duration;
//!
//! let folder = tempfile::tempdir()?;
//! let mut settings = NodeSettings::new(folder.path(), "server.toml", "target/obelisk-cache")?;
//! settings.deployment = Some("deployment.toml".into());
//!
//! let engine = Engine::from_environment()?;
//! let mut node = Node::start(&engine, settings.clone()).await?;
//! let id = execution_id();
//! let body = serde_json::json!(["{}"]);
//! let function = "voice-calling:client/webhooks@0.2.0.parse-docket-completed";
//! node.api().submit(&id, function, &body).await?;
//! node.kill()?;
//!
//! let node = Node::start(&engine, settings).await?;
//! let ending = node.api().wait_for_result(&id, Duration::from_secs(10)).await?;
//! println!("{ending:?}");
//! # Ok(())
//! # }
//! ```
//!
//! Several nodes share a database where it is a [`Postgres`]. Whatever was started ends when
//! its value is dropped, and also when the process of the tests is killed.

#![forbid(unsafe_code)]

mod api;
mod child;
mod engine;
mod execution_id;
mod gate;
pub mod measure;
mod node;
mod operator;
mod port;
mod postgres;
mod site;
pub mod story;

pub use self::api::{Api, Ending, ExecutionStatus, Refusal, Submitted};
pub use self::engine::Engine;
pub use self::execution_id::execution_id;
pub use self::gate::Gate;
pub use self::node::{Database, Node, NodeSettings};
pub use self::operator::Operator;
pub use self::port::free_port;
pub use self::postgres::Postgres;
pub use self::site::{Answer, Setup, Site, contact, listed};
