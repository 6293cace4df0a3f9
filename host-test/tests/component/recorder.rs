//! What the recorder keeps of exchanges, and that no guest notices.

use crate::stage::{
    Answered, NUMBER, Operation, Piece, Script, Step, bytes, endless, plugin, run, run_in,
    sent_at_ms, settings,
};
use Operation::{CreateDocketV2, GetDocket, ListAgents};
use serde_json::{Value, json};
use std::time::Duration;
use voice_calling_host::record::exchange::{BodyEnd, Ending};
use voice_calling_host::recorder::KEPT_BODY_BYTES;
use voice_calling_host::types::RequestError;
use voice_calling_host::{Exchange, PersonalData, Reach, Recorder, har};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

const CANARY: &str = "canary-5f1e0c77a1b2";

/// Runs an operation with a recorder that keeps bodies, where it may reach this.
async fn recorded(
    script: &Script,
    operation: Operation,
    settings: &[(&str, &str)],
    reach: Reach,
) -> (Result<Answered, RequestError>, Vec<Exchange>) {
    let recorder = Recorder::default().with_bodies();
    let mut settings = self::settings(settings, script.outgoing());
    settings.outgoing.recorder = recorder.clone();
    settings.outgoing.reach = reach;
    let mut instance = plugin().instantiate(settings).await.expect("an instance");
    let result = run_in(&mut instance, operation, None).await;
    (result, recorder.exchanges())
}

/// The only exchange of an operation that is answered like this.
async fn exchange(operation: Operation, step: Step, settings: &[(&str, &str)]) -> Exchange {
    let settings = [&[("MAX_ATTEMPTS", "1")][..], settings].concat();
    let script = Script::new([step]);
    let (_, exchanges) = recorded(&script, operation, &settings, Reach::Loopback).await;
    let [exchange] = exchanges.try_into().expect("one exchange");
    exchange
}

/// The entry of an exchange in an archive.
fn entry(exchange: &Exchange, personal_data: PersonalData) -> Value {
    let mut archive = har::archive(std::slice::from_ref(exchange), personal_data);
    archive["log"]["entries"][0].take()
}

#[tokio::test(start_paused = true)]
async fn bodies_are_kept_as_they_were_sent_and_answered_where_that_is_asked_for() {
    let script = Script::new([Step::ok(CreateDocketV2.satisfying())]);
    let (_, exchanges) = recorded(&script, CreateDocketV2, &[], Reach::Loopback).await;
    let sent = exchanges[0].body.as_ref().unwrap();
    assert_eq!(sent.bytes, script.sent()[0].body);
    let answered = exchanges[0].answer_body.as_ref().unwrap();
    assert_eq!(answered.bytes, CreateDocketV2.satisfying().as_bytes());
    for body in [sent, answered] {
        assert_eq!((&body.end, body.is_cut), (&BodyEnd::Whole, false));
        assert_eq!(body.size, body.bytes.len() as u64);
    }

    let script = Script::new([Step::ok(CreateDocketV2.satisfying())]);
    run(&script, CreateDocketV2, &[]).await.unwrap();
    let recorder = script.outgoing().recorder;
    let exchange = &recorder.exchanges()[0];
    assert_eq!((&exchange.body, &exchange.answer_body), (&None, &None));
    assert!(!format!("{recorder:?}").contains(NUMBER));
    let entry = entry(exchange, PersonalData::Shown);
    assert_eq!(entry["request"]["postData"], Value::Null);
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
            let expected = run(&plain, operation, &settings).await;
            let took_ms = plain.now_ms();
            let teed = Script::new([step.clone()]);
            let (result, exchanges) = recorded(&teed, operation, &settings, Reach::Loopback).await;
            assert_eq!(teed.now_ms(), took_ms, "{operation}");
            assert_eq!(format!("{result:?}"), format!("{expected:?}"));
            assert_eq!(sent_at_ms(&teed), sent_at_ms(&plain));
            assert_eq!(exchanges.len(), plain.sent().len());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_large_body_the_beginning_is_kept_and_the_size_is_known() {
    let padding = "x".repeat(KEPT_BODY_BYTES);
    let large = format!(r#"{{"docket_id":"d-1","padding":"{padding}"}}"#);
    let size = large.len();
    let whole = exchange(GetDocket, Step::ok(large), &[]).await;
    let body = whole.answer_body.as_ref().unwrap();
    assert_eq!((body.bytes.len(), body.is_cut), (KEPT_BODY_BYTES, true));
    assert_eq!((body.size, &body.end), (size as u64, &BodyEnd::Whole));
    let shown = entry(&whole, PersonalData::Shown);
    let content = &shown["response"]["content"];
    assert_eq!(content["size"], size);
    assert_eq!(content["text"].as_str().unwrap().len(), body.bytes.len());
    assert_eq!(content["comment"], "The end of the body is missing.");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_broke_off_or_was_given_up_is_kept_as_far_as_it_came() {
    let terminated = "connection terminated";
    for (last, end, error) in [
        (
            Piece::Break(ErrorCode::ConnectionTerminated),
            BodyEnd::Broken(terminated.into()),
            json!(terminated),
        ),
        (
            Piece::Pause(Duration::from_secs(60)),
            BodyEnd::Unfinished,
            Value::Null,
        ),
    ] {
        let step = Step::status(200).pieces([bytes("{\"a"), last]);
        let exchange = exchange(CreateDocketV2, step, &[]).await;
        let body = exchange.answer_body.as_ref().unwrap();
        assert_eq!((&body.bytes[..], &body.end), (&b"{\"a"[..], &end));
        assert_eq!(exchange.ending, Ending::Status(200));
        let entry = entry(&exchange, PersonalData::Masked);
        assert_eq!(entry["response"]["_error"], error);
        assert_eq!(entry["response"]["content"]["text"], "[masked: 3 bytes]");
    }
}

#[tokio::test(start_paused = true)]
async fn an_exchange_without_an_answer_is_in_the_archive_with_status_0() {
    let remote = Reach::of_url("https://api.example").unwrap();
    for (step, reach, error) in [
        (Step::silence(), Reach::Loopback, "abandoned"),
        (Step::ok("[]"), remote, "HTTP request denied"),
    ] {
        let script = Script::new([step]);
        let once = [("MAX_ATTEMPTS", "1")];
        let (_, exchanges) = recorded(&script, CreateDocketV2, &once, reach).await;
        let entry = entry(&exchanges[0], PersonalData::Masked);
        let response = &entry["response"];
        let expected = (&json!(0), &json!(error));
        assert_eq!((&response["status"], &response["_error"]), expected);
        assert_eq!(entry["request"]["postData"]["mimeType"], "application/json");
    }
}

#[tokio::test(start_paused = true)]
async fn the_token_is_in_no_record_whatever_echoes_it() {
    let (first, rest) = CANARY.split_at(9);
    let gzip = [&b"\x1f\x8b\x08\xff"[..], CANARY.as_bytes()].concat();
    let refused = || Step::status(401);
    let path = format!("http://127.0.0.1/{}", CANARY.replace('c', "%63"));
    for (step, base_url) in [
        (
            refused().pieces([bytes(first), bytes(rest)]),
            "http://127.0.0.1",
        ),
        (
            refused().pieces([bytes(first), Piece::Break(ErrorCode::ConnectionTerminated)]),
            "http://127.0.0.1",
        ),
        (
            refused().body(format!("{}{CANARY}", "x".repeat(KEPT_BODY_BYTES - 10))),
            "http://127.0.0.1",
        ),
        (refused().body(gzip.clone()), "http://127.0.0.1"),
        (
            refused().body(gzip).header("content-encoding", "gzip"),
            "http://127.0.0.1",
        ),
        (
            Step::fail(ErrorCode::InternalError(Some(format!("sent {CANARY}")))),
            "http://127.0.0.1",
        ),
        (refused(), &path),
    ] {
        let token = [("API_TOKEN", CANARY), ("BASE_URL", base_url)];
        let exchange = exchange(ListAgents, step, &token).await;
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
            for part in [&CANARY[..8], "5f1e0", &CANARY[10..]] {
                assert!(!record.contains(part), "{part} in {record}");
            }
        }
    }
}
