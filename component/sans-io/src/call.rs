//! Starts operations of the core.

use crate::host::Host;
use crate::ledger::HostLedger;
use crate::requests::HostRequests;
use crate::transport::HostTransport;
use crate::types::{Call, Effect, Item, OperationId, Output};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;
use voice_calling_core as core;
use voice_calling_core::ledger::Recorded;
use voice_calling_core::types::{CallOptions, Failure};
use voice_calling_core::{Client, DocketResult, ResultSink};

/// The core's client, which operations share.
pub(crate) type SharedClient = Rc<Client<HostTransport, HostLedger>>;

/// The result of an operation.
pub(crate) type OperationResult = Result<Recorded<Output>, Failure>;

/// Creates the future of an operation, which has not begun. Each kind has its own size.
pub(crate) fn operation(
    client: SharedClient,
    host: &Rc<Host>,
    operation: OperationId,
    call: Call,
    options: Option<CallOptions>,
    key: Option<String>,
) -> LocalBoxFuture<'static, OperationResult> {
    macro_rules! read {
        ($function:ident($($argument:expr),*) as $output:ident) => {
            async move {
                let returned = client.$function($($argument,)* options).await;
                returned.map(|it| not_from_ledger(Output::$output(it)))
            }
            .boxed_local()
        };
    }
    macro_rules! create {
        ($function:ident($request:expr) as $output:ident) => {
            async move {
                let created = client.$function($request, options, key.as_deref()).await?;
                Ok(Recorded {
                    answer: Output::$output(created.answer),
                    from_ledger: created.from_ledger,
                })
            }
            .boxed_local()
        };
    }
    match call {
        Call::CreateAgent(config) => create!(create_agent(&config) as CreateAgent),
        Call::ListAgents(id) => read!(list_agents(&id) as ListAgents),
        Call::MakeCall(request) => create!(make_call(&request) as MakeCall),
        Call::GetCallDetails(id) => read!(get_call_details(&id) as GetCallDetails),
        Call::WaitForCallDetails((id, wait)) => {
            read!(wait_for_call_details(&id, wait) as WaitForCallDetails)
        }
        Call::CreateDocket(request) => create!(create_docket(&request) as CreateDocket),
        Call::CreateDocketV2(request) => create!(create_docket_v2(&request) as CreateDocketV2),
        Call::GetDocket(id) => read!(get_docket(&id) as GetDocket),
        Call::WaitForDocket((id, wait)) => read!(wait_for_docket(&id, wait) as WaitForDocket),
        Call::CreateDocketsV2(timeout_ms) => {
            let source = HostRequests(host.clone());
            let items = Items {
                host: host.clone(),
                operation,
            };
            async move {
                let batch = client.begin_batch(source, timeout_ms, options)?;
                batch.run(&items).await;
                Ok(not_from_ledger(Output::CreateDocketsV2))
            }
            .boxed_local()
        }
        Call::VerifyDocketCompleted(body) => {
            read!(verify_docket_completed(&body) as VerifyDocketCompleted)
        }
    }
}

fn not_from_ledger(output: Output) -> Recorded<Output> {
    Recorded {
        answer: output,
        from_ledger: false,
    }
}

/// Reports the results of a batch to the host as they come.
struct Items {
    host: Rc<Host>,
    operation: OperationId,
}

impl ResultSink for Items {
    // It is never closed: a cancelled batch reports the result of each request.
    async fn send(&self, item: &core::Item<'_>, created: DocketResult) {
        self.host.effect(Effect::Item(Item {
            operation: self.operation,
            index: item.index.try_into().unwrap_or(u32::MAX),
            from_ledger: created.as_ref().is_ok_and(|it| it.from_ledger),
            created: created.map(|it| it.answer),
        }));
    }
}
