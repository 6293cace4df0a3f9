//! The warnings that a program's log gets.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex};
use tracing::{Level, Subscriber};

/// The lines of all warnings.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Returns what writes them.
    pub(crate) fn subscriber(&self) -> impl Subscriber + use<> {
        let log = self.clone();
        let lines = tracing_subscriber::fmt().with_ansi(false);
        let warnings = lines.with_max_level(Level::WARN);
        warnings.with_writer(move || log.clone()).finish()
    }

    /// Returns the client's lines since the last time.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        let text = String::from_utf8(mem::take(&mut self.0.lock().unwrap())).unwrap();
        let own = text.lines().filter(|line| line.contains(" voice_calling"));
        own.map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
