//! For authors of clients in any language: the table of cases, and the judge of what a client
//! made of them.
//!
//! The table (`host-test/cases/table/*.json` in the repository) is data: an operation with its arguments, what
//! the service does meanwhile, which requests it must see, and what the caller must get. The
//! [`Judge`] plays the service on loopback and compares. Clients in any language run the same
//! table, so that they cannot differ; `host-test/cases/README.md` says how.

mod accounting;
mod answer;
mod case;
mod expected;
mod json;
mod judge;
mod judgement;
mod program;
mod report;
mod request;
mod run;

pub use answer::Step;
pub use case::{Case, ExpectedBody, ExpectedOutcome, ExpectedRequest, Requests, Service, Table};
pub use expected::Expected;
pub use json::Json;
pub use judge::Judge;
pub use judgement::judge;
pub use program::{At, Fault, Program};
pub use report::{Outcome, Report};
pub use request::Received;
