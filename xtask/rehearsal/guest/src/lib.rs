//! A guest that uses the client, written against its published WIT.

wit_bindgen::generate!({ world: "caller", generate_all });

use voice_calling::client::{dockets, types::DocketRequestV2};

struct Caller;

impl Guest for Caller {
    fn call(number: String) -> Result<String, String> {
        let request = DocketRequestV2 {
            agent_id: 7,
            to_phone_number: number,
            call_context: "{}".to_owned(),
            external_id: None,
            extra: None,
        };
        let created = dockets::create_docket_v2(&request, None);
        let created = created.map_err(|error| format!("{error:?}"))?;
        Ok(format!("docket {}", created.docket_id))
    }
}

export!(Caller);
