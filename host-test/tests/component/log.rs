//! The host's log.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Once;

thread_local! {
    /// The log of the current test, which runs in its own thread.
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Collects the host's log from now on. The process has one subscriber: with one per test, whether
/// a line is enabled would depend on whichever came first.
pub struct Log;

impl Log {
    pub fn keep() -> Self {
        static SUBSCRIBER: Once = Once::new();
        SUBSCRIBER.call_once(|| {
            tracing_subscriber::fmt()
                .with_ansi(false)
                .with_env_filter("voice_calling_host=debug")
                .with_writer(|| Log)
                .init();
        });
        Self
    }

    /// Returns all lines so far.
    pub fn lines(&self) -> Vec<String> {
        let logged = LOGGED.with_borrow(|bytes| String::from_utf8_lossy(bytes).into_owned());
        logged.lines().map(str::to_owned).collect()
    }

    /// Returns the warnings and errors.
    pub fn warnings(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| !line.contains(" DEBUG ") && !line.contains(" INFO "));
        lines
    }

    /// Discards all lines.
    pub fn clear(&self) {
        LOGGED.with_borrow_mut(Vec::clear);
    }

    /// Asserts that the only warning is that these creates may have been processed.
    pub fn reports(&self, function: &str, creates: usize) {
        let lines = self.warnings();
        let [line] = lines.as_slice() else {
            panic!("not one line: {lines:?}");
        };
        assert!(line.contains("whether they were processed"), "{line}");
        assert!(line.contains(&format!("function={function} ")), "{line}");
        assert!(line.contains(&format!("creates={creates}")), "{line}");
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
