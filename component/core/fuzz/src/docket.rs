//! The answer to `dockets.get-docket`.

use crate::answer::{MayHaveCreated, assert_kept, assert_passed_on};
use crate::members::{Members, json_of};
use crate::service::{Service, client, run};
use voice_calling_core::types::{Docket, DocketStatus};

const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

/// A docket is read where there is an object that does not name another one, every field by
/// itself.
pub fn docket(data: &[u8]) {
    let service = Service::answering(200, data);
    let client = client(&service);
    let json = json_of(data).unwrap_or_default();
    let came = Members::of(&json);
    let named = came.identifier("docket_id");
    let is_asked_for = |id: &String| id.eq_ignore_ascii_case(DOCKET_ID);
    match run(client.get_docket(DOCKET_ID, None)) {
        Ok(docket) => assert_read(&docket, &json, &came),
        Err(error) => {
            let is_another = named.is_some_and(|id| !is_asked_for(&id));
            assert!(!json.starts_with('{') || is_another, "a docket is lost");
            assert_kept(&error, data, MayHaveCreated::No);
        }
    }
}

fn assert_read(docket: &Docket, json: &str, came: &Members<'_>) {
    let named = came.identifier("docket_id");
    assert_eq!(docket.docket_id, named.unwrap_or(DOCKET_ID.to_owned()));
    assert!(docket.docket_id.eq_ignore_ascii_case(DOCKET_ID));
    assert_eq!(docket.raw_json, json);
    assert_passed_on(&docket.call_context, came.object("call_context"));
    assert_eq!(docket.status, came.text("status").map(status));
    assert_eq!(
        docket.outbound_call_count,
        came.integer("outbound_call_count")
    );
    for (name, text) in [
        ("agent_name", &docket.agent_name),
        ("call_type", &docket.call_type),
        ("from_number", &docket.from_number),
        ("to_phone_number", &docket.to_phone_number),
        ("external_id", &docket.external_id),
        ("closed_call_id", &docket.closed_call_id),
        ("latest_call_id", &docket.latest_call_id),
        ("closure_reason", &docket.closure_reason),
        ("notification_status", &docket.notification_status),
        ("first_called_at", &docket.first_called_at),
        ("closed_at", &docket.closed_at),
        ("created_at", &docket.created_at),
        ("updated_at", &docket.updated_at),
    ] {
        assert_eq!(*text, came.text(name), "{name}");
    }
}

/// A docket's status by its text.
pub(crate) fn status(text: String) -> DocketStatus {
    match text.as_str() {
        "OPEN" => DocketStatus::Open,
        "IN_PROGRESS" => DocketStatus::InProgress,
        "COMPLETED" => DocketStatus::Completed,
        _ => DocketStatus::Other(text),
    }
}
