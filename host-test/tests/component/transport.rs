//! Requests that get no answer, or half of one, over real connections: a read may be
//! repeated, a create never is once it was sent.

use crate::failure::{failure, may_have_created, statuses};
use crate::operation::Operation;
use crate::operation::Operation::{CreateDocketV2, ListAgents, MakeCall};
use crate::operation::Run;
use crate::stage::{Stage, instance, instance_at, loopback};
use futures_util::future::join_all;
use std::time::Duration;
use voice_calling_host::types::*;
use voice_calling_mock::{Behaviour, Fault, RawPeer, closed_port};

/// What an operation came to with a peer that misbehaves, and what the peer saw.
async fn with_peer(
    operation: Operation,
    script: impl Into<Vec<Behaviour>>,
    settings: &[(&str, &str)],
) -> (RequestError, RawPeer) {
    let peer = RawPeer::start(script).await.expect("a peer");
    let mut instance = instance_at(&peer.base_url(), settings).await;
    let error = operation.run(&mut instance).await.unwrap_err();
    (error, peer)
}

/// An answer, status line first, without its protocol.
fn http(answer: &str) -> Behaviour {
    Behaviour::Send(format!("HTTP/1.1 {answer}").into_bytes())
}

/// Ways in which a peer takes a request and gives no status for it.
fn no_status() -> [Behaviour; 5] {
    [
        Behaviour::CloseBeforeReading,
        Behaviour::CloseAfterReading,
        Behaviour::ResetAfterReading,
        Behaviour::HalfHead,
        Behaviour::Send(b"220 mail.example ESMTP\r\n".to_vec()),
    ]
}

#[tokio::test]
async fn a_create_that_was_sent_and_got_no_status_is_never_repeated() {
    for behaviour in no_status() {
        for operation in Operation::RINGING {
            let (error, peer) = with_peer(operation, [behaviour.clone()], &[]).await;
            assert_eq!(error.case(), "permanent-outcome-unknown", "{behaviour:?}");
            assert_eq!(peer.connections(), 1, "{behaviour:?} {operation:?}");
            assert_eq!(statuses(&error), [None], "{behaviour:?}");
            assert!(error.attempts()[0].transport_error.is_some());
            assert_eq!(error.response(), None);
            assert!(may_have_created(&error), "{behaviour:?} {operation:?}");
        }
    }
}

#[tokio::test]
async fn a_read_that_got_no_status_is_repeated_and_then_timed_out() {
    for behaviour in no_status() {
        let (error, peer) = with_peer(ListAgents, [behaviour.clone()], &[]).await;
        assert_eq!(error.case(), "timed-out", "{behaviour:?}");
        assert_eq!(peer.connections(), 4, "{behaviour:?}");
        assert_eq!(statuses(&error), [None; 4], "{behaviour:?}");
    }
}

#[tokio::test]
async fn a_read_whose_connection_breaks_once_succeeds_the_second_time() {
    for behaviour in no_status() {
        let script = [
            behaviour.clone(),
            http("200 OK\r\nContent-Length: 2\r\n\r\n[]"),
        ];
        let peer = RawPeer::start(script).await.unwrap();
        let mut instance = instance_at(&peer.base_url(), &[]).await;
        ListAgents.run(&mut instance).await.unwrap();
        assert_eq!(peer.connections(), 2, "{behaviour:?}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_tried_again_on_creates_too_and_then_unreachable() {
    let port = closed_port().unwrap();
    for operation in Operation::READ_AND_CREATE {
        let mut instance = instance_at(&port.base_url(), &[]).await;
        let error = operation.run(&mut instance).await.unwrap_err();
        assert_eq!(error.case(), "unreachable", "{operation:?}");
        assert_eq!(statuses(&error), [None; 4]);
        for attempt in error.attempts() {
            assert_eq!(
                attempt.transport_error.as_deref(),
                Some("connection-refused")
            );
        }
    }
}

#[tokio::test]
async fn tls_that_cannot_be_agreed_on_means_that_nothing_was_sent() {
    let peer = RawPeer::start([Behaviour::CloseBeforeReading])
        .await
        .unwrap();
    let base_url = peer.base_url().replace("http:", "https:");
    let mut instance = instance_at(&base_url, &[]).await;
    let error = CreateDocketV2.run(&mut instance).await.unwrap_err();
    assert_eq!(error.case(), "unreachable", "{error:?}");
    assert_eq!(peer.connections(), 4);
}

#[tokio::test]
async fn a_2xx_whose_body_is_cut_is_repeated_on_a_read_only() {
    let cut = [Behaviour::CutBody(200)];
    let (error, peer) = with_peer(ListAgents, cut.clone(), &[]).await;
    assert_eq!((error.case(), peer.connections()), ("timed-out", 4));
    assert_eq!(statuses(&error), [Some(200); 4]);

    for operation in Operation::RINGING {
        let (error, peer) = with_peer(operation, cut.clone(), &[]).await;
        assert_eq!(error.case(), "permanent-unexpected-response");
        assert_eq!(peer.connections(), 1, "{operation:?}");
        let kept = error.response().unwrap();
        assert_eq!(kept.body, r#"{"docket_id": "cut"#);
        assert!(kept.body_cut);
        assert_eq!(statuses(&error), [Some(200)]);
        assert!(error.attempts()[0].transport_error.is_some());
    }
}

#[tokio::test]
async fn a_cut_body_under_another_status_counts_by_the_status() {
    for (status, of_a_read, of_a_create, requests) in [
        (503, "unavailable", "permanent-outcome-unknown", 4),
        (429, "rate-limited", "rate-limited", 4),
        (401, "permanent-unauthorized", "permanent-unauthorized", 1),
        (404, "permanent-not-found", "permanent-not-found", 1),
        (422, "permanent-rejected", "permanent-rejected", 1),
    ] {
        for (operation, expected) in [(ListAgents, of_a_read), (CreateDocketV2, of_a_create)] {
            let (error, peer) = with_peer(operation, [Behaviour::CutBody(status)], &[]).await;
            assert_eq!(error.case(), expected, "{operation:?}");
            assert_eq!(peer.connections(), requests, "{status} {operation:?}");
            assert!(error.response().unwrap().body_cut);
        }
    }
}

#[tokio::test]
async fn switching_protocols_means_nothing_here() {
    for operation in Operation::READ_AND_CREATE {
        let upgrade = http("101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
        let (error, peer) = with_peer(operation, [upgrade], &[]).await;
        assert_eq!(error.case(), "permanent-unexpected-response");
        assert_eq!(statuses(&error), [Some(101)]);
        assert_eq!(peer.connections(), 1, "{operation:?}");
    }
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let answer = http(
        "100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    );
    let peer = RawPeer::start([answer]).await.unwrap();
    let mut instance = instance_at(&peer.base_url(), &[]).await;
    ListAgents.run(&mut instance).await.unwrap();
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn one_unknown_outcome_decides_whatever_came_before_it() {
    let refused = http("503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy");
    let script = [refused, Behaviour::ResetAfterReading];
    let (error, peer) = with_peer(MakeCall, script.clone(), &[]).await;
    assert_eq!(error.case(), "permanent-outcome-unknown");
    assert_eq!(statuses(&error), [Some(503), None]);
    assert_eq!(peer.connections(), 2);
    assert_eq!(error.response().unwrap().body, "busy", "the latest answer");

    let (error, _) = with_peer(ListAgents, script, &[("MAX_ATTEMPTS", "2")]).await;
    assert_eq!(error.case(), "unavailable", "a read reports the answer");
    assert_eq!(statuses(&error), [Some(503), None]);
}

#[tokio::test]
async fn a_phone_that_rings_while_the_answer_is_late_rings_once() {
    let late = |operation: Operation| async move {
        let stage = Stage::start().await;
        let fault = Fault::slow(Duration::from_secs(3_600));
        stage.mock.on_next(operation.endpoint(), fault);
        let impatient = [("ATTEMPT_TIMEOUT_MS", "1000")];
        let error = stage.run(operation, &impatient).await.unwrap_err();
        assert_eq!(error.case(), "permanent-outcome-unknown", "{operation:?}");
        assert_eq!(stage.mock.phones_rung().len(), 1, "{operation:?}");
        assert_eq!(stage.mock.requests_to(operation.endpoint()).len(), 1);
    };
    // Here the time is real.
    join_all(Operation::RINGING.map(late)).await;
}

#[tokio::test]
async fn a_host_that_the_policy_denies_is_a_problem_of_configuration_that_names_it() {
    for operation in Operation::ALL {
        let way_out = loopback();
        let settings = [
            ("BASE_URL", "https://api.example:8443/v"),
            ("API_TOKEN", "t"),
        ];
        let mut instance = instance(&settings, way_out.clone()).await;
        let error = operation.run(&mut instance).await.unwrap_err();
        assert_eq!(error.case(), "permanent-configuration", "{operation:?}");
        assert_eq!(error.attempts().len(), 1, "{operation:?}");
        assert!(!may_have_created(&error), "{operation:?}");
        let problem = failure(&error).problem.as_ref().unwrap();
        assert_eq!(problem.subject, "VOICE_CALLING_BASE_URL");
        assert!(
            problem.found.contains("api.example:8443"),
            "{}",
            problem.found
        );
        assert_eq!(way_out.recorder.exchanges().len(), 1, "{operation:?}");
    }
}

#[tokio::test]
async fn an_answer_with_100_000_headers_or_one_of_a_megabyte_leaves_a_create_unknown() {
    let many: String = (0..100_000)
        .map(|index| format!("x-{index}: x\r\n"))
        .collect();
    let large = format!("x-large: {}\r\n", "x".repeat(1 << 20));
    for headers in [many, large] {
        let answer = http(&format!("200 OK\r\n{headers}Content-Length: 2\r\n\r\n[]"));
        let (error, peer) = with_peer(CreateDocketV2, [answer.clone()], &[]).await;
        assert_eq!(error.case(), "permanent-outcome-unknown", "{error:?}");
        assert_eq!(peer.connections(), 1);
        let (error, peer) = with_peer(ListAgents, [answer], &[]).await;
        assert_eq!(error.case(), "timed-out", "{error:?}");
        assert_eq!(peer.connections(), 4);
    }
}
