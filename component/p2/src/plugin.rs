//! The functions that the component exports, each connected to the client's. They are the same in
//! the worlds of WASI 0.2 and 0.3: the guests for both share this file, and each defines with its
//! macro `operation` how an operation runs.

use crate::{Plugin, exports, parse};
use voice_calling_core::types::*;

impl exports::agents::Guest for Plugin {
    operation! { create_agent(config: AgentConfig) -> CreatedAgent = (&config) }
    operation! { list_agents(organization_id: String) -> AgentList = (&organization_id) }
}

impl exports::calls::Guest for Plugin {
    operation! { make_call(request: CallRequest) -> StartedCall = (&request) }
    operation! { get_call_details(task_id: String) -> CallDetailsList = (&task_id) }
    operation! {
        wait_for_call_details(task_id: String, wait: WaitOptions) -> CallDetailsWait
            = (&task_id, wait)
    }
}

impl exports::dockets::Guest for Plugin {
    operation! { create_docket(request: DocketRequest) -> CreatedDocket = (&request) }
    operation! { create_docket_v2(request: DocketRequestV2) -> CreatedDocketV2 = (&request) }
    operation! { get_docket(docket_id: String) -> Docket = (&docket_id) }
    operation! {
        wait_for_docket(docket_id: String, wait: WaitOptions) -> DocketWait = (&docket_id, wait)
    }
}

impl exports::bulk::Guest for Plugin {
    operation! {
        create_dockets_v2(requests: Vec<DocketRequestV2>, timeout_ms: u32)
            -> Vec<Result<CreatedDocketV2, RequestError>> = (&requests, timeout_ms)
    }
}

impl exports::webhooks::Guest for Plugin {
    fn parse_docket_completed(body: String) -> Result<Option<DocketCompleted>, RequestError> {
        parse(&body)
    }

    operation! { verify_docket_completed(body: String) -> Verification = (&body) }
}
