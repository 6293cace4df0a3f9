//! Forwards the log of the client to Python's `logging`: the logger `voice_calling`, and its children.

use crate::function::report;
use pyo3::prelude::*;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use tracing::{Level, Metadata};
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::prelude::*;

const LOGGER: &str = "voice_calling";

/// The lowest level that the logger takes, as of the latest operation: below it nothing is made.
static LOWEST: AtomicU8 = AtomicU8::new(30);

/// Forwards all events of this process, each as one line with the operation that it is of.
pub(crate) fn install() {
    let is_enabled = |metadata: &Metadata<'_>| {
        metadata.target().starts_with(LOGGER) && number(metadata) >= LOWEST.load(Relaxed)
    };
    let lines = fmt::layer()
        .without_time()
        .with_ansi(false)
        .with_level(false)
        .with_target(false)
        .with_writer(Logging)
        .with_filter(dynamic_filter_fn(move |metadata, _| is_enabled(metadata)));
    // Another subscriber would have to be in this module.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines));
}

/// Reads the level of the logger, which may change at any time.
pub(crate) fn refresh(py: Python<'_>) -> PyResult<()> {
    let logger = logger(py, LOGGER)?;
    let lowest: i64 = logger.call_method0("getEffectiveLevel")?.extract()?;
    LOWEST.store(lowest.clamp(0, 50) as u8, Relaxed);
    Ok(())
}

fn logger<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("logging")?.call_method1("getLogger", (name,))
}

/// Returns the level in the numbers of Python.
fn number(metadata: &Metadata<'_>) -> u8 {
    match *metadata.level() {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 5,
    }
}

struct Logging;

impl<'a> MakeWriter<'a> for Logging {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line::default()
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Line {
        Line {
            level: number(metadata),
            logger: metadata.target().replace("::", "."),
            text: Vec::new(),
        }
    }
}

/// A line, which is logged when all of it is there.
#[derive(Default)]
struct Line {
    level: u8,
    logger: String,
    text: Vec<u8>,
}

impl io::Write for Line {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        let text = text.trim_end();
        let logged = Python::try_attach(|py| {
            // An exception may be on its way to the caller.
            let pending = PyErr::take(py);
            let log = || logger(py, &self.logger)?.call_method1("log", (self.level, "%s", text));
            if let Err(error) = log() {
                report(py, error, None);
            }
            if let Some(pending) = pending {
                pending.restore(py);
            }
        });
        if logged.is_none() {
            // The interpreter is gone, and ids are not lost with it.
            let _ = writeln!(io::stderr(), "{}: {text}", self.logger);
        }
    }
}
