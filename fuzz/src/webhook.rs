//! What the service sends when a docket is completed.

use crate::answer::assert_passed_on;
use crate::members::{Members, json_of};
use voice_calling_core::types::{DocketCompleted, RequestError};
use voice_calling_core::webhooks::parse_docket_completed;

/// A completion is told from other webhooks and from what is broken, and read whole.
pub fn webhook(data: &[u8]) {
    let json = json_of(data);
    let came = json.as_deref().map(Members::of);
    match (parse_docket_completed(data), &came) {
        (Ok(Some(docket)), Some(came)) => {
            assert!(is_completion(came), "any webhook became a completion");
            assert_eq!(Some(&docket.raw_json), json.as_ref());
            assert_read(&docket, came);
        }
        (Ok(None), Some(came)) => assert!(!is_completion(came), "a completion is lost"),
        (Err(RequestError::PermanentInvalidInput(input)), came) => {
            let allowed = match came {
                Some(came) => {
                    assert!(is_completion(came));
                    assert_eq!(came.identifier("docket_id"), None, "a docket is lost");
                    ("body.docket_id", "a text that is not empty")
                }
                None => ("body", "JSON"),
            };
            assert_eq!((input.field.as_str(), input.allowed.as_str()), allowed);
        }
        (parsed, _) => panic!("{parsed:?}"),
    }
}

fn assert_read(docket: &DocketCompleted, came: &Members<'_>) {
    assert_eq!(
        Some(&docket.docket_id),
        came.identifier("docket_id").as_ref()
    );
    assert_passed_on(&docket.call_context, came.object("call_context"));
    let attempts = came.get("attempts").filter(|json| *json != "null");
    assert_passed_on(&docket.attempts, attempts);
    assert_eq!(docket.dashboard_url, came.text("dashboard_url"));

    let inner = came.inner("call_insights");
    let insights = docket.call_insights.as_ref();
    let raw_json = insights.map(|insights| insights.raw_json.clone());
    assert_passed_on(&raw_json, came.object("call_insights"));
    if let Some(insights) = insights {
        assert_eq!(insights.call_disposition, inner.text("call_disposition"));
        assert_passed_on(&insights.call_metadata, inner.object("call_metadata"));
    }
}

/// What only a docket as a whole has: the README's words.
fn is_completion(came: &Members<'_>) -> bool {
    let disposition = came.inner("call_insights").get("call_disposition");
    came.get("docket_id").is_some()
        && (came.get("attempts").is_some()
            || came.get("dashboard_url").is_some()
            || came.get("call_insights") == Some("null")
            || disposition.is_some())
}
