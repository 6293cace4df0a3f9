//! The answer to a create.

use std::ops::Deref;
use voice_calling_core::ledger;

/// The answer to a create, whose fields can be read as if it was the answer itself.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Recorded<R> {
    /// The answer.
    pub answer: R,
    /// Whether it comes from the ledger, and nothing was sent.
    pub from_ledger: bool,
}

impl<R> From<ledger::Recorded<R>> for Recorded<R> {
    fn from(recorded: ledger::Recorded<R>) -> Self {
        Self {
            answer: recorded.answer,
            from_ledger: recorded.from_ledger,
        }
    }
}

impl<R> Deref for Recorded<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.answer
    }
}
