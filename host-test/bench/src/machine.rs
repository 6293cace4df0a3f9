//! Where a bench ran.

use rustix::system::uname;
use serde::Serialize;
use std::env::consts::{ARCH, OS};
use std::fmt;
use std::thread::available_parallelism;

/// The machine, as far as it matters.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// As Linux calls it; elsewhere its architecture.
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
        Self {
            processor: processor().unwrap_or_else(|| ARCH.to_owned()),
            cores: available_parallelism().map_or(1, usize::from),
            kernel: format!("{OS} {}", uname().release().to_string_lossy()),
            is_optimized: !cfg!(debug_assertions),
        }
    }
}

#[cfg(target_os = "linux")]
fn processor() -> Option<String> {
    let processors = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    processors.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    })
}

#[cfg(not(target_os = "linux"))]
fn processor() -> Option<String> {
    None
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
