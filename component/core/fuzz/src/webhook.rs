//! What the service sends when a docket is completed.

use crate::answer::assert_passed_on;
use crate::members::{Members, is_ambiguous, is_evidence, is_uuid, json_of};
use crate::service::{Service, client, run};
use voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES;
use voice_calling_core::types::{DocketCompleted, RequestError, Verification, VerifiedCompletion};
use voice_calling_core::webhooks::parse_docket_completed;

/// A completion is distinguished from other webhooks and from broken ones, and read whole. A docket
/// that says the same confirms it. Bytes that are not text arrive with marks in their places.
pub fn webhook(data: &[u8]) {
    let body = String::from_utf8_lossy(data);
    let json = json_of(data);
    let came = json.as_deref().map(Members::of);
    let parsed = parse_docket_completed(&body, DEFAULT_MAX_DELIVERY_BYTES);
    match (&parsed, &came) {
        (Ok(Some(docket)), Some(came)) => {
            assert!(is_completion(came), "any webhook became a completion");
            assert_eq!(Some(&docket.raw_json), json.as_ref());
            assert_read(docket, came);
        }
        (Ok(None), Some(came)) => assert!(!is_completion(came), "a completion is lost"),
        (Err(RequestError::PermanentInvalidInput(failure)), came) => {
            let (subject, allowed) = match came {
                Some(came) => {
                    assert!(is_completion(came));
                    assert_eq!(docket_id(came), None, "a docket is lost");
                    ("body.docket_id", "a UUID")
                }
                None => ("body", "JSON"),
            };
            let problem = failure.problem.as_ref().expect("a problem");
            assert_eq!(problem.subject, subject);
            assert!(problem.allowed.starts_with(allowed), "{problem:?}");
            assert!(failure.attempts.is_empty() && !failure.may_have_created);
        }
        (parsed, _) => panic!("{parsed:?}"),
    }
    assert_verified(data, parsed, &came.unwrap_or_default());
}

fn assert_read(docket: &DocketCompleted, came: &Members<'_>) {
    assert_eq!(Some(&docket.docket_id), docket_id(came).as_ref());
    assert_passed_on(&docket.call_context, came.object("call_context"));
    let attempts = came.get("attempts").filter(|json| *json != "null");
    assert_passed_on(&docket.attempts, attempts);
    assert_eq!(docket.dashboard_url, came.text("dashboard_url"));

    let inner = came.inner("call_insights");
    let insights = docket.call_insights.as_ref();
    assert_eq!(insights.is_some(), came.object("call_insights").is_some());
    if let Some(insights) = insights {
        assert_eq!(insights.call_disposition, inner.text("call_disposition"));
        assert_passed_on(&insights.call_metadata, inner.object("call_metadata"));
    }
}

/// The delivery is verified with a service that returns it as the docket.
fn assert_verified(
    data: &[u8],
    parsed: Result<Option<DocketCompleted>, RequestError>,
    came: &Members<'_>,
) {
    let service = Service::answering(200, data);
    let client = client(&service);
    let verified = run(client.verify_docket_completed(&String::from_utf8_lossy(data), None));
    let requests = service.sent.borrow().len();
    match (parsed, verified) {
        (
            Ok(Some(delivered)),
            Ok(Verification::Confirmed(completion) | Verification::Contradicted(completion)),
        ) => {
            assert_eq!((&completion.delivered, requests), (&delivered, 1));
            let VerifiedCompletion {
                mut contradicted,
                unverified,
                ..
            } = completion;
            let is_denied = contradicted.first().is_some_and(|name| name == "status");
            assert_eq!(is_denied, !is_done(came), "what is not done is confirmed");
            contradicted.drain(..usize::from(is_denied));
            // A docket that says the same confirms all that has one meaning.
            let is_clear = !is_ambiguous(&delivered.raw_json);
            assert!(!is_clear || (contradicted.is_empty() && unverified.is_empty()));
        }
        (Ok(None), Ok(Verification::NotACompletion)) => assert_eq!(requests, 0),
        (Err(error), Err(verified)) => assert_eq!((error, requests), (verified, 0)),
        other => panic!("{other:?}"),
    }
}

fn docket_id(came: &Members<'_>) -> Option<String> {
    came.identifier("docket_id").filter(|id| is_uuid(id))
}

/// What only a docket as a whole has: the WIT package's words.
fn is_completion(came: &Members<'_>) -> bool {
    let has_text = |came: &Members<'_>, name| came.text(name).is_some_and(|text| !text.is_empty());
    let is_evident = came.get("attempts").is_some_and(is_evidence)
        || has_text(came, "dashboard_url")
        || has_text(&came.inner("call_insights"), "call_disposition");
    came.get("docket_id").is_some()
        && match came.text("status").as_deref() {
            Some("COMPLETED") => true,
            Some("OPEN" | "IN_PROGRESS") => false,
            _ => is_evident,
        }
}

/// Whether a docket is completed.
fn is_done(came: &Members<'_>) -> bool {
    match came.text("status").as_deref() {
        Some("COMPLETED") => true,
        Some("OPEN" | "IN_PROGRESS") => false,
        _ => came.text("closed_at").is_some_and(|at| !at.is_empty()),
    }
}
