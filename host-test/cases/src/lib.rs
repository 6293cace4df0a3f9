//! The table of cases and the judge of clients, for authors of clients in any language.
//!
//! The table (`host-test/cases/table/*.json` in the repository) is data: an operation with its
//! arguments, the service's part, the requests that it must receive, and the result that the caller
//! must receive. The [`Judge`] plays the service on loopback and compares. Clients in all languages
//! run the same table, so that they cannot differ; `host-test/cases/README.md` describes how.

// Support of tests, which print none of it.
#![expect(missing_debug_implementations)]

mod accounting;
mod case;
mod difference;
mod json;
mod judge;
mod judgement;
mod program;
mod run;
mod step;

pub use case::{Case, ExpectedRequest, Once, Service, Table};
pub use json::Json;
pub use judge::Judge;
pub use judgement::Report;
pub use program::{At, Fault, Program};
pub use run::{Failed, Summary, Task};
pub use step::Step;
