//! The functions that the component exports, each connected to the client's. They are the same in
//! the worlds of WASI 0.2 and 0.3: the guests for both share this file, and each defines with its
//! macro `operation` how an operation runs. Creates have no key: a component has no ledger.

use crate::wasi::cli::environment::get_environment;
use crate::{Plugin, exports};
use voice_calling_core::ledger::Recorded;
use voice_calling_core::types::*;
use voice_calling_core::webhooks::parse_in_environment;

/// Returns the answer to a create.
async fn created<R>(
    operation: impl Future<Output = Result<Recorded<R>, Failure>>,
) -> Result<R, Failure> {
    operation.await.map(|created| created.answer)
}

/// Returns the results of a batch, whose errors have the same cases as that of the batch itself.
async fn results<R>(
    batch: impl Future<Output = Result<Vec<Result<R, Failure>>, Failure>>,
) -> Result<Vec<Result<R, RequestError>>, Failure> {
    let results = batch.await?.into_iter();
    Ok(results
        .map(|result| result.map_err(RequestError::from))
        .collect())
}

impl exports::agents::Guest for Plugin {
    operation! { create_agent(config: AgentConfig) -> CreatedAgent
    = |client, options| created(client.create_agent(&config, options, None)) }
    operation! { list_agents(organization_id: String) -> AgentList
    = |client, options| client.list_agents(&organization_id, options) }
}

impl exports::calls::Guest for Plugin {
    operation! { make_call(request: CallRequest) -> StartedCall
    = |client, options| created(client.make_call(&request, options, None)) }
    operation! { get_call_details(task_id: String) -> CallDetailsList
    = |client, options| client.get_call_details(&task_id, options) }
    operation! { wait_for_call_details(task_id: String, wait: WaitOptions) -> CallDetailsWait
    = |client, options| client.wait_for_call_details(&task_id, wait, options) }
}

impl exports::dockets::Guest for Plugin {
    operation! { create_docket(request: DocketRequest) -> CreatedDocket
    = |client, options| created(client.create_docket(&request, options, None)) }
    operation! { create_docket_v2(request: DocketRequestV2) -> CreatedDocketV2
    = |client, options| created(client.create_docket_v2(&request, options, None)) }
    operation! { get_docket(docket_id: String) -> Docket
    = |client, options| client.get_docket(&docket_id, options) }
    operation! { wait_for_docket(docket_id: String, wait: WaitOptions) -> DocketWait
    = |client, options| client.wait_for_docket(&docket_id, wait, options) }
}

impl exports::bulk::Guest for Plugin {
    operation! {
        create_dockets_v2(requests: Vec<DocketRequestV2>, timeout_ms: u32)
            -> Vec<Result<CreatedDocketV2, RequestError>>
            = |client, options| results(client.create_dockets_v2(&requests, timeout_ms, options))
    }
}

impl exports::webhooks::Guest for Plugin {
    fn parse_docket_completed(body: String) -> Result<Option<DocketCompleted>, RequestError> {
        parse_in_environment(get_environment(), &body).map_err(RequestError::from)
    }

    operation! { verify_docket_completed(body: String) -> Verification
    = |client, options| client.verify_docket_completed(&body, options) }
}
