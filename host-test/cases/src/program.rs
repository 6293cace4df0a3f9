//! Faults of the caller's own program: its effect on an operation, and the step of the operation's
//! first request at which it happens.

use serde::{Deserialize, Serialize};
use strum::Display;

/// A fault of the program that uses a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The fault.
    pub does: Fault,
    /// The step at which it happens.
    pub at: At,
}

/// The action of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// It interrupts or cancels the operation.
    Interrupt,
    /// It leaves the iteration over the results of a batch.
    Leave,
    /// It closes what the operation runs on: the client, the event loop, the process.
    Close,
    /// Its middleware reports the HTTP library's own connection error for each request.
    ConnectionError,
}

/// A step of an exchange, as a program can see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum At {
    /// No byte of the request has been sent.
    BeforeRequest,
    /// The request is being sent. Nothing of the answer was received.
    RequestBegun,
    /// The head of the answer was received.
    Head,
    /// A part of the body was received.
    Body,
    /// The whole answer was received. The operation has not returned.
    End,
    /// A result is being passed to the program.
    Result,
}

/// A fault as written in the table, with several steps.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenProgram {
    pub(crate) does: Fault,
    pub(crate) at: Vec<At>,
}

impl Program {
    /// Returns `true` if the service receives a request before the fault happens.
    pub(crate) fn lets_the_request_out(self) -> bool {
        self.at != At::BeforeRequest
    }

    /// Returns `true` if the client has the whole answer when the fault happens, so that it
    /// knows what was created.
    pub(crate) fn has_the_answer(self) -> bool {
        matches!(self.at, At::End | At::Result)
    }
}
