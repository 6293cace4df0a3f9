//! An operation's way into the core.

use crate::host::Host;
use crate::transport::HostTransport;
use crate::types::{Answer, Call, Effect, Item, OperationId, Outcome};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;
use voice_calling_core::types::DocketRequestV2;
use voice_calling_core::{Client, DocketResult, Options, Recipient};

/// The client of the core, for as long as an operation needs it.
pub(crate) type SharedClient = Rc<Client<HostTransport>>;

/// An operation that has not begun. Each kind has a future of its own size.
pub(crate) fn operation(
    client: SharedClient,
    host: &Rc<Host>,
    operation: OperationId,
    call: Call,
    options: Options,
) -> LocalBoxFuture<'static, Outcome> {
    match call {
        Call::CreateAgent(config) => async move {
            let created = client.create_agent(&config, options).await;
            created.map(Answer::CreateAgent)
        }
        .boxed_local(),
        Call::ListAgents(organization_id) => async move {
            let listed = client.list_agents(&organization_id, options).await;
            listed.map(Answer::ListAgents)
        }
        .boxed_local(),
        Call::MakeCall(request) => async move {
            let started = client.make_call(&request, options).await;
            started.map(Answer::MakeCall)
        }
        .boxed_local(),
        Call::GetCallDetails(task_id) => async move {
            let details = client.get_call_details(&task_id, options).await;
            details.map(Answer::GetCallDetails)
        }
        .boxed_local(),
        Call::WaitForCallDetails((task_id, wait)) => async move {
            let waited = client.wait_for_call_details(&task_id, wait, options).await;
            waited.map(Answer::WaitForCallDetails)
        }
        .boxed_local(),
        Call::CreateDocket(request) => async move {
            let created = client.create_docket(&request, options).await;
            created.map(Answer::CreateDocket)
        }
        .boxed_local(),
        Call::CreateDocketV2(request) => async move {
            let created = client.create_docket_v2(&request, options).await;
            created.map(Answer::CreateDocketV2)
        }
        .boxed_local(),
        Call::GetDocket(docket_id) => async move {
            let docket = client.get_docket(&docket_id, options).await;
            docket.map(Answer::GetDocket)
        }
        .boxed_local(),
        Call::WaitForDocket((docket_id, wait)) => async move {
            let waited = client.wait_for_docket(&docket_id, wait, options).await;
            waited.map(Answer::WaitForDocket)
        }
        .boxed_local(),
        Call::CreateDocketsV2((requests, timeout_ms)) => {
            let host = host.clone();
            let items = Items { host, operation };
            batch(client, items, requests, timeout_ms, options).boxed_local()
        }
        Call::VerifyDocketCompleted(body) => async move {
            let verified = client.verify_docket_completed(&body, options).await;
            verified.map(Answer::VerifyDocketCompleted)
        }
        .boxed_local(),
    }
}

async fn batch(
    client: SharedClient,
    items: Items,
    requests: Vec<DocketRequestV2>,
    timeout_ms: u32,
    options: Options,
) -> Outcome {
    let batch = client.begin_batch(requests.into(), timeout_ms, options)?;
    batch.run(&items).await;
    Ok(Answer::CreateDocketsV2)
}

/// Tells the host the results of a batch as they come.
struct Items {
    host: Rc<Host>,
    operation: OperationId,
}

impl Recipient for Items {
    /// Even if it is abandoned: it reports what became of each.
    fn is_there(&self) -> bool {
        true
    }

    async fn take(&self, index: usize, created: DocketResult) {
        self.host.effect(Effect::Item(Item {
            operation: self.operation,
            index: index.try_into().unwrap_or(u32::MAX),
            created,
        }));
    }
}
