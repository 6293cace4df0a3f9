//! What an instance gets from outside.

use super::limits::Limits;
use crate::network::outgoing::Outgoing;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;

/// What an instance gets from outside.
pub struct InstanceSettings {
    /// Its environment variables, all of them.
    pub environment: Vec<(String, String)>,
    /// Its way out.
    pub outgoing: Outgoing,
    /// Where its jitter comes from; none is the machine's randomness. The bytes
    /// are repeated: `[0]` makes every pause as short as it can be, `[255]` has
    /// every bit set.
    pub randomness: Option<Vec<u8>>,
    /// The date at its beginning, since 1970; none is the machine's.
    pub date: Option<std::time::Duration>,
    /// Where its stderr goes.
    pub stderr: Stderr,
    /// What it may use up.
    pub limits: Limits,
}

impl InstanceSettings {
    /// An environment and a way out; the rest is as usual.
    pub fn new<N: Into<String>, V: Into<String>>(
        environment: impl IntoIterator<Item = (N, V)>,
        outgoing: Outgoing,
    ) -> Self {
        let variable = |(name, value): (N, V)| (name.into(), value.into());
        Self {
            environment: environment.into_iter().map(variable).collect(),
            outgoing,
            randomness: None,
            date: None,
            stderr: Stderr::default(),
            limits: Limits::default(),
        }
    }
}

/// Where a guest's stderr goes.
#[derive(Clone)]
pub enum Stderr {
    /// To the harness's own, line by line and without the token.
    Inherited,
    /// Into memory.
    Kept(MemoryOutputPipe),
}

impl Default for Stderr {
    fn default() -> Self {
        Stderr::Kept(MemoryOutputPipe::new(1 << 20))
    }
}
