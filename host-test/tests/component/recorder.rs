//! Tests of the recorder: it keeps as many exchanges as its limit allows, and logs each whether it
//! keeps it or not.

use crate::log::Log;
use crate::stage::{SATISFYING, Script, Step, TOKEN};
use http::{Request, Response};
use http_body_util::BodyExt;
use std::time::Duration;
use tokio::time::timeout;
use voice_calling_host::recorder::Ending;
use voice_calling_host::{Outgoing, Recorder};
use wasmtime_wasi_http::{Error, WasiBody, WasiHttpHooks};

/// Returns the network of a service, with this recorder.
fn recorded(script: &Script, recorder: &Recorder) -> Outgoing {
    Outgoing {
        recorder: recorder.clone(),
        ..script.outgoing()
    }
}

/// Sends a request with this path as a guest does.
async fn send(outgoing: &Outgoing, path: &str) -> Result<Response<WasiBody>, Error> {
    let body = http_body_util::Full::from("sent").map_err(|never| match never {});
    let request = Request::builder()
        .uri(format!("http://127.0.0.1/{path}"))
        .header("auth_token", format!("Bearer {TOKEN}"))
        .body(body.boxed_unsync())
        .unwrap();
    let io = Box::new(async { Ok(()) });
    let sending = outgoing.clone().send_request(request, None, io);
    Ok(Box::into_pin(sending).await?.0)
}

#[tokio::test(start_paused = true)]
async fn the_last_exchanges_are_kept_up_to_the_limit() {
    let script = Script::new([Step::ok(SATISFYING)]);
    let long = "x".repeat(1_000);
    for (recorder, kept) in [
        (Recorder::with_limit(100_000), 80..100),
        (Recorder::default(), 200..201),
        (Recorder::with_limit(0), 0..1),
    ] {
        let outgoing = recorded(&script, &recorder);
        for number in 0..200 {
            send(&outgoing, &format!("{long}{number}")).await.unwrap();
        }
        let exchanges = recorder.exchanges();
        assert!(kept.contains(&exchanges.len()), "{}", exchanges.len());
        for (number, exchange) in (0..200).rev().zip(exchanges.iter().rev()) {
            assert_eq!(exchange.id, number);
            assert_eq!(exchange.path_and_query, format!("/{long}{number}"));
            assert_eq!(exchange.ending, Ending::Status(200));
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
        send(&outgoing, "").await.unwrap();
        let cancelled = timeout(Duration::from_secs(1), send(&outgoing, "")).await;
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
