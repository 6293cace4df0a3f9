//! Nodes of the [Obelisk](https://obeli.sk) workflow engine, as the end-to-end tests of
//! voice-calling need them: started in seconds, killed at the worst moment, restarted on the same
//! database, and asked over HTTP for the result of every execution.
//!
//! The engine is a program, not a library, and runs here as it does for users: as a process that
//! can die. The tests prove what a SIGKILL leaves behind, which no engine within their own process
//! could show.
//!
//! Several nodes can share a PostgreSQL database. Everything that was started ends when its value
//! is dropped, and also when the test process is killed.

// Support of tests, which print none of it.
#![expect(missing_debug_implementations)]

mod api;
mod engine;
mod node;
mod operator;
mod site;

pub use self::api::{Answer, Api, Ending, execution_id};
pub use self::engine::Engine;
pub use self::node::Node;
pub use self::operator::Operator;
pub use self::site::{
    API_URL, CALL, LIMIT, Setup, Site, contact, listed, on_postgres, shipped_folder, until,
};
