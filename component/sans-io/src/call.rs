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
    macro_rules! answer {
        ($function:ident($($argument:expr),*) as $answer:ident) => {
            async move {
                let returned = client.$function($($argument,)* options).await;
                returned.map(Answer::$answer)
            }
            .boxed_local()
        };
    }
    match call {
        Call::CreateAgent(config) => answer!(create_agent(&config) as CreateAgent),
        Call::ListAgents(id) => answer!(list_agents(&id) as ListAgents),
        Call::MakeCall(request) => answer!(make_call(&request) as MakeCall),
        Call::GetCallDetails(id) => answer!(get_call_details(&id) as GetCallDetails),
        Call::WaitForCallDetails((id, wait)) => {
            answer!(wait_for_call_details(&id, wait) as WaitForCallDetails)
        }
        Call::CreateDocket(request) => answer!(create_docket(&request) as CreateDocket),
        Call::CreateDocketV2(request) => answer!(create_docket_v2(&request) as CreateDocketV2),
        Call::GetDocket(id) => answer!(get_docket(&id) as GetDocket),
        Call::WaitForDocket((id, wait)) => answer!(wait_for_docket(&id, wait) as WaitForDocket),
        Call::CreateDocketsV2((requests, timeout_ms)) => {
            let host = host.clone();
            let items = Items { host, operation };
            batch(client, items, requests, timeout_ms, options).boxed_local()
        }
        Call::VerifyDocketCompleted(body) => {
            answer!(verify_docket_completed(&body) as VerifyDocketCompleted)
        }
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
