//! What becomes of an operation by the statuses that the service answers with, over
//! real connections.

use crate::failure::{failure, may_have_created, outcome, statuses};
use crate::operation::Operation::{CreateDocketV2, ListAgents};
use crate::operation::{Answered, Operation, Run};
use crate::stage::Stage;
use voice_calling_host::types::*;
use voice_calling_mock::{Behaviour, Fault, RawPeer};

/// What an operation came to, how many requests it sent, and how many phones rang.
async fn played(
    operation: Operation,
    faults: impl IntoIterator<Item = Fault>,
    settings: &[(&str, &str)],
) -> (Result<Answered, RequestError>, usize, usize) {
    let stage = Stage::start().await;
    for fault in faults {
        stage.mock.on_next(operation.endpoint(), fault);
    }
    let result = stage.run(operation, settings).await;
    let requests = stage.mock.requests_to(operation.endpoint()).len();
    (result, requests, stage.mock.phones_rung().len())
}

fn four(status: u16) -> [Fault; 4] {
    std::array::from_fn(|_| Fault::status(status))
}

#[tokio::test]
async fn a_refusal_that_passes_is_repeated_and_the_phone_rings_once() {
    for status in [429, 425, 500, 502, 503, 504, 599, 408] {
        for operation in Operation::READ_AND_CREATE {
            let (result, requests, rung) = played(operation, [Fault::status(status)], &[]).await;
            assert_eq!(outcome(&result), "ok", "{status} {operation:?}");
            assert_eq!(requests, 2, "{status} {operation:?}");
            assert_eq!(rung, usize::from(operation.is_create()), "{status}");
            let answered = result.unwrap();
            let statuses: Vec<_> = answered.attempts.iter().map(|a| a.status).collect();
            assert_eq!(statuses, [Some(status), Some(200)]);
            let unsure = operation.is_create() && ![429, 425].contains(&status);
            assert_eq!(answered.may_be_duplicate, unsure, "{status} {operation:?}");
        }
    }
}

#[tokio::test]
async fn a_refusal_that_stays_ends_after_max_attempts_and_no_phone_rings() {
    for status in [429, 425, 500, 502, 503, 504, 599, 408] {
        for operation in Operation::READ_AND_CREATE {
            let expected = match (status, operation.is_create()) {
                (429 | 425, _) => "rate-limited",
                (_, false) => "unavailable",
                (_, true) => "permanent-outcome-unknown",
            };
            let (result, requests, rung) = played(operation, four(status), &[]).await;
            let error = result.unwrap_err();
            assert_eq!(error.case(), expected, "{status} {operation:?}");
            assert_eq!(statuses(&error), [Some(status); 4]);
            assert_eq!(error.response().unwrap().status, status);
            assert_eq!((requests, rung), (4, 0), "{status} {operation:?}");
            let unsure = expected == "permanent-outcome-unknown";
            assert_eq!(may_have_created(&error), unsure, "{status} {operation:?}");
        }
    }
}

#[tokio::test]
async fn any_other_status_is_final_at_once_and_no_phone_rings() {
    for (statuses, expected) in [
        (&[401, 403][..], "permanent-unauthorized"),
        (&[404, 410], "permanent-not-found"),
        (
            &[
                300, 301, 302, 303, 304, 305, 307, 308, 399, 400, 402, 405, 406, 407, 409, 411,
                413, 415, 418, 422, 426, 431, 451, 499,
            ],
            "permanent-rejected",
        ),
        (&[600, 700, 999], "permanent-unexpected-response"),
    ] {
        for status in statuses {
            for operation in Operation::READ_AND_CREATE {
                let (result, requests, rung) =
                    played(operation, [Fault::status(*status)], &[]).await;
                let error = result.unwrap_err();
                assert_eq!(error.case(), expected, "{status} {operation:?}");
                assert_eq!(error.response().unwrap().status, *status);
                assert_eq!((requests, rung), (1, 0), "{status} {operation:?}");
                let unsure = operation.is_create() && matches!(status, 300..=399 | 409 | 600..);
                assert_eq!(may_have_created(&error), unsure, "{status} {operation:?}");
                if unsure {
                    let message = &failure(&error).message;
                    assert!(message.contains("may"), "{message}");
                }
            }
        }
    }
}

#[tokio::test]
async fn every_function_meets_a_refusal_that_passes_a_server_error_and_a_final_status() {
    for operation in Operation::ALL {
        let stage = Stage::start().await;
        let endpoint = operation.endpoint();
        for fault in [
            Fault::status(503),
            Fault::rate_limited(Some("0")),
            Fault::status(409),
        ] {
            stage.mock.on_next(endpoint, fault);
        }
        let error = stage.run(operation, &[]).await.unwrap_err();
        assert_eq!(error.case(), "permanent-rejected", "{operation:?}");
        assert_eq!(
            statuses(&error),
            [Some(503), Some(429), Some(409)],
            "{operation:?}"
        );
        assert_eq!(stage.mock.requests_to(endpoint).len(), 3, "{operation:?}");
        assert_eq!(stage.mock.phones_rung().len(), 0, "{operation:?}");
        // It does not matter that the last of them was conclusive.
        let unsure = may_have_created(&error);
        assert_eq!(unsure, operation.is_create(), "{operation:?}");
    }
}

#[tokio::test]
async fn a_retry_after_of_nothing_or_of_nonsense_does_not_keep_from_repeating() {
    for retry_after in ["0", "soon", "", "-1", "Sun, 06 Nov 1994 08:49:37 GMT"] {
        for operation in Operation::READ_AND_CREATE {
            let fault = Fault::rate_limited(Some(retry_after));
            let (result, requests, _) = played(operation, [fault], &[]).await;
            assert_eq!((outcome(&result), requests), ("ok", 2), "{retry_after:?}");
        }
    }
}

#[tokio::test]
async fn a_server_error_is_repeated_on_creates_since_the_service_asks_for_it() {
    for operation in Operation::RINGING {
        let (result, requests, rung) = played(operation, [Fault::created_then(503)], &[]).await;
        assert_eq!(outcome(&result), "ok", "{operation:?}");
        assert!(result.unwrap().may_be_duplicate, "{operation:?}");
        // The service had done what it said it could not: this is what
        // CREATE_RETRY=not-sent is for.
        assert_eq!((requests, rung), (2, 2), "{operation:?}");
    }
}

#[tokio::test]
async fn with_create_retry_not_sent_a_server_error_is_an_unknown_outcome_and_one_phone_rings() {
    for operation in Operation::RINGING {
        for status in [500, 503, 408] {
            let (result, requests, rung) = played(
                operation,
                [Fault::created_then(status)],
                &[("CREATE_RETRY", "not-sent")],
            )
            .await;
            let error = result.unwrap_err();
            assert_eq!(error.case(), "permanent-outcome-unknown", "{operation:?}");
            assert_eq!(statuses(&error), [Some(status)]);
            assert_eq!(error.response().unwrap().status, status);
            assert_eq!((requests, rung), (1, 1), "{operation:?} {status}");
            assert!(may_have_created(&error), "{operation:?} {status}");
        }
    }
}

#[tokio::test]
async fn with_create_retry_never_a_create_is_sent_once_whatever_comes_and_a_read_is_repeated() {
    let never = [("CREATE_RETRY", "never")];
    for (status, expected) in [
        (429, "rate-limited"),
        (425, "rate-limited"),
        (503, "permanent-outcome-unknown"),
        (408, "permanent-outcome-unknown"),
    ] {
        for operation in Operation::RINGING {
            let (result, requests, rung) = played(operation, [Fault::status(status)], &never).await;
            assert_eq!(outcome(&result), expected, "{status} {operation:?}");
            assert_eq!((requests, rung), (1, 0), "{status} {operation:?}");
        }
        let (result, requests, _) = played(ListAgents, [Fault::status(status)], &never).await;
        assert_eq!((outcome(&result), requests), ("ok", 2), "{status}");
    }
}

/// Whatever ends it: the first attempt may have made a phone ring.
#[tokio::test]
async fn after_a_server_error_a_create_ends_with_a_permanent_error_however_it_ends() {
    for (last, expected) in [
        (429, "permanent-outcome-unknown"),
        (503, "permanent-outcome-unknown"),
        (401, "permanent-unauthorized"),
        (404, "permanent-not-found"),
        (422, "permanent-rejected"),
    ] {
        for operation in Operation::RINGING {
            let faults = [Fault::created_then(503), Fault::status(last)];
            let two = [("MAX_ATTEMPTS", "2")];
            let (result, requests, rung) = played(operation, faults, &two).await;
            let error = result.unwrap_err();
            assert_eq!(error.case(), expected, "{last} {operation:?}");
            assert_eq!(statuses(&error), [Some(503), Some(last)]);
            assert!(may_have_created(&error), "{last} {operation:?}");
            assert_eq!((requests, rung), (2, 1), "{last} {operation:?}");
            let decided = match expected {
                "permanent-outcome-unknown" => 503,
                _ => last,
            };
            assert_eq!(error.response().unwrap().status, decided, "{last}");
        }
    }
}

#[tokio::test]
async fn with_create_retry_not_sent_a_rate_limit_and_a_read_are_still_repeated() {
    for (operation, status, rung) in [(CreateDocketV2, 429, 1), (ListAgents, 503, 0)] {
        let settings = [("CREATE_RETRY", "not-sent")];
        let (result, requests, rings) = played(operation, [Fault::status(status)], &settings).await;
        assert_eq!((outcome(&result), requests, rings), ("ok", 2, rung));
    }
}

#[tokio::test]
async fn a_2xx_that_cannot_be_understood_is_told_with_its_body_and_never_repeated() {
    for operation in Operation::ALL {
        // The answer to the creation of an agent has no specified form.
        if operation == Operation::CreateAgent {
            continue;
        }
        for body in ["oops", "", "null", "7", r#"{"detail":"no"#, "\"text\""] {
            let fault = Fault::created_then(200).body("text/plain", body);
            let (result, requests, rung) = played(operation, [fault], &[]).await;
            let error = result.unwrap_err();
            assert_eq!(
                error.case(),
                "permanent-unexpected-response",
                "{operation:?} {body:?}"
            );
            let kept = error.response().unwrap();
            assert_eq!(
                (kept.status, kept.body.as_str(), kept.body_cut),
                (200, body, false)
            );
            assert_eq!(requests, 1, "{operation:?}");
            let rings = Operation::RINGING.contains(&operation);
            assert_eq!(rung, usize::from(rings), "{operation:?}");
            assert_eq!(may_have_created(&error), operation.is_create());
        }
    }
}

#[tokio::test]
async fn an_error_keeps_status_body_request_id_and_retry_after() {
    for (name, id) in [
        ("x-request-id", "req-7"),
        ("request-id", "req-8"),
        ("x-correlation-id", "req-9"),
    ] {
        let body = "x".repeat(8_193);
        let fault = Fault::status(422)
            .body("text/plain", body)
            .header(name, id)
            .header("retry-after", "7");
        let (result, ..) = played(CreateDocketV2, [fault], &[]).await;
        let Err(RequestError::PermanentRejected(failure)) = result else {
            panic!("{result:?}")
        };
        assert_eq!(
            failure.response.unwrap(),
            HttpResponse {
                status: 422,
                body: "x".repeat(8_192),
                body_cut: true,
                request_id: Some(id.into()),
                retry_after_ms: Some(7_000),
            }
        );
        assert!(failure.message.contains("422"), "{}", failure.message);
        assert_eq!(failure.attempts.len(), 1);
        assert_eq!(failure.attempts[0].status, Some(422));
        assert_eq!(failure.attempts[0].transport_error, None);
    }
}

#[tokio::test]
async fn a_request_id_of_any_bytes_is_kept_and_cut_where_it_is_long() {
    for (id, kept) in [
        (&b"req-\xff\xe4"[..], "req-\u{fffd}\u{fffd}".to_owned()),
        (&[b'7'; 300], "7".repeat(256)),
    ] {
        let fault = Fault::status(404).header("x-request-id", id);
        let (result, ..) = played(ListAgents, [fault], &[]).await;
        let error = result.unwrap_err();
        assert_eq!(error.response().unwrap().request_id, Some(kept));
    }
}

#[tokio::test]
async fn redirects_are_not_followed_and_their_target_sees_nothing() {
    let target = RawPeer::start([Behaviour::CloseAfterReading])
        .await
        .unwrap();
    for status in [301, 302, 303, 307, 308] {
        for operation in Operation::READ_AND_CREATE {
            let location = format!("{}/api/v2/dockets", target.base_url());
            let fault = Fault::status(status).header("location", &location);
            let (result, requests, rung) = played(operation, [fault], &[]).await;
            let error = result.unwrap_err();
            assert_eq!(error.case(), "permanent-rejected", "{status} {operation:?}");
            assert_eq!((requests, rung), (1, 0), "{status} {operation:?}");
            let message = &failure(&error).message;
            assert!(message.contains(&location), "{message}");
        }
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_2xx_that_is_no_json_is_told_with_what_it_says_it_is() {
    for (fault, named) in [
        (Fault::html(), "content-type text/html"),
        (
            Fault::status(200)
                .body("application/json", b"\x1f\x8b\x08\x00".to_vec())
                .header("content-encoding", "gzip"),
            "content-encoding gzip",
        ),
    ] {
        for operation in Operation::READ_AND_CREATE {
            let (result, requests, _) = played(operation, [fault.clone()], &[]).await;
            let error = result.unwrap_err();
            assert_eq!(error.case(), "permanent-unexpected-response");
            let message = &failure(&error).message;
            assert!(message.contains(named), "{message}");
            assert_eq!(requests, 1, "{operation:?}");
        }
    }
}
