//! What only the Rust client has: futures that can be spawned, and runtimes that end or are blocked.

use crate::log::Log;
use crate::{CREATED, DOCKET_ID, builder, request};
use std::collections::HashSet;
use std::iter;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;
use voice_calling::{Cancellation, Client, FailureKind};
use voice_calling_mock::{Endpoint, Fault, MockService, Options};
use voice_calling_peer::{Behaviour, Peer, read_request};

const A_MINUTE: Duration = Duration::from_secs(60);

/// A service that creates dockets.
async fn service() -> Peer {
    Peer::start([Behaviour::Keep(CREATED)]).await.unwrap()
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

/// Lets the tasks of this thread do what they can, although the machine may stop at any time.
async fn turns() {
    for _ in 0..20 {
        sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn a_client_goes_on_in_another_runtime_when_the_first_has_ended() {
    let services = runtime();
    let service = services.block_on(service());
    let client = client(&service.base_url());
    for _ in 0..3 {
        let (runtime, client) = (runtime(), client.clone());
        let created = runtime.spawn(async move { client.create_docket_v2(&request(1)).await });
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
        request(number)
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
        0 | 1 => request(number),
        _ => panic!("the file ended early"),
    });
    let client = client(&service.base_url());
    let mut batch = client.create_dockets_v2(requests, A_MINUTE).unwrap();
    for _ in 0..2 {
        assert!(batch.next().await.unwrap().1.is_ok());
    }
    let end = tokio::spawn(async move { batch.next().await.is_none() }).await;
    assert!(end.unwrap_err().is_panic());
}

#[tokio::test]
async fn an_idle_connection_that_is_closed_under_a_create_makes_no_phone_ring_twice() {
    let length = CREATED.len();
    let kept = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{CREATED}");
    let and_closed = Behaviour::Send(kept.into_bytes());
    for (script, is_known) in [
        (vec![and_closed], true),
        // It is closed when the next request has come.
        (
            vec![Behaviour::Keep(CREATED), Behaviour::CloseAfterReading],
            false,
        ),
    ] {
        let service = Peer::start(script).await.unwrap();
        let client = client(&service.base_url());
        client.create_docket_v2(&request(1)).await.unwrap();
        turns().await; // until the connection is idle, or closed
        let second = client.create_docket_v2(&request(1)).await;
        assert_eq!(service.requests().len(), 2);
        match is_known {
            true => assert_eq!(second.unwrap().attempts.len(), 1),
            false => {
                let error = second.unwrap_err();
                assert!(error.may_have_created() && error.is_permanent(), "{error}");
                assert_eq!(error.attempts().len(), 1);
            }
        }
    }
}

#[tokio::test]
async fn a_create_that_is_dropped_once_its_answer_has_come_is_logged_with_the_id() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&format!("http://{}", listener.local_addr().unwrap()));
    let service = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await.unwrap();
        // Without the last chunk, so that the answer has not ended.
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let answer = format!("{head}{:x}\r\n{CREATED}\r\n", CREATED.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
        turns().await;
        stream
    };
    let request = request(1);
    tokio::select! {
        ended = client.create_docket_v2(&request) => panic!("it ended before: {ended:?}"),
        _open = service => {}
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

#[test]
fn an_answer_that_waits_while_the_runtime_is_blocked_counts_before_time_does() {
    thread::scope(|scope| {
        for scheduler in [Builder::new_current_thread(), Builder::new_multi_thread()] {
            scope.spawn(|| block_until_time_is_up(scheduler));
        }
    });
}

fn block_until_time_is_up(mut scheduler: Builder) {
    const ATTEMPT: Duration = Duration::from_secs(5);
    let runtime = scheduler.worker_threads(1).enable_all().build().unwrap();
    let service = MockService::start(Options::default());
    let service = runtime.block_on(service).unwrap();
    service.on_next(Endpoint::CreateDocketV2, Fault::slow(A_MINUTE));
    let client = builder(&service.base_url()).api_token(service.token());
    let client = client.attempt_timeout(ATTEMPT).build().unwrap();
    let created = runtime.spawn(async move {
        let request = request(1);
        let mut create = pin!(client.create_docket_v2(&request));
        let began = Instant::now();
        let is_received = async {
            while service.requests().is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            ended = &mut create => panic!("it ended before: {ended:?}"),
            () = is_received => service.advance(A_MINUTE).unwrap(),
        }
        // From here on the only thread of the runtime is blocked, while the answer arrives and time runs out.
        while service.changes(0).requests[0].status.is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        let time_is_up = ATTEMPT + Duration::from_millis(500);
        thread::sleep(time_is_up.saturating_sub(began.elapsed()));
        create.await
    });
    let created = runtime.block_on(created).unwrap().unwrap();
    assert_eq!(created.attempts.len(), 1);
}

#[test]
fn outside_of_a_runtime_an_operation_is_an_error() {
    let client = client("http://127.0.0.1:9");
    let context = &mut Context::from_waker(Waker::noop());
    let request = request(1);
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
        async move { client.create_docket_v2(&request(1)).await }
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
    let later = client.create_docket_v2(&request(1)).await.unwrap_err();
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
        request(index)
    });
    let mut batch = client.create_dockets_v2(requests, A_MINUTE).unwrap();
    let (mut created, mut not_begun) = (0, 0);
    while let Some((_, result)) = batch.next().await {
        match result {
            Ok(_) => created += 1,
            Err(error) if error.kind() == FailureKind::NotBegun => not_begun += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(created >= 5, "{created}");
    assert_eq!(created + not_begun, 20);
}

#[tokio::test]
async fn closing_a_batch_waits_for_its_open_requests() {
    let service = service().await;
    let client = client(&service.base_url());
    let requests = iter::repeat_with(|| request(1));
    let mut batch = client.create_dockets_v2(requests, A_MINUTE).unwrap();
    batch.next().await.unwrap().1.unwrap();
    batch.close().await;
    let sent = service.requests().len();
    sleep(Duration::from_millis(50)).await;
    assert_eq!(service.requests().len(), sent);
}
