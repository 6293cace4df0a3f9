//! The network of a client, and transports of the user's own: what was sent, and what was not.

#[allow(dead_code)]
#[path = "../examples/reqwest.rs"]
mod example;

#[path = "table/log.rs"]
mod log;

use example::Reqwest;
use std::future::pending;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};
use voice_calling::ledger::State;
use voice_calling::transport::http::Request;
use voice_calling::transport::{Limits, RequestBody, Sending, Transport};
use voice_calling::{Builder, Client, DocketRequestV2, Ended, FailureKind, Ledger};
use voice_calling_mock::{Endpoint, Fault, MockService, Options};
use voice_calling_peer::{Behaviour, Peer};

const A_MOMENT: Duration = Duration::from_millis(100);

fn request() -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: "919876543210".to_owned(),
        call_context: "{}".to_owned(),
        external_id: Some("crm-1".to_owned()),
        extra: None,
    }
}

fn builder(base_url: &str, token: &str) -> Builder {
    log::listen();
    let builder = Client::builder().base_url(base_url).api_token(token);
    builder.max_attempts(1)
}

/// A host that drops SYNs, since its queue is full, with what fills it.
async fn silent_host() -> (String, impl Sized) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    while let Ok(Ok(stream)) = timeout(A_MOMENT, TcpStream::connect(address)).await {
        queue.push(stream);
    }
    (format!("http://{address}"), (listener, queue))
}

/// A transport of the user's own that never gets a connection, and has no limit for that.
struct Hanging;

impl Transport for Hanging {
    fn send(&self, request: Request<RequestBody>, _: Limits) -> Sending {
        Box::pin(async {
            let _request = request;
            pending().await
        })
    }
}

#[tokio::test]
async fn without_a_connection_nothing_was_sent_however_short_the_time_is() {
    let (url, _queue) = silent_host().await;
    let own = builder(&url, "t");
    for builder in [own, builder(&url, "t").transport(Hanging)] {
        let client = builder.build().unwrap().with_deadline(2 * A_MOMENT);
        let error = client.create_docket_v2(&request()).await.unwrap_err();
        assert_eq!(error.kind(), FailureKind::Unreachable, "{error}");
        assert!(!error.may_have_created(), "{error}");
    }
}

#[tokio::test]
async fn accounts_have_their_own_time_for_a_connection() {
    let (url, _queue) = silent_host().await;
    let builder = builder(&url, "t").setting("ACCOUNTS", "hurried,patient");
    let builder = builder
        .setting("HURRIED_API_TOKEN", "h")
        .setting("PATIENT_API_TOKEN", "p");
    let client = builder
        .setting("HURRIED_CONNECT_TIMEOUT_MS", 50)
        .build()
        .unwrap();
    let [hurried, patient] = ["hurried", "patient"].map(|name| client.with_account(name));
    let request = request();
    tokio::select! {
        biased;
        _ = patient.create_docket_v2(&request) => panic!("the longer time has ended first"),
        ended = hurried.create_docket_v2(&request) => {
            assert_eq!(ended.unwrap_err().kind(), FailureKind::Unreachable);
        }
    }
}

#[tokio::test]
async fn a_create_that_is_dropped_before_it_has_left_or_once_it_was_refused_is_free_again() {
    let log = log::Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("calls.db")).unwrap();
    let (silent, _queue) = silent_host().await;
    let refusing = MockService::start(Options::default()).await.unwrap();
    refusing.on_next(Endpoint::CreateDocketV2, Fault::rate_limited(Some("9")));
    let mute = Peer::start([Behaviour::Silence]).await.unwrap();
    for (key, url, state) in [
        ("connecting", silent, State::Free),
        ("refused", refusing.base_url(), State::Free),
        ("sent", mute.base_url(), State::Unknown),
    ] {
        let client = builder(&url, &refusing.token()).max_attempts(2);
        let client = client.ledger(ledger.clone()).build().unwrap().with_key(key);
        let request = request();
        let dropped = timeout(2 * A_MOMENT, client.create_docket_v2(&request)).await;
        assert!(dropped.is_err(), "{key}: {dropped:?}");
        while ledger.get(key).await.unwrap().unwrap().state != state {
            sleep(Duration::from_millis(1)).await;
        }
        let is_warned = !log.take_lines().is_empty();
        assert_eq!(is_warned, state == State::Unknown, "{key}");
    }
}

#[tokio::test]
async fn a_hook_sees_each_attempt_and_how_it_ended_and_adds_headers() {
    let answer = |status: &str| {
        let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 2");
        Behaviour::Send(format!("{head}\r\n\r\n[]").into_bytes())
    };
    let script = [
        answer("503 Unavailable"),
        Behaviour::HalfHead,
        answer("200 OK"),
    ];
    let peer = Peer::start(script).await.unwrap();
    let seen = Arc::<Mutex<Vec<(String, Option<Ended>)>>>::default();
    let kept = seen.clone();
    let builder = builder(&peer.base_url(), "t").header("x-tenant", "blue");
    let builder = builder.setting("BACKOFF_MS", 1).max_attempts(3);
    let client = builder.on_attempt(move |outgoing| {
        let name = format!("{} {}", outgoing.method, outgoing.path_and_query);
        kept.lock().unwrap().push((name, None));
        outgoing
            .headers
            .insert("traceparent", "00-1".parse().unwrap());
        outgoing
            .headers
            .insert("auth_token", "another".parse().unwrap());
        let kept = kept.clone();
        move |ended| kept.lock().unwrap().last_mut().unwrap().1 = Some(ended)
    });
    client
        .build()
        .unwrap()
        .get_call_details("t-1")
        .await
        .unwrap();
    let seen: Vec<_> = seen.lock().unwrap().drain(..).collect();
    let ended = seen.iter().map(|(name, ended)| {
        assert_eq!(name, "GET /call_details/t-1");
        let ended = ended.as_ref().unwrap();
        (ended.status, ended.error.is_some())
    });
    let expected = [(Some(503), false), (None, true), (Some(200), false)];
    assert_eq!(ended.collect::<Vec<_>>(), expected);
    for request in peer.requests() {
        let request = String::from_utf8(request.bytes).unwrap().to_lowercase();
        for header in [
            "x-tenant: blue",
            "traceparent: 00-1",
            "auth_token: bearer t\r",
        ] {
            assert!(request.contains(header), "{request}");
        }
        assert!(!request.contains("another"));
    }
}

#[test]
fn a_header_a_proxy_or_a_certificate_that_cannot_be_used_is_a_configuration_error() {
    let builder = || builder("https://api.example", "t");
    for (builder, subject) in [
        (
            builder().header("Auth_Token", "x"),
            "the header \"Auth_Token\"",
        ),
        (builder().header("x y", "x"), "the header \"x y\""),
        (builder().header("x", "\n"), "the header \"x\""),
        (builder().proxy("socks5://me:secret@proxy:1"), "proxy"),
        (builder().authorities("none"), "certificates"),
        (builder().client_certificate("none"), "certificates"),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), FailureKind::Configuration);
        assert_eq!(error.problem().unwrap().subject, subject);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert!(builder().no_proxy().header("x", "y").build().is_ok());
}

#[tokio::test]
async fn a_proxy_that_refuses_the_service_is_not_its_answer() {
    let refusal = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n".to_vec();
    let proxy = Peer::start([Behaviour::Send(refusal)]).await.unwrap();
    let builder = builder("https://api.example", "t").proxy(&proxy.base_url());
    let error = builder.build().unwrap().create_docket_v2(&request()).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Unreachable, "{error}");
    assert!(error.to_string().contains("403 Forbidden"), "{error}");
}

#[tokio::test]
async fn an_answer_that_came_compressed_keeps_its_id() {
    let body = br#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11"}"#;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(body).unwrap();
    let gzip = gzip.finish().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        gzip.len()
    );
    let peer = Peer::start([Behaviour::Send([head.as_bytes(), &gzip].concat())]);
    let peer = peer.await.unwrap();
    let client = builder(&peer.base_url(), "t").build().unwrap();
    let created = client.create_docket_v2(&request()).await.unwrap();
    assert_eq!(created.docket_id, "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11");
}

#[tokio::test]
async fn a_create_goes_once_on_a_users_own_http_library() {
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().expect("no other provider");
    let policy = || {
        let retry = reqwest::retry::for_host("127.0.0.1").no_budget();
        retry
            .max_retries_per_request(3)
            .classify_fn(|attempt| attempt.retryable())
    };
    let http = || reqwest::Client::builder().retry(policy()).build().unwrap();
    let service = MockService::start(Options::default()).await.unwrap();
    let client = builder(&service.base_url(), &service.token()).transport(Reqwest(http()));
    let client = client.build().unwrap();
    assert!(client.create_docket_v2(&request()).await.is_ok());

    let gone = Peer::start([Behaviour::CloseAfterReading]).await.unwrap();
    let client = builder(&gone.base_url(), "t").transport(Reqwest(http()));
    let client = client.build().unwrap();
    let error = client.create_docket_v2(&request()).await.unwrap_err();
    assert!(error.may_have_created(), "{error}");
    assert_eq!(gone.requests().len(), 1);

    let began = Instant::now();
    let client = builder("http://127.0.0.1:9", "t").transport(Reqwest(http()));
    let error = client.build().unwrap().create_docket_v2(&request()).await;
    assert!(!error.unwrap_err().may_have_created() && began.elapsed() < Duration::from_secs(5));
}
