//! Where a bench ran.

use serde::Serialize;
use std::fmt;
use std::fs;
use std::thread::available_parallelism;

/// The machine, as far as it matters.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// As the kernel calls it.
    pub processor: String,
    /// How many threads run at once.
    pub cores: usize,
    /// Name and version.
    pub kernel: String,
    /// Whether this program was built with optimizations.
    pub is_optimized: bool,
}

impl Machine {
    pub(super) fn here() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let processors = read("/proc/cpuinfo");
        let model = processors.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == "model name").then(|| value.trim().to_owned())
        });
        Self {
            processor: model.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: available_parallelism().map_or(1, usize::from),
            kernel: format!(
                "{} {}",
                std::env::consts::OS,
                read("/proc/sys/kernel/osrelease").trim()
            ),
            is_optimized: !cfg!(debug_assertions),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            processor,
            cores,
            kernel,
            ..
        } = self;
        write!(formatter, "{processor}, {cores} cores, {kernel}")?;
        match self.is_optimized {
            true => Ok(()),
            false => write!(formatter, ", WITHOUT OPTIMIZATIONS"),
        }
    }
}
