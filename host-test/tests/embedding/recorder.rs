//! How much a recorder keeps, and that it logs whatever it keeps.

use crate::log::Log;
use crate::stage::TOKEN;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use std::time::Duration;
use tokio::time::timeout;
use voice_calling_check::script::{Piece, Script, Step};
use voice_calling_host::network::answer;
use voice_calling_host::record::exchange::{BodyEnd, Ending};
use voice_calling_host::recorder::KEPT_BYTES;
use voice_calling_host::{Exchange, InMemoryNetwork, Outgoing, Reach, Recorder};
use wasmtime_wasi_http::{Error, WasiBody, WasiHttpHooks};

/// Sends a request with this path and token as a guest does.
async fn send(outgoing: &Outgoing, path: &str, token: &str) -> Result<Response<WasiBody>, Error> {
    let body = http_body_util::Empty::new().map_err(|never| match never {});
    let request = Request::builder()
        .uri(format!("http://127.0.0.1/{path}"))
        .header("auth_token", format!("Bearer {token}"))
        .body(body.boxed_unsync())
        .unwrap();
    let io = Box::new(async { Ok(()) });
    let sending = outgoing.clone().send_request(request, None, io);
    Ok(Box::into_pin(sending).await?.0)
}

/// A way out to a service that answers every request with so many bytes.
fn answering(bytes: usize, recorder: Recorder) -> Outgoing {
    let network =
        InMemoryNetwork(move |_, _| async move { Ok(answer(StatusCode::OK, vec![b'x'; bytes])) });
    Outgoing {
        recorder,
        ..Outgoing::loopback(network)
    }
}

/// Sends requests to the paths `/0`, `/1` and so on, and reads their answers.
async fn send_many(outgoing: &Outgoing, count: usize) {
    for number in 0..count {
        let answered = send(outgoing, &number.to_string(), TOKEN).await.unwrap();
        answered.into_body().collect().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_exchanges_are_kept_up_to_the_limit() {
    const BODY_BYTES: usize = KEPT_BYTES / 100;
    for (recorder, kept) in [
        // Not quite a hundred: they have heads as well.
        (Recorder::default().with_bodies(), 90..100),
        (Recorder::default(), 200..201),
        (Recorder::keeping(usize::MAX).with_bodies(), 200..201),
        (Recorder::keeping(0).with_bodies(), 0..1),
    ] {
        let outgoing = answering(BODY_BYTES, recorder.clone());
        send_many(&outgoing, 200).await;
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
async fn an_exchange_goes_on_after_its_record_was_evicted_and_leaves_the_others_alone() {
    let script = Script::new([
        // Its record goes before its answer is there.
        Step::ok("late").after_ms(100),
        // Its record goes while its answer is read.
        Step::status(200).pieces([
            Piece::Bytes("slow".into()),
            Piece::Pause(Duration::from_millis(100)),
            Piece::Bytes("ly".into()),
        ]),
        Step::status(404).body("kept").after_ms(10),
    ]);
    // Enough for one of them.
    let recorder = Recorder::keeping(3 * size_of::<Exchange>() / 2).with_bodies();
    let mut outgoing = script.outgoing();
    outgoing.recorder = recorder.clone();
    let read = async |path| {
        let answered = send(&outgoing, path, TOKEN).await.unwrap();
        let body = answered.into_body().collect().await.unwrap();
        String::from_utf8(body.to_bytes().to_vec()).unwrap()
    };
    let bodies = tokio::join!(read("late"), read("slowly"), read("kept"));
    assert_eq!(bodies, ("late".into(), "slowly".into(), "kept".into()));
    let [exchange] = recorder.exchanges().try_into().unwrap();
    assert_eq!(exchange.path_and_query, "/kept");
    assert_eq!(exchange.ending, Ending::Status(404));
    assert_eq!(exchange.duration, Duration::from_millis(10));
    let body = exchange.answer_body.unwrap();
    assert_eq!((&body.bytes[..], body.end), (&b"kept"[..], BodyEnd::Whole));
}

#[tokio::test(start_paused = true)]
async fn every_exchange_is_logged_whatever_is_kept() {
    let log = Log::keep();
    for recorder in [Recorder::keeping(0), Recorder::default()] {
        log.clear();
        let script = Script::new([Step::status(404), Step::silence()]);
        let mut outgoing = script.outgoing();
        outgoing.recorder = recorder;
        send(&outgoing, "", TOKEN).await.unwrap();
        let abandoned = send(&outgoing, "", TOKEN);
        let abandoned = timeout(Duration::from_secs(1), abandoned).await;
        assert!(abandoned.is_err(), "the service never answers");
        let lines = log.lines();
        let [answered, abandoned] = lines.as_slice() else {
            panic!("not two lines: {lines:?}");
        };
        for part in ["exchange", "GET", "127.0.0.1", "404"] {
            assert!(answered.contains(part), "{part} in {answered}");
        }
        assert!(abandoned.contains("abandoned"), "{abandoned}");
    }
}

/// Nor does it censor words for others by sending them.
#[tokio::test(start_paused = true)]
async fn a_guest_teaches_a_recorder_no_token_by_sending_it() {
    for reach in [None, Some(Reach::of_url("https://api.example").unwrap())] {
        let mut outgoing = answering(0, Recorder::default());
        outgoing.reach = reach.unwrap_or(outgoing.reach);
        for number in 0..100 {
            // Denied ones too.
            let _answered = send(&outgoing, "dockets", &format!("dockets-{number}")).await;
        }
        let _answered = send(&outgoing, "ordinary-word", "ordinary-word").await;
        assert_eq!(outgoing.recorder.secrets().count(), 0);
        let exchange = outgoing.recorder.exchanges().pop().unwrap();
        assert_eq!(exchange.path_and_query, "/ordinary-word");
        let token = ("auth_token".to_owned(), "Bearer [masked]".to_owned());
        assert!(exchange.headers.contains(&token), "{exchange:?}");
    }
}
