//! The network of a client, and transports of the user's own: what was sent, and what was not.

use crate::{CREATED, DOCKET_ID, builder, request};
use std::future::pending;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use voice_calling::transport::http::Request;
use voice_calling::transport::{Limits, RequestBody, Sending, Transport};
use voice_calling::{Ended, FailureKind};
use voice_calling_peer::{Behaviour, Peer};

const A_MOMENT: Duration = Duration::from_millis(100);

/// A host that drops SYNs, since its queue is full, with what fills it.
async fn silent_host() -> (String, impl Sized) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    // Linux keeps one more than the queue is long.
    for _ in 0..2 {
        queue.push(TcpStream::connect(address).await.unwrap());
    }
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
    for builder in [builder(&url), builder(&url).transport(Hanging)] {
        let client = builder.build().unwrap().with_deadline(2 * A_MOMENT);
        let error = client.create_docket_v2(&request(1)).await.unwrap_err();
        assert_eq!(error.kind(), FailureKind::Unreachable, "{error}");
        assert!(!error.may_have_created(), "{error}");
    }
}

#[tokio::test]
async fn accounts_have_their_own_time_for_a_connection() {
    let (url, _queue) = silent_host().await;
    let builder = builder(&url)
        .max_attempts(1)
        .setting("ACCOUNTS", "hurried,patient")
        .setting("HURRIED_API_TOKEN", "h")
        .setting("PATIENT_API_TOKEN", "p")
        .setting("HURRIED_CONNECT_TIMEOUT_MS", 50);
    let client = builder.build().unwrap();
    let [hurried, patient] = ["hurried", "patient"].map(|name| client.with_account(name));
    let request = request(1);
    // Both may end while the machine stops.
    tokio::select! {
        biased;
        ended = hurried.create_docket_v2(&request) => {
            assert_eq!(ended.unwrap_err().kind(), FailureKind::Unreachable);
        }
        _ = patient.create_docket_v2(&request) => panic!("the longer time has ended first"),
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
    let builder = builder(&peer.base_url()).header("x-tenant", "blue");
    let client = builder.max_attempts(3).on_attempt(move |outgoing| {
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
            "auth_token: bearer token-of-a-test\r",
        ] {
            assert!(request.contains(header), "{request}");
        }
        assert!(!request.contains("another"));
    }
}

#[test]
fn a_header_a_proxy_or_a_certificate_that_cannot_be_used_is_a_configuration_error() {
    let builder = || builder("https://api.example");
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
    let builder = builder("https://api.example").proxy(&proxy.base_url());
    let client = builder.max_attempts(1).build().unwrap();
    let error = client.create_docket_v2(&request(1)).await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Unreachable, "{error}");
    assert!(error.to_string().contains("403 Forbidden"), "{error}");
}

#[tokio::test]
async fn an_answer_that_came_compressed_keeps_its_id() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(CREATED.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        gzip.len()
    );
    let peer = Peer::start([Behaviour::Send([head.as_bytes(), &gzip].concat())]);
    let peer = peer.await.unwrap();
    let client = builder(&peer.base_url()).build().unwrap();
    let created = client.create_docket_v2(&request(1)).await.unwrap();
    assert_eq!(created.docket_id, DOCKET_ID);
}
