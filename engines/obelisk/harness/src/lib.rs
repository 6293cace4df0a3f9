//! Nodes of the [Obelisk](https://obeli.sk) workflow engine, as the end-to-end tests of
//! voice-calling need them: started in seconds, killed at the worst moment, started again
//! on the same database, and asked over HTTP what became of every execution.
//!
//! The engine is a program, not a library, and runs here just as it does for others: as a
//! process that can die. What its tests want to know is what a SIGKILL leaves behind, and
//! that no engine within the test's own process could show.
//!
//! Several nodes share a database where it is a [`Postgres`]. Whatever was started ends when
//! its value is dropped, and also when the process of the tests is killed.

#![forbid(unsafe_code)]

mod api;
mod engine;
mod gate;
mod node;
mod operator;
mod postgres;
mod process;
mod site;

pub use self::api::{Answer, Api, Ending, execution_id};
pub use self::engine::Engine;
pub use self::node::Node;
pub use self::operator::Operator;
pub use self::postgres::Postgres;
pub use self::site::{LIMIT, Setup, Site, contact, listed, until};
