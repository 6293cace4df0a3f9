//! The answers to `dockets.create-docket` and `dockets.create-docket-v2`.

use crate::answer::{MayHaveCreated, assert_kept};
use crate::docket::status;
use crate::members::{Members, is_uuid, json_of};
use crate::service::{Service, client, run};
use voice_calling_core::types::{DocketRequest, DocketRequestV2};

const NUMBER: &str = "919876543210";

/// Whatever is beside it, the id of a created docket is returned: a phone may be ringing.
/// Both versions agree on what they both know.
pub fn docket_created(data: &[u8]) {
    let service = Service::answering(200, data);
    let client = client(&service);
    let json = json_of(data).unwrap_or_default();
    let came = Members::of(&json);
    let request = DocketRequest {
        agent_id: 7,
        to_phone_number: NUMBER.to_owned(),
        call_context: "{}".to_owned(),
        extra: None,
    };
    let request_v2 = DocketRequestV2 {
        agent_id: 7,
        to_phone_number: NUMBER.to_owned(),
        call_context: "{}".to_owned(),
        external_id: None,
        extra: None,
    };
    let docket_id = came.identifier("docket_id").filter(|id| is_uuid(id));
    let created = run(client.create_docket(&request, None));
    let created_v2 = run(client.create_docket_v2(&request_v2, None));
    match (created, created_v2) {
        (Ok(docket), Ok(docket_v2)) => {
            assert_eq!(Some(&docket.docket_id), docket_id.as_ref());
            assert_eq!(docket.status, came.text("status").map(status));
            assert_eq!(docket.raw_json, json);
            assert_eq!(docket_v2.docket_id, docket.docket_id);
            assert_eq!(docket_v2.status, docket.status);
            assert_eq!(docket_v2.raw_json, json);
            assert_eq!(docket_v2.created, came.boolean("created"));
        }
        (Err(error), Err(error_v2)) => {
            assert_eq!(docket_id, None, "a docket is lost");
            assert_eq!(error, error_v2);
            assert_kept(&error, data, MayHaveCreated::Yes);
        }
        (created, created_v2) => panic!("{created:?} and {created_v2:?} for the same answer"),
    }
}
