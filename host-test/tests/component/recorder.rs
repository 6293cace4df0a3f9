//! Tests of the recorder: it keeps as much of each exchange as its settings allow, logs each
//! exchange whether it keeps it or not, and changes nothing for the guest.

use crate::log::Log;
use crate::stage::{
    Operation, Piece, SATISFYING, Script, Step, TOKEN, bytes, endless, plugin, run, run_in,
    sent_at_ms, settings,
};
use http::{Request, Response};
use http_body_util::BodyExt;
use std::time::Duration;
use tokio::time::timeout;
use voice_calling_host::record::exchange::{BodyEnd, Ending};
use voice_calling_host::recorder::{KEPT_BODY_BYTES, KEPT_BYTES};
use voice_calling_host::{Outgoing, Reach, Recorder};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, WasiBody, WasiHttpHooks};

/// Returns the network of a service, with this recorder.
fn recorded(script: &Script, recorder: &Recorder) -> Outgoing {
    Outgoing {
        recorder: recorder.clone(),
        ..script.outgoing()
    }
}

/// Sends a request with this path and token as a guest does.
async fn send(outgoing: &Outgoing, path: &str, token: &str) -> Result<Response<WasiBody>, Error> {
    let body = http_body_util::Full::from("sent").map_err(|never| match never {});
    let request = Request::builder()
        .uri(format!("http://127.0.0.1/{path}"))
        .header("auth_token", format!("Bearer {token}"))
        .body(body.boxed_unsync())
        .unwrap();
    let io = Box::new(async { Ok(()) });
    let sending = outgoing.clone().send_request(request, None, io);
    Ok(Box::into_pin(sending).await?.0)
}

/// Returns the whole body of the answer to such a request, or the error.
async fn read(outgoing: &Outgoing, path: &str) -> Result<Vec<u8>, Error> {
    let answered = send(outgoing, path, TOKEN).await?;
    Ok(answered.into_body().collect().await?.to_bytes().to_vec())
}

#[tokio::test(start_paused = true)]
async fn the_last_exchanges_are_kept_up_to_the_limit() {
    let script = Script::new([Step::ok(vec![b'x'; KEPT_BYTES / 100])]);
    for (recorder, kept) in [
        // Not quite a hundred: they have heads as well.
        (Recorder::default().with_bodies(), 90..100),
        (Recorder::default(), 200..201),
        (Recorder::with_limit(usize::MAX).with_bodies(), 200..201),
        (Recorder::with_limit(0).with_bodies(), 0..1),
    ] {
        let outgoing = recorded(&script, &recorder);
        for number in 0..200 {
            read(&outgoing, &number.to_string()).await.unwrap();
        }
        let exchanges = recorder.exchanges();
        assert!(kept.contains(&exchanges.len()), "{}", exchanges.len());
        for (number, exchange) in (0..200).rev().zip(exchanges.iter().rev()) {
            assert_eq!(exchange.id, number);
            assert_eq!(exchange.path_and_query, format!("/{number}"));
            assert_eq!(exchange.ending, Ending::Status(200));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_are_kept_as_far_as_they_came_up_to_a_limit_and_only_where_that_is_asked_for() {
    let broken = Piece::Break(ErrorCode::ConnectionTerminated);
    let waiting = Piece::Pause(Duration::from_secs(60));
    let terminated = BodyEnd::Failed("connection terminated".to_owned());
    let large = vec![b'x'; KEPT_BODY_BYTES + 1];
    for (pieces, size, end) in [
        (vec![bytes("who"), bytes("le")], 5, BodyEnd::Complete),
        (vec![bytes(large)], KEPT_BODY_BYTES + 1, BodyEnd::Complete),
        (vec![bytes("{\"a"), broken], 3, terminated),
        (vec![bytes("{\"a"), waiting], 3, BodyEnd::Unfinished),
    ] {
        let script = Script::new([Step::status(200).pieces(pieces)]);
        let recorder = Recorder::default();
        for recorder in [recorder.clone(), recorder.clone().with_bodies()] {
            let outgoing = recorded(&script, &recorder);
            let _given_up = timeout(Duration::from_secs(1), read(&outgoing, "")).await;
        }
        let [without, with] = recorder.exchanges().try_into().unwrap();
        assert_eq!((without.body, without.response_body), (None, None));
        assert_eq!(with.ending, Ending::Status(200));
        let sent = with.body.unwrap();
        assert_eq!(
            (&sent.bytes[..], sent.end),
            (&b"sent"[..], BodyEnd::Complete)
        );
        let answered = with.response_body.unwrap();
        assert_eq!((answered.size, answered.end), (size as u64, end));
        assert_eq!(answered.bytes.len(), size.min(KEPT_BODY_BYTES));
        assert_eq!(answered.is_cut, size > KEPT_BODY_BYTES);
    }
}

#[tokio::test(start_paused = true)]
async fn a_guest_sees_the_same_at_the_same_time_whether_bodies_are_kept_or_not() {
    let pause = || Piece::Pause(Duration::from_millis(700));
    for step in [
        Step::ok(SATISFYING).after_ms(40),
        Step::status(200).pieces([bytes("{\"docket_id\""), pause(), bytes(":"), pause()]),
        Step::status(422).pieces([bytes("x"), Piece::Break(ErrorCode::ConnectionTerminated)]),
        Step::status(200).pieces([endless([b' '; 300], Duration::from_millis(9))]),
        Step::fail(ErrorCode::ConnectionRefused).after_ms(5),
        Step::status(503).after_ms(3).without_reading(),
        Step::silence(),
    ] {
        for operation in Operation::READ_AND_CREATE {
            let limits = [
                ("MAX_RESPONSE_BYTES", "4000"),
                ("ATTEMPT_TIMEOUT_MS", "2000"),
            ];
            let plain = Script::new([step.clone()]);
            let expected = run(&plain, operation, &limits).await;
            let took_ms = plain.now_ms();
            let teed = Script::new([step.clone()]);
            let recorder = Recorder::default().with_bodies();
            let settings = settings(&limits, recorded(&teed, &recorder));
            let mut instance = plugin().instantiate(settings).await.unwrap();
            let result = run_in(&mut instance, operation).await;
            assert_eq!(teed.now_ms(), took_ms, "{operation}");
            assert_eq!(format!("{result:?}"), format!("{expected:?}"));
            assert_eq!(sent_at_ms(&teed), sent_at_ms(&plain));
            assert_eq!(recorder.exchanges().len(), plain.sent().len());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_exchange_is_logged_whatever_is_kept() {
    let log = Log::keep();
    for recorder in [Recorder::with_limit(0), Recorder::default()] {
        log.clear();
        let script = Script::new([Step::status(404), Step::silence()]);
        let outgoing = recorded(&script, &recorder);
        send(&outgoing, "", TOKEN).await.unwrap();
        let cancelled = timeout(Duration::from_secs(1), send(&outgoing, "", TOKEN)).await;
        assert!(cancelled.is_err(), "the service never answers");
        let lines = log.lines();
        let [answered, cancelled] = lines.as_slice() else {
            panic!("not two lines: {lines:?}");
        };
        for part in ["exchange", "GET", "127.0.0.1", "404"] {
            assert!(answered.contains(part), "{part} in {answered}");
        }
        assert!(cancelled.contains("cancelled"), "{cancelled}");
    }
}

/// Otherwise a guest could censor words for others by sending them.
#[tokio::test(start_paused = true)]
async fn a_guest_teaches_a_recorder_no_token_by_sending_it() {
    let remote = Reach::of_url("https://api.example").unwrap();
    // Even if the request is denied.
    for reach in [Reach::Loopback, remote] {
        let script = Script::new([Step::status(200)]);
        let recorder = Recorder::default();
        let mut outgoing = recorded(&script, &recorder);
        outgoing.reach = reach;
        let _answered = send(&outgoing, "ordinary-word", "ordinary-word").await;
        assert_eq!(recorder.secrets().count(), 0);
        let exchange = recorder.exchanges().pop().unwrap();
        assert_eq!(exchange.path_and_query, "/ordinary-word");
        let token = ("auth_token".to_owned(), "Bearer [masked]".to_owned());
        assert!(exchange.headers.contains(&token), "{exchange:?}");
    }
}
