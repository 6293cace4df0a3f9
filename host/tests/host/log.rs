//! The host's log: exchanges, and a guest's stderr.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Once;
use std::time::Duration;
use tokio::time::sleep;
use voice_calling_host::{STDERR_TARGET, Stderr};
use voice_calling_test_guests::{
    NUMBER, SATISFYING, Script, Step, both_plugins, create, plugin, settings,
};

thread_local! {
    /// The log of the current test, which runs in its own thread.
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Collects the host's log from now on. The process has one subscriber: with one per test, whether
/// a line is enabled would depend on whichever came first.
pub(crate) struct Log;

impl Log {
    pub(crate) fn keep() -> Self {
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
    pub(crate) fn lines(&self) -> Vec<String> {
        let logged = LOGGED.with_borrow(|bytes| String::from_utf8_lossy(bytes).into_owned());
        logged.lines().map(str::to_owned).collect()
    }

    /// Returns the warnings and errors.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| !line.contains(" DEBUG ") && !line.contains(" INFO "));
        lines
    }

    /// Discards all lines.
    pub(crate) fn clear(&self) {
        LOGGED.with_borrow_mut(Vec::clear);
    }

    /// Asserts that the only warning is that these creates may have been processed.
    pub(crate) fn reports(&self, function: &str, creates: usize) {
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

/// A part of each line that the guest writes about an attempt, used as the token.
const TOKEN: &str = "api/v2/dockets";

#[tokio::test(start_paused = true)]
async fn each_line_of_stderr_is_a_warning_in_the_log_without_token_and_number_unless_it_is_kept() {
    let log = Log::keep();
    for plugin in both_plugins() {
        for (stderr, attempts, kept, logged) in [
            (Stderr::default(), "attempts", 0, 2),
            (Stderr::kept(), "attempts", 2, 0),
            (Stderr::kept(), "off", 0, 0),
        ] {
            log.clear();
            let script = Script::new([Step::status(503), Step::ok(SATISFYING)]);
            let variables = [("LOG", attempts), ("API_TOKEN", TOKEN)];
            let mut settings = settings(&variables, script.outgoing());
            settings.stderr = stderr;
            let mut shown = format!("{settings:?}");
            let mut instance = plugin.instantiate(settings).await.unwrap();
            create(&mut instance, 0).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            shown += &format!("{instance:?}");
            assert!(
                shown.contains("_API_TOKEN") && !shown.contains(TOKEN),
                "{shown}"
            );
            let stderr = instance.sandbox.stderr();
            assert_eq!(stderr.lines().count(), kept, "{stderr}");
            drop(instance);
            let lines = log.warnings();
            assert_eq!(lines.len(), logged, "{lines:?}");
            for (line, status) in lines.iter().zip([503, 200]) {
                assert!(line.contains(&format!(" WARN {STDERR_TARGET}:")), "{line}");
                assert!(line.contains(&format!(r#"\"status\":{status}"#)), "{line}");
                assert!(line.contains(r#"\"path\":\"/[api token]\""#), "{line}");
                assert!(!line.contains(TOKEN) && !line.contains(NUMBER), "{line}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_exchange_is_logged_when_it_has_ended() {
    let log = Log::keep();
    let script = Script::new([Step::status(404), Step::silence()]);
    let settings = settings(&[("ATTEMPT_TIMEOUT_MS", "900")], script.outgoing());
    let mut instance = plugin().instantiate(settings).await.unwrap();
    for _ in 0..2 {
        create(&mut instance, 0).await.unwrap_err();
    }
    sleep(Duration::from_secs(1)).await;
    let lines = log.lines();
    let [answered, cancelled] = lines.as_slice() else {
        panic!("not two lines: {lines:?}");
    };
    for part in ["exchange", "POST", "http://127.0.0.1", "404"] {
        assert!(answered.contains(part), "{part} in {answered}");
    }
    assert!(cancelled.contains("cancelled"), "{cancelled}");
}
