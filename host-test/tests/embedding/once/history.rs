//! Histories that a client writes, and what comes of them when they are played again.

use crate::stage::{CREATED, TOKEN, large, plugin_steps, with_places};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use voice_calling_check::history;
use voice_calling_check::operation::{Arguments, Operation, item};
use voice_calling_check::scenario::{CANARY, Scenario};
use voice_calling_check::script::{Piece, Script, Step};
use voice_calling_host::client::replay::{Replayed, Replayer};
use voice_calling_host::{History, InstanceSettings};

/// What was written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).expect("a history is text")
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn replayer() -> &'static Replayer {
    static REPLAYER: OnceLock<Replayer> = OnceLock::new();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/voice-calling-sans-io.wasm"
    );
    REPLAYER.get_or_init(|| {
        let module = std::fs::read(path).expect("the text module of steps");
        Replayer::new(&module).expect("a module")
    })
}

fn replayed(history: &str) -> Replayed {
    replayer().replay(history.as_bytes()).expect("a history")
}

fn assert_same(history: &str) {
    let Replayed {
        steps, difference, ..
    } = replayed(history);
    assert_eq!(difference, None, "{history}");
    assert!(steps > 0);
}

fn recorded(settings: &mut InstanceSettings) -> Written {
    let written = Written::default();
    settings.history = Some(History::to(written.clone()));
    written
}

/// A create that is refused at first, and all that can happen to others.
async fn eventful() -> String {
    let half = [
        Piece::Bytes(CREATED[..30].to_owned().into()),
        Piece::Pause(Duration::from_secs(60)),
    ];
    let echo = format!(r#"{{"error":"no \"{TOKEN}\" here"}}"#);
    let script = Script::new([
        Step::status(503).header("retry-after", "1").body(echo),
        Step::status(201).pieces(half),
        Step::silence(),
        Step::ok(CREATED),
    ]);
    let mut settings = with_places(script.outgoing(), 3);
    let written = recorded(&mut settings);
    let client = plugin_steps().client(settings).unwrap();
    let (first, late) = (item(0), item(1));
    let dropped = async {
        let docket = item(2);
        let call = client.create_docket_v2(&docket, None);
        timeout(Duration::from_secs(5), call).await.unwrap_err();
    };
    let (first, late, ()) = tokio::join!(
        client.create_docket_v2(&first, None),
        client.create_docket_v2(&late, None),
        dropped
    );
    first.unwrap().unwrap();
    late.unwrap().unwrap_err();
    sleep(Duration::from_secs(1)).await;
    written.text()
}

#[tokio::test(start_paused = true)]
async fn a_history_replays_and_has_everything_but_the_token() {
    let history = eventful().await;
    assert_same(&history);
    assert!(!history.contains(TOKEN), "{history}");
    assert!(history.contains("Bearer masked-token"), "{history}");
    for event in ["Begin", "Answered", "Head", "Chunk", "Abandon"] {
        assert!(
            history.contains(&format!("\"{event}\"")),
            "{event}: {history}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_history_that_was_changed_is_noticed_at_the_first_difference() {
    let history = eventful().await;
    let lines: Vec<_> = history.lines().collect();
    let sends = lines.iter().position(|line| line.contains("\"Send\""));
    let line = sends.expect("a request") + 1;
    for (change, to, place) in [
        // What the guest did.
        (
            "/api/v2/dockets",
            "/api/v3/dockets",
            "Ok.effects[0].Send.request.url",
        ),
        (
            "\"creates\":true",
            "\"creates\":false",
            "Ok.effects[0].Send.creates",
        ),
        // What went in.
        (
            "\"agent_id\":7,\"to_phone_number\":\"919876543210\",\"call_context\":\"{}\"",
            "\"agent_id\":8,\"to_phone_number\":\"919876543210\",\"call_context\":\"{}\"",
            "Ok.effects[0].Send.request.body",
        ),
    ] {
        let changed = history.replacen(change, to, 1);
        assert_ne!(changed, history, "{change}");
        let difference = replayed(&changed).difference.expect("a difference");
        assert_eq!((difference.line, &*difference.place), (line, place));
    }
}

#[test]
fn what_is_no_history_is_refused_with_its_line() {
    let step = r#"{"step":{"events":[],"now_ms":0,"unix_s":0},"stepped":{}}"#;
    let configure = r#"{"configure":{"environment":[],"random":{"Seed":1}}}"#;
    for (history, told) in [
        ("no JSON", "line 1 is not a line of a history"),
        ("{}", "line 1 has neither"),
        (step, "line 1 is a step of an instance"),
        (
            &format!("{configure}\n{}", step.replace("events", "event")),
            "line 2: the module rejected it: ",
        ),
        (
            r#"{"configure":{"environment":[]}}"#,
            "line 1: the module rejected it: ",
        ),
    ] {
        let error = replayer().replay(history.as_bytes()).expect_err(history);
        let error = format!("{error:#}");
        assert!(error.contains(told), "{error}");
    }
    let empty = Replayer::new(b"\0asm\x01\0\0\0").unwrap();
    let error = empty.replay(configure.as_bytes()).unwrap_err();
    assert!(format!("{error:#}").contains("the module has no memory"));
}

/// The instance that trapped is in it, and the next one.
#[tokio::test(start_paused = true)]
async fn a_history_goes_on_after_a_trap() {
    let script = Script::new([Step::ok(CREATED)]);
    let mut settings = with_places(script.outgoing(), 2);
    settings.limits.memory_bytes = 2 << 20;
    let written = recorded(&mut settings);
    let client = plugin_steps().client(settings).unwrap();
    client.create_docket_v2(&large(), None).await.unwrap_err();
    client
        .create_docket_v2(&item(0), None)
        .await
        .unwrap()
        .unwrap();
    let history = written.text();
    assert_eq!(history.matches("\"configure\"").count(), 2);
    // The module has no such limit: there it does not trap, and that is the difference.
    let Replayed {
        instances,
        difference,
        ..
    } = replayed(&history);
    let difference = difference.expect("a difference");
    assert_eq!((instances, &*difference.place), (1, "trapped"));
    assert_eq!(difference.found, "no trap");
}

/// The typed component and the text module are the same machine, whatever the service does.
#[test]
fn random_histories_replay() {
    let runtime = voice_calling_check::paused_runtime().unwrap();
    let plugin = plugin_steps();
    let directed = Operation::ALL.map(|operation| {
        let satisfied = Scenario::satisfying(operation);
        Scenario::new("satisfied", operation, [satisfied])
    });
    for scenario in (0..150).map(history::of_seed).chain(directed) {
        let script = Script::new(
            scenario
                .turns
                .iter()
                .map(|turn| turn.step.clone())
                .collect::<Vec<_>>(),
        );
        let mut settings = with_places(script.outgoing(), 3);
        settings.environment[1].1 = CANARY.to_owned();
        settings.randomness = None;
        let written = recorded(&mut settings);
        runtime.block_on(async {
            let mut instance = plugin.instantiate(settings).await.unwrap();
            let arguments = Arguments {
                items: 5,
                ..scenario.arguments
            };
            let call = scenario.operation.call(&mut instance, arguments, None);
            call.await.unwrap()
        });
        let history = written.text();
        assert_same(&history);
        assert!(!history.contains(&CANARY[..12]), "{history}");
    }
}
