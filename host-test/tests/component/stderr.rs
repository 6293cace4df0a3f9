//! The destinations of a guest's stderr.

use crate::log::Log;
use crate::stage::{SATISFYING, Script, Step, both_plugins, create, settings};
use std::time::Duration;
use tokio::time::sleep;
use voice_calling_host::{Recorder, STDERR_TARGET, Stderr};

/// A part of each line that the guest writes about an attempt, used as the token.
const TOKEN: &str = "api/v2/dockets";

#[tokio::test(start_paused = true)]
async fn each_line_of_stderr_is_a_warning_in_the_log_without_the_token_unless_it_is_kept() {
    let log = Log::keep();
    for plugin in both_plugins() {
        for (stderr, kept, logged) in [(Stderr::default(), 0, 2), (Stderr::kept(), 2, 0)] {
            log.clear();
            let script = Script::new([Step::status(503), Step::ok(SATISFYING)]);
            let talkative = [("LOG", "attempts"), ("API_TOKEN", TOKEN)];
            let mut settings = settings(&talkative, script.outgoing());
            settings.stderr = stderr;
            // It keeps nothing, but still knows the token.
            settings.outgoing.recorder = Recorder::with_limit(0);
            let mut instance = plugin.instantiate(settings).await.unwrap();
            create(&mut instance, 0).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            let stderr = instance.stderr();
            assert_eq!(stderr.lines().count(), kept, "{stderr}");
            drop(instance);
            let lines = log.warnings();
            assert_eq!(lines.len(), logged, "{lines:?}");
            for (line, status) in lines.iter().zip([503, 200]) {
                assert!(line.contains(&format!(" WARN {STDERR_TARGET}:")), "{line}");
                assert!(line.contains(&format!(r#"\"status\":{status}"#)), "{line}");
                assert!(line.contains(r#"\"path\":\"/[api token]\""#), "{line}");
                assert!(!line.contains(TOKEN), "{line}");
            }
        }
    }
}
