//! What the recorder keeps of exchanges, and that no guest notices.

use crate::operation::Operation::{CreateDocketV2, ListAgents};
use crate::operation::Run;
use crate::operation::{Answered, Operation};
use crate::script::{Piece, Script, Step, bytes, endless};
use crate::stage::{NUMBER, plugin};
use serde_json::{Value, json};
use std::time::Duration;
use voice_calling_host::record::exchange::{BodyEnd, Ending};
use voice_calling_host::recorder::KEPT_BODY_BYTES;
use voice_calling_host::types::RequestError;
use voice_calling_host::{Exchange, PersonalData, Reach, Recorder, har};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

const CANARY: &str = "canary-5f1e0c77a1b2";

/// Runs an operation with a recorder that keeps bodies.
async fn recorded(
    script: &Script,
    operation: Operation,
    settings: &[(&str, &str)],
) -> (Result<Answered, RequestError>, Recorder) {
    let recorder = Recorder::default().with_bodies();
    let mut settings = script.settings(settings);
    settings.outgoing.recorder = recorder.clone();
    let mut instance = plugin().instantiate(settings).await.expect("an instance");
    (operation.run(&mut instance).await, recorder)
}

/// The only exchange of a create that is answered like this.
async fn exchange(step: Step, settings: &[(&str, &str)]) -> Exchange {
    exchange_of(CreateDocketV2, step, settings).await
}

async fn exchange_of(operation: Operation, step: Step, settings: &[(&str, &str)]) -> Exchange {
    let mut all = vec![("MAX_ATTEMPTS", "1")];
    all.extend(settings);
    let (_, recorder) = recorded(&Script::new([step]), operation, &all).await;
    let [exchange] = recorder.exchanges().try_into().expect("one exchange");
    exchange
}

/// The entry of an exchange in an archive.
fn entry(exchange: &Exchange, personal_data: PersonalData) -> Value {
    let mut archive = har::archive(std::slice::from_ref(exchange), personal_data);
    archive["log"]["entries"][0].take()
}

#[tokio::test(start_paused = true)]
async fn no_body_is_kept_unless_it_is_asked_for() {
    let script = Script::new([Step::ok(CreateDocketV2.satisfying())]);
    script.run(CreateDocketV2, &[]).await.unwrap();
    let exchange = &script.recorder().exchanges()[0];
    assert_eq!((&exchange.body, &exchange.answer_body), (&None, &None));
    assert!(!format!("{:?}", script.recorder()).contains(NUMBER));
    let entry = entry(exchange, PersonalData::Shown);
    assert_eq!(entry["request"]["postData"], Value::Null);
    assert_eq!(entry["response"]["status"], 200);
}

#[tokio::test(start_paused = true)]
async fn bodies_are_kept_as_they_were_sent_and_answered() {
    let script = Script::new([Step::ok(CreateDocketV2.satisfying())]);
    let (result, recorder) = recorded(&script, CreateDocketV2, &[]).await;
    result.unwrap();
    let exchange = &recorder.exchanges()[0];
    let sent = exchange.body.as_ref().unwrap();
    assert_eq!(sent.bytes, script.sent()[0].body);
    assert!(String::from_utf8_lossy(&sent.bytes).contains(NUMBER));
    let answered = exchange.answer_body.as_ref().unwrap();
    assert_eq!(answered.bytes, CreateDocketV2.satisfying().as_bytes());
    for body in [sent, answered] {
        assert_eq!((&body.end, body.is_cut), (&BodyEnd::Whole, false));
        assert_eq!(body.size, body.bytes.len() as u64);
    }
}

#[tokio::test(start_paused = true)]
async fn a_guest_sees_the_same_at_the_same_time_whether_bodies_are_kept_or_not() {
    let pause = || Piece::Pause(Duration::from_millis(700));
    for step in [
        Step::ok(CreateDocketV2.satisfying()).after_ms(40),
        Step::status(200).pieces([bytes("{\"docket_id\""), pause(), bytes(":"), pause()]),
        Step::status(422).pieces([bytes("x"), Piece::Break(ErrorCode::ConnectionTerminated)]),
        Step::status(200).pieces([endless([b' '; 300], Duration::from_millis(9))]),
        Step::status(503).pieces([endless(" ", Duration::from_secs(3))]),
        Step::ok("x".repeat(10_000)),
        Step::fail(ErrorCode::ConnectionRefused).after_ms(5),
        Step::status(503).after_ms(3).without_reading(),
        Step::silence(),
    ] {
        for operation in Operation::READ_AND_CREATE {
            let settings = [
                ("MAX_RESPONSE_BYTES", "4000"),
                ("ATTEMPT_TIMEOUT_MS", "2000"),
            ];
            let plain = Script::new([step.clone()]);
            let expected = plain.run(operation, &settings).await;
            let took_ms = plain.now_ms();
            let teed = Script::new([step.clone()]);
            let (result, recorder) = recorded(&teed, operation, &settings).await;
            assert_eq!(teed.now_ms(), took_ms, "{operation:?}");
            assert_eq!(format!("{result:?}"), format!("{expected:?}"));
            assert_eq!(teed.sent_at_ms(), plain.sent_at_ms());
            assert_eq!(recorder.exchanges().len(), plain.sent().len());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_large_body_the_beginning_is_kept_and_the_size_is_known() {
    let padding = "x".repeat(KEPT_BODY_BYTES);
    let large = format!(r#"{{"docket_id":"d-1","padding":"{padding}"}}"#);
    let size = large.len();
    let whole = exchange_of(Operation::GetDocket, Step::ok(large), &[]).await;
    let body = whole.answer_body.as_ref().unwrap();
    assert_eq!((body.bytes.len(), body.is_cut), (KEPT_BODY_BYTES, true));
    assert_eq!((body.size, &body.end), (size as u64, &BodyEnd::Whole));
    let shown = entry(&whole, PersonalData::Shown);
    let content = &shown["response"]["content"];
    assert_eq!(content["size"], size);
    assert_eq!(content["text"].as_str().unwrap().len(), body.bytes.len());
    assert_eq!(content["comment"], "The end of the body is missing.");
    let masked = entry(&whole, PersonalData::Masked);
    let text = format!("[masked: {size} bytes]");
    assert_eq!(masked["response"]["content"]["text"], text);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_broke_off_or_was_given_up_is_kept_as_far_as_it_came() {
    let error = ErrorCode::ConnectionTerminated;
    let broken = exchange(
        Step::status(200).pieces([bytes("{\"a"), Piece::Break(error)]),
        &[],
    );
    let pause = Piece::Pause(Duration::from_secs(60));
    let given_up = exchange(Step::status(200).pieces([bytes("{\"a"), pause]), &[]);
    let broken_end = BodyEnd::Broken("connection terminated".into());
    for (exchange, end, error) in [
        (broken.await, broken_end, json!("connection terminated")),
        (given_up.await, BodyEnd::Unfinished, Value::Null),
    ] {
        let body = exchange.answer_body.as_ref().unwrap();
        assert_eq!((&body.bytes[..], &body.end), (&b"{\"a"[..], &end));
        assert_eq!(exchange.ending, Ending::Status(200));
        let entry = entry(&exchange, PersonalData::Masked);
        assert_eq!(entry["response"]["_error"], error);
        assert_eq!(entry["response"]["content"]["text"], "[masked: 3 bytes]");
    }
}

#[tokio::test(start_paused = true)]
async fn denied_failed_and_abandoned_exchanges_are_in_the_archive_with_status_0() {
    let abandoned = exchange(Step::silence(), &[]).await;
    let refused = exchange(Step::fail(ErrorCode::ConnectionRefused), &[]).await;
    let message = format!("call {NUMBER}");
    let failed = exchange(Step::fail(ErrorCode::InternalError(Some(message))), &[]).await;
    let script = Script::new([Step::ok("[]")]);
    let recorder = Recorder::default().with_bodies();
    let mut settings = script.settings(&[]);
    settings.outgoing.reach = Reach::of_url("https://api.example").unwrap();
    settings.outgoing.recorder = recorder.clone();
    let mut instance = plugin().instantiate(settings).await.unwrap();
    CreateDocketV2.run(&mut instance).await.unwrap_err();
    let [denied] = recorder.exchanges().try_into().unwrap();
    for (exchange, error) in [
        (abandoned, "abandoned"),
        (refused, "connection refused"),
        (failed, "internal error"),
        (denied, "HTTP request denied"),
    ] {
        let entry = entry(&exchange, PersonalData::Masked);
        let response = &entry["response"];
        assert_eq!(
            (&response["status"], &response["_error"]),
            (&json!(0), &json!(error))
        );
        assert_eq!(entry["request"]["postData"]["mimeType"], "application/json");
    }
}

#[tokio::test(start_paused = true)]
async fn the_token_is_in_no_record_whatever_echoes_it() {
    let (first, rest) = CANARY.split_at(9);
    let token = [("API_TOKEN", CANARY)];
    let gzip = [&b"\x1f\x8b\x08\xff"[..], CANARY.as_bytes()].concat();
    for step in [
        Step::status(401).body(format!("wrong: {CANARY}")),
        Step::status(401).pieces([bytes(first), bytes(rest)]),
        Step::status(401).pieces([bytes(first), Piece::Break(ErrorCode::ConnectionTerminated)]),
        Step::status(401).body(format!("{}{CANARY}", "x".repeat(KEPT_BODY_BYTES - 10))),
        Step::status(401).body(gzip.clone()),
        Step::status(401)
            .body(gzip)
            .header("content-encoding", "gzip"),
        Step::status(401).header("x-echo", CANARY),
        Step::status(401).header("auth_token", CANARY),
        Step::status(302).header(
            "location",
            format!("/?token={}", CANARY.replace('-', "%2d")),
        ),
        Step::fail(ErrorCode::InternalError(Some(format!("sent {CANARY}")))),
    ] {
        let exchange = exchange(step, &token).await;
        let mut records = vec![format!("{exchange:?}")];
        for personal_data in [PersonalData::Masked, PersonalData::Shown] {
            let entry = entry(&exchange, personal_data);
            let content = &entry["response"]["content"];
            if content["encoding"] == "base64" {
                use base64::Engine;
                let text = content["text"].as_str().unwrap();
                let decoded = base64::prelude::BASE64_STANDARD.decode(text).unwrap();
                records.push(String::from_utf8_lossy(&decoded).into_owned());
            }
            records.push(entry.to_string());
        }
        for record in records {
            for half in [&CANARY[..8], &CANARY[10..]] {
                assert!(!record.contains(half), "{half} in {record}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_in_a_path_is_masked_however_it_is_encoded() {
    for base_url in [
        format!("http://127.0.0.1/{CANARY}"),
        format!("http://127.0.0.1/{}", CANARY.replace('c', "%63")),
    ] {
        let script = Script::new([Step::ok("[]")]);
        let settings = [("API_TOKEN", CANARY), ("BASE_URL", base_url.as_str())];
        let (result, recorder) = recorded(&script, ListAgents, &settings).await;
        result.unwrap();
        assert!(script.sent()[0].path_and_query().contains("5f1e0"));
        let [exchange] = recorder.exchanges().try_into().unwrap();
        assert!(!format!("{exchange:?}").contains("5f1e0"), "{exchange:?}");
        let entry = entry(&exchange, PersonalData::Shown).to_string();
        assert!(!entry.contains("5f1e0"), "{entry}");
    }
}

#[tokio::test(start_paused = true)]
async fn keeping_bodies_changes_no_error() {
    let step = Step::status(429)
        .header("retry-after", "1")
        .body("slow down");
    let script = Script::new([step]);
    let (result, _) = recorded(&script, CreateDocketV2, &[("MAX_ATTEMPTS", "3")]).await;
    let error = result.unwrap_err();
    assert_eq!((error.case(), error.attempts().len()), ("rate-limited", 3));
}
