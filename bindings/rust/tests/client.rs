//! What only the Rust client has: futures that can be spawned, and runtimes that end or are blocked.

#[path = "table/log.rs"]
mod log;

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};
use voice_calling::{Cancellation, Client, DocketRequestV2, FailureKind};
use voice_calling_peer::{Behaviour, Peer, read_request};

const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

fn request() -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: "919876543210".to_owned(),
        call_context: "{}".to_owned(),
        external_id: Some("crm-1".to_owned()),
        extra: None,
    }
}

fn body() -> String {
    format!(r#"{{"docket_id":"{DOCKET_ID}","status":"OPEN","created":true}}"#)
}

/// The answer to a create, after which the connection is kept.
fn answer() -> String {
    let body = body();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A service that creates a docket for each connection.
async fn service() -> Peer {
    let answer = answer().replace(" OK\r\n", " OK\r\nconnection: close\r\n");
    let peer = Peer::start([Behaviour::Send(answer.into_bytes())]);
    peer.await.unwrap()
}

fn builder(base_url: &str) -> voice_calling::Builder {
    log::listen();
    let builder = Client::builder()
        .base_url(base_url)
        .api_token("token-of-a-test");
    builder
        .setting("BACKOFF_MS", 1)
        .setting("MAX_BACKOFF_MS", 1)
}

fn client(base_url: &str) -> Client {
    builder(base_url).build().unwrap()
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn a_client_goes_on_in_another_runtime_when_the_first_has_ended() {
    let services = runtime();
    let service = services.block_on(service());
    let client = client(&service.base_url());
    for _ in 0..3 {
        let (runtime, client) = (runtime(), client.clone());
        let created = runtime.spawn(async move { client.create_docket_v2(&request()).await });
        let created = runtime.block_on(created).unwrap().unwrap();
        assert_eq!(created.docket_id, DOCKET_ID);
    }
    assert_eq!(service.requests().len(), 3);
}

#[tokio::test]
async fn a_batch_of_any_length_takes_requests_as_it_can_send_them() {
    const COUNT: u32 = 3_000;
    let service = service().await;
    let taken = Arc::new(AtomicU32::new(0));
    let counted = taken.clone();
    let requests = (0..COUNT).map(move |number| {
        counted.fetch_add(1, SeqCst);
        DocketRequestV2 {
            external_id: Some(number.to_string()),
            ..request()
        }
    });
    let client = client(&service.base_url());
    let batch = client.create_dockets_v2(requests, Duration::from_secs(600));
    let mut batch = batch.unwrap();
    let mut seen = HashSet::new();
    while let Some((index, result)) = batch.next().await {
        assert!(result.is_ok() && seen.insert(index));
        // Those that wait to be read, and those that are open.
        let read = u32::try_from(seen.len()).unwrap();
        assert!(taken.load(SeqCst) <= read + 1_000 + 2 * 16);
        if read == 1 {
            sleep(Duration::from_millis(200)).await;
        }
    }
    assert_eq!(seen.len(), 3_000);
    assert_eq!(service.requests().len(), 3_000);
}

#[tokio::test]
async fn the_panic_of_an_iterator_follows_the_results_of_the_requests_before() {
    let service = service().await;
    let requests = (0..3).map(|number| match number {
        0 | 1 => request(),
        _ => panic!("the file ended early"),
    });
    let client = client(&service.base_url());
    let mut batch = client
        .create_dockets_v2(requests, Duration::from_secs(60))
        .unwrap();
    for _ in 0..2 {
        assert!(batch.next().await.unwrap().1.is_ok());
    }
    let end = tokio::spawn(async move { batch.next().await.is_none() }).await;
    assert!(end.unwrap_err().is_panic());
}

#[tokio::test]
async fn an_idle_connection_that_is_closed_under_a_create_makes_no_phone_ring_twice() {
    for closes_at_once in [true, false] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(AtomicU32::new(0));
        let counted = received.clone();
        let service = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                read_request(&mut stream).await.unwrap();
                counted.fetch_add(1, SeqCst);
                stream.write_all(answer().as_bytes()).await.unwrap();
                // Otherwise it is closed when the next request has come.
                if !closes_at_once && read_request(&mut stream).await.is_ok() {
                    counted.fetch_add(1, SeqCst);
                }
            }
        });
        let client = client(&url);
        client.create_docket_v2(&request()).await.unwrap();
        sleep(Duration::from_millis(100)).await; // until the connection is idle, or closed
        let second = client.create_docket_v2(&request()).await;
        assert_eq!(received.load(SeqCst), 2);
        match closes_at_once {
            true => assert_eq!(second.unwrap().attempts.len(), 1),
            false => {
                let error = second.unwrap_err();
                assert!(error.may_have_created() && error.is_permanent(), "{error}");
                assert_eq!(error.attempts().len(), 1);
            }
        }
        service.abort();
    }
}

#[tokio::test]
async fn a_create_that_is_dropped_once_its_answer_has_come_is_logged_with_the_id() {
    let log = log::Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&format!("http://{}", listener.local_addr().unwrap()));
    let service = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await.unwrap();
        // Without the last chunk, so that the answer has not ended.
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let answer = format!("{head}{:x}\r\n{}\r\n", body().len(), body());
        stream.write_all(answer.as_bytes()).await.unwrap();
        sleep(Duration::from_secs(60)).await;
    };
    let request = request();
    let create = timeout(
        Duration::from_millis(500),
        client.create_docket_v2(&request),
    );
    tokio::select! {
        created = create => assert!(created.is_err(), "it was not dropped"),
        () = service => unreachable!(),
    }
    let lines = log.take_lines();
    let [warning] = &lines[..] else {
        panic!("{lines:?}");
    };
    let id = format!("created_id={DOCKET_ID:?}");
    assert!(
        warning.contains(&id) && warning.contains("crm-1"),
        "{warning}"
    );
}

#[tokio::test]
async fn a_tls_handshake_that_does_not_end_in_time_has_sent_nothing() {
    let peer = Peer::start([Behaviour::Silence]).await.unwrap();
    let builder = builder(&peer.base_url().replace("http:", "https:"));
    let builder = builder.setting("CONNECT_TIMEOUT_MS", 100).max_attempts(2);
    let error = builder.build().unwrap().create_docket_v2(&request()).await;
    let error = error.unwrap_err();
    assert!(
        !error.may_have_created() && !error.is_permanent(),
        "{error}"
    );
    let tried = (error.attempts().len(), peer.connections());
    assert_eq!((tried, peer.requests().len()), ((2, 2), 0));
}

#[test]
fn an_answer_that_waits_while_the_runtime_is_blocked_counts_before_time_does() {
    const MOMENT: Duration = Duration::from_millis(50);
    let services = runtime();
    let listener = services.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    services.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_request(&mut stream).await.unwrap();
            sleep(2 * MOMENT).await;
            stream.write_all(answer().as_bytes()).await.unwrap();
        }
    });
    for mut scheduler in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = scheduler.worker_threads(1).enable_all().build().unwrap();
        let client = builder(&url).attempt_timeout(3 * MOMENT).build().unwrap();
        let created = runtime.spawn(async move {
            let request = request();
            let mut create = pin!(client.create_docket_v2(&request));
            let early = timeout(MOMENT, &mut create).await;
            assert!(early.is_err(), "{early:?}");
            std::thread::sleep(6 * MOMENT);
            create.await
        });
        let created = runtime.block_on(created).unwrap();
        assert_eq!(created.unwrap().docket_id, DOCKET_ID);
    }
}

#[test]
fn outside_of_a_runtime_an_operation_is_an_error() {
    let client = client("http://127.0.0.1:9");
    let context = &mut Context::from_waker(Waker::noop());
    let request = request();
    let Poll::Ready(Err(error)) = pin!(client.create_docket_v2(&request)).poll(context) else {
        panic!("it needs a runtime");
    };
    let batch = client.create_dockets_v2([request.clone()], Duration::from_secs(1));
    for error in [error, batch.unwrap_err()] {
        assert_eq!(error.problem().unwrap().subject, "runtime");
        assert!(!error.may_have_created());
    }
}

#[test]
fn a_client_and_a_builder_that_are_printed_show_no_token() {
    let builder = builder("http://127.0.0.1:9");
    let shown = format!("{builder:?} {:?}", client("http://127.0.0.1:9"));
    assert!(shown.contains("VOICE_CALLING_API_TOKEN") && !shown.contains("token-of-a-test"));
}

#[tokio::test]
async fn a_create_that_is_cancelled_returns_at_once_what_is_known_of_it() {
    let service = Peer::start([Behaviour::Silence]).await.unwrap();
    let cancellation = Cancellation::new();
    let client = client(&service.base_url()).with_cancellation(&cancellation);
    let create = tokio::spawn({
        let client = client.clone();
        async move { client.create_docket_v2(&request()).await }
    });
    let read = tokio::spawn({
        let client = client.clone();
        async move { client.get_docket(DOCKET_ID).await }
    });
    while service.requests().len() < 2 {
        sleep(Duration::from_millis(1)).await;
    }
    cancellation.cancel();
    let create = create.await.unwrap().unwrap_err();
    assert_eq!(create.kind(), FailureKind::OutcomeUnknown, "{create}");
    assert!(!read.await.unwrap().unwrap_err().may_have_created());
    // One that begins later is not sent.
    let later = client.create_docket_v2(&request()).await.unwrap_err();
    assert!(later.attempts().is_empty() && !later.may_have_created());
    assert_eq!(service.requests().len(), 2);
}

#[tokio::test]
async fn a_batch_that_is_cancelled_finishes_its_open_requests_and_says_which_it_has_not_begun() {
    let service = service().await;
    let cancellation = Cancellation::new();
    let client = client(&service.base_url()).with_cancellation(&cancellation);
    let requests = (0..20).map(move |index| {
        if index == 5 {
            cancellation.cancel();
        }
        request()
    });
    let mut batch = client
        .create_dockets_v2(requests, Duration::from_secs(60))
        .unwrap();
    let (mut created, mut not_begun) = (0, 0);
    while let Some((_, result)) = batch.next().await {
        match result {
            Ok(_) => created += 1,
            Err(error) if error.kind() == FailureKind::NotBegun => not_begun += 1,
            Err(error) => assert!(!error.may_have_created(), "{error}"),
        }
    }
    assert!(created >= 5 && not_begun >= 10, "{created} {not_begun}");
    assert!(created + not_begun >= 19);
}

#[tokio::test]
async fn closing_a_batch_waits_for_its_open_requests() {
    let service = service().await;
    let client = client(&service.base_url());
    let requests = std::iter::repeat_with(request);
    let mut batch = client
        .create_dockets_v2(requests, Duration::from_secs(60))
        .unwrap();
    batch.next().await.unwrap().1.unwrap();
    batch.close().await;
    let sent = service.requests().len();
    sleep(Duration::from_millis(50)).await;
    assert_eq!(service.requests().len(), sent);
}
