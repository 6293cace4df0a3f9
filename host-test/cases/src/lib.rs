//! For authors of clients in any language: the table of cases, and the judge of what a client
//! made of them.
//!
//! The table (`host-test/cases/table/*.json` in the repository) is data: an operation with its arguments, what
//! the service does meanwhile, which requests it must see, and what the caller must get. The
//! [`Judge`] plays the service on loopback and compares. Clients in any language run the same
//! table, so that they cannot differ; `host-test/cases/README.md` says how.

mod accounting;
mod case;
mod difference;
mod json;
mod judge;
mod judgement;
mod program;
mod report;
mod request;
mod run;
mod step;

pub use case::{Case, ExpectedRequest, Once, Requests, Service, Table};
pub use json::Json;
pub use judge::Judge;
pub use program::{At, Fault, Program};
pub use report::Report;
pub use run::{Failed, Summary, Task};
pub use step::Step;
