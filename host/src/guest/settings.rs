//! The settings of an instance.

use super::limits::Limits;
use crate::network::outgoing::Outgoing;
use std::fmt;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;

/// The settings of an instance.
pub struct InstanceSettings {
    /// All its environment variables.
    pub environment: Vec<(String, String)>,
    /// The route of its requests.
    pub outgoing: Outgoing,
    /// The bytes of its random numbers, for jitter; `None` uses the machine's randomness. The bytes
    /// are repeated: `[0]` makes every pause as short as possible, `[255]` sets every bit.
    pub randomness: Option<Vec<u8>>,
    /// The date at its beginning, since 1970; `None` uses the machine's.
    pub date: Option<std::time::Duration>,
    /// The destination of its stderr.
    pub stderr: Stderr,
    /// Its limits.
    pub limits: Limits,
}

/// Shows the names of variables, since their values may be tokens.
impl fmt::Debug for InstanceSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("InstanceSettings")
            .field("environment", &names)
            .field("outgoing", &self.outgoing)
            .field("stderr", &self.stderr)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl InstanceSettings {
    /// Creates settings with an environment and a route for requests; the others have their
    /// defaults.
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

/// The destination of a guest's stderr.
#[derive(Clone, Default)]
pub enum Stderr {
    /// `tracing`, without the token: each line that is not empty is the field `line` of an event
    /// with the target [`STDERR_TARGET`]. The level is WARN: a working component writes nothing
    /// unless its settings ask for a log, so that a line is from that log or the message of a
    /// panic. A line is cut after 65,536 bytes; a line without an end is logged when the instance
    /// is dropped.
    #[default]
    Logged,
    /// The harness's own stderr, line by line and without the token. A line is cut after 65,536
    /// bytes.
    Inherited,
    /// Memory, unchanged and with the token. A guest that writes more than the pipe accepts may
    /// trap.
    Kept(MemoryOutputPipe),
}

/// Shows nothing of what is kept, which may contain the token.
impl fmt::Debug for Stderr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Stderr::Logged => "Logged",
            Stderr::Inherited => "Inherited",
            Stderr::Kept(_) => "Kept(..)",
        })
    }
}

/// The target of the events of [`Stderr::Logged`].
pub const STDERR_TARGET: &str = "voice_calling_host::guest::stderr";

/// The capacity of [`Stderr::kept`].
const KEPT_STDERR_BYTES: usize = 1 << 20;

impl Stderr {
    /// Keeps 1 MiB in memory, for tests.
    pub fn kept() -> Self {
        Stderr::Kept(MemoryOutputPipe::new(KEPT_STDERR_BYTES))
    }

    /// Returns the output, if it is kept.
    pub(crate) fn contents(&self) -> String {
        match self {
            Stderr::Logged | Stderr::Inherited => String::new(),
            Stderr::Kept(pipe) => String::from_utf8_lossy(&pipe.contents()).into_owned(),
        }
    }
}
