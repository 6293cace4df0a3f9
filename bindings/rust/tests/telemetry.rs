//! Telemetry: a span for each operation and for each attempt, and counters.

use crate::log::Log;
use crate::{listen, request};
use std::time::Duration;
use tracing::{Level, Subscriber};
use tracing_subscriber::fmt::format::FmtSpan;
use voice_calling::Ledger;
use voice_calling::testing::{Answer, ScriptedService};

/// Returns what writes spans when they end, and counters.
fn subscriber(log: &Log) -> impl Subscriber + use<> {
    listen();
    let log = log.clone();
    let lines = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(Level::DEBUG);
    lines
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(move || log.clone())
        .finish()
}

/// Returns the counters in lines.
fn counters(lines: &[String]) -> Vec<&str> {
    let counter = "\"create_docket_v2\" monotonic_counter.voice_calling.";
    let counters = lines.iter().filter_map(|line| line.split(counter).nth(1));
    counters.collect()
}

#[tokio::test]
async fn an_operation_and_each_attempt_has_a_span_in_which_its_hook_runs() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(subscriber(&log));
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("calls.db")).unwrap();
    let service = ScriptedService::new();
    service.answer(Answer::status(429));
    let builder = service.builder().ledger(ledger).on_attempt(|_| {
        tracing::info!("the hook");
        |_| {}
    });
    let client = builder.build().unwrap().with_key("k-1");
    for _ in 0..2 {
        client.create_docket_v2(&request(1)).await.unwrap();
    }
    let lines = log.take_lines().join("\n");
    let [hooks, attempts] = ["the hook", "close"].map(|what| {
        let is_attempt = |line: &&str| line.contains(":attempt{") && line.contains(what);
        lines.lines().filter(is_attempt).collect::<Vec<_>>()
    });
    assert_eq!((hooks.len(), attempts.len()), (2, 2), "{lines}");
    for (attempt, end) in attempts.iter().zip([
        "http.response.status_code=429 error.type=\"429\" otel.status_code=\"ERROR\"",
        "http.response.status_code=200}",
    ]) {
        for part in [
            "create_docket_v2{voice_calling.external_id=\"crm-1\" voice_calling.key=\"k-1\"",
            "otel.kind=\"client\" otel.name=\"POST\" http.request.method=\"POST\"",
            "server.address=\"",
            "server.port=",
            "/api/v2/dockets",
            end,
        ] {
            assert!(attempt.contains(part), "{part}: {attempt}");
        }
    }
    let is_operation = |line: &&str| line.contains("close") && !line.contains(":attempt{");
    let operations: Vec<_> = lines.lines().filter(is_operation).collect();
    let [first, second] = operations[..] else {
        panic!("{lines}");
    };
    for (line, from_ledger) in [(first, "false"), (second, "true")] {
        let end = format!(
            "voice_calling.from_ledger={from_ledger} voice_calling.may_be_duplicate=false}}"
        );
        assert!(line.contains(&end), "{line}");
    }
    let lines: Vec<_> = lines.lines().map(str::to_owned).collect();
    assert_eq!(counters(&lines), ["created=1"]);
}

#[tokio::test]
async fn creates_of_unknown_outcome_possible_duplicates_and_an_open_breaker_are_counted() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(subscriber(&log));
    let service = ScriptedService::new();
    let client = service.client().with_max_attempts(2);
    service.answer(Answer::status(503));
    client.create_docket_v2(&request(1)).await.unwrap();
    service.answer(Answer::lost());
    let error = client.create_docket_v2(&request(2)).await.unwrap_err();
    assert!(error.may_have_created());
    let lines = log.take_lines();
    let failed = lines
        .iter()
        .filter(|line| line.contains("error.type=\"outcome-unknown\""));
    assert_eq!(failed.count(), 1, "{lines:?}");
    assert_eq!(
        counters(&lines),
        ["created=1", "may_be_duplicate=1", "unknown=1"]
    );

    service.answer(Answer::lost().repeated());
    let requests = (10..30).map(request);
    let batch = client.create_dockets_v2(requests, Duration::from_secs(60));
    let mut batch = batch.unwrap();
    while batch.next().await.is_some() {}
    let lines = log.take_lines();
    let count = |it: &str| lines.iter().filter(|line| line.ends_with(it)).count();
    let counted = (count(".unknown=1"), count(".breaker_open=1"));
    assert_eq!(counted, (5, 1), "{lines:?}");
}

#[tokio::test]
async fn a_create_that_is_dropped_is_counted_and_its_attempt_has_ended_without_a_response() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(subscriber(&log));
    let service = ScriptedService::new();
    service.answer(Answer::silence());
    let client = service.client();
    let (hold, request) = (service.hold_time(), request(1));
    tokio::select! {
        biased;
        ended = client.create_docket_v2(&request) => panic!("it ended before: {ended:?}"),
        () = service.advance(Duration::from_millis(500)) => {}
    }
    drop(hold);
    let lines = log.take_lines();
    assert_eq!(counters(&lines), ["unknown=1"]);
    let silent = lines
        .iter()
        .filter(|line| line.contains("error.type=\"no_response\""));
    assert!(silent.count() > 0, "{lines:?}");
}
