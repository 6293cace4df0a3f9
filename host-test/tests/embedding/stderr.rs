//! Where what a guest writes to stderr is to be seen.

use crate::log::Log;
use crate::stage::{CREATED, create, plugin, plugin_v0_3, settings};
use std::time::Duration;
use tokio::time::sleep;
use voice_calling_check::script::{Script, Step};
use voice_calling_host::{InstanceSettings, Recorder, STDERR_TARGET, Stderr};

/// A part of what the guest writes of an attempt, so that the token is in a line.
const TOKEN: &str = "api/v2/dockets";

/// The settings of an instance that writes a line for each attempt. Its recorder keeps nothing, and
/// knows the token all the same.
fn talkative(script: &Script) -> InstanceSettings {
    let mut settings = settings(script.outgoing());
    let more = [
        ("VOICE_CALLING_LOG", "attempts"),
        ("VOICE_CALLING_API_TOKEN", TOKEN),
    ];
    let is_replaced = |name: &str| more.iter().any(|(new, _)| *new == name);
    settings.environment.retain(|(name, _)| !is_replaced(name));
    let more = more.map(|(name, value)| (name.to_owned(), value.to_owned()));
    settings.environment.extend(more);
    settings.outgoing.recorder = Recorder::keeping(0);
    settings
}

/// A create that takes two attempts.
fn script() -> Script {
    Script::new([Step::status(503), Step::ok(CREATED)])
}

fn assert_two_lines(log: &Log) {
    let lines = log.warnings();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, status) in lines.iter().zip([503, 200]) {
        assert!(line.contains(&format!(" WARN {STDERR_TARGET}:")), "{line}");
        assert!(line.contains(&format!(r#"\"status\":{status}"#)), "{line}");
        assert!(line.contains(r#"\"path\":\"/[api token]\""#), "{line}");
        assert!(!line.contains(TOKEN), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn by_default_each_line_of_stderr_is_a_warning_in_the_log_without_the_token() {
    let log = Log::keep();
    for plugin in [plugin(), plugin_v0_3()] {
        log.clear();
        let mut instance = plugin.instantiate(talkative(&script())).await.unwrap();
        create(&mut instance, 0).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(instance.stderr(), "", "it is not kept");
        drop(instance);
        assert_two_lines(&log);
    }
}

#[tokio::test(start_paused = true)]
async fn stderr_is_to_be_had_where_it_is_kept() {
    let log = Log::keep();
    let mut settings = talkative(&script());
    settings.stderr = Stderr::kept();
    let mut instance = plugin_v0_3().instantiate(settings).await.unwrap();
    create(&mut instance, 0).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let stderr = instance.stderr();
    assert_eq!(stderr.lines().count(), 2, "{stderr}");
    assert!(stderr.contains(r#""path":"/api/v2/dockets""#), "{stderr}");
    assert_eq!(log.warnings(), [""; 0]);
}
