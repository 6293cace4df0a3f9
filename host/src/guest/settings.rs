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
#[derive(Clone, Default)]
pub enum Stderr {
    /// To `tracing`, without the token: each line that is not empty is the field `line` of an
    /// event of the target [`STDERR_TARGET`]. The level is WARN: a component that works writes
    /// nothing there unless its settings ask for a log, so that what comes is that log or the
    /// message of a panic. A line is cut after 65,536 bytes; one without an end is logged when
    /// the instance goes.
    #[default]
    Logged,
    /// To the harness's own stderr, line by line and without the token. A line is cut after
    /// 65,536 bytes.
    Inherited,
    /// Into memory, as it is, the token too. A guest that writes more than the pipe takes
    /// may trap.
    Kept(MemoryOutputPipe),
}

/// The target of the events of [`Stderr::Logged`].
pub const STDERR_TARGET: &str = "voice_calling_host::guest::stderr";

/// What [`Stderr::kept`] takes.
const KEPT_STDERR_BYTES: usize = 1 << 20;

impl Stderr {
    /// Into a memory of 1 MiB, for tests.
    pub fn kept() -> Self {
        Stderr::Kept(MemoryOutputPipe::new(KEPT_STDERR_BYTES))
    }

    /// What was written, where that is kept.
    pub(crate) fn contents(&self) -> String {
        match self {
            Stderr::Logged | Stderr::Inherited => String::new(),
            Stderr::Kept(pipe) => String::from_utf8_lossy(&pipe.contents()).into_owned(),
        }
    }
}
