//! Calls that nobody waits for any more. wasmtime 48 cannot cancel a call of a guest (its
//! issue 11833 is about that), so that the harness ends what the call does outside: the request
//! that it has open, and every one that it would begin.

use crate::capabilities::Guest;
use futures_util::future::{Either, select};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::SetOnce;
use wasmtime::component::{Accessor, GuestTaskId, HasData, Resource};
use wasmtime::{AsContextMut, StoreContextMut};
use wasmtime_wasi::TrappableError;
use wasmtime_wasi_http::p3::bindings::http::client::HostWithStore;
use wasmtime_wasi_http::p3::bindings::http::types::{ErrorCode, HostRequestWithStore};
use wasmtime_wasi_http::p3::{Request, Response};
use wasmtime_wasi_http::{WasiHttp, WasiHttpCtxView, WasiHttpView};

/// Set once nobody waits for a call any more.
pub(crate) type Abandoned = Arc<SetOnce<()>>;

/// The calls in flight on an instance that may be abandoned, by their tasks.
#[derive(Debug, Default)]
pub(crate) struct InFlight(HashMap<GuestTaskId, Abandoned>);

impl InFlight {
    pub(crate) fn begin(&mut self, task: GuestTaskId) -> Abandoned {
        let abandoned = Abandoned::default();
        self.0.insert(task, abandoned.clone());
        abandoned
    }

    /// A task's id is given to another as soon as the guest is done, which may be before
    /// the call hears of it.
    pub(crate) fn end(&mut self, task: GuestTaskId, ended: &Abandoned) {
        if let Entry::Occupied(entry) = self.0.entry(task)
            && Arc::ptr_eq(entry.get(), ended)
        {
            entry.remove();
        }
    }
}

/// That of the call to which the present task belongs.
fn of_current_call(mut store: StoreContextMut<'_, Guest>) -> wasmtime::Result<Option<Abandoned>> {
    let call = store.async_call_stack()?.last();
    Ok(call.and_then(|call| store.data().in_flight.0.get(&call).cloned()))
}

/// wasi:http/client, which sends nothing more for an abandoned call.
pub(crate) struct HttpClient;

impl HasData for HttpClient {
    type Data<'a> = WasiHttpCtxView<'a>;
}

impl HostWithStore<Guest> for HttpClient {
    async fn send(
        store: &Accessor<Guest, Self>,
        request: Resource<Request>,
    ) -> Result<Resource<Response>, TrappableError<ErrorCode>> {
        let abandoned = store
            .with(|mut access| of_current_call(access.as_context_mut()))
            .map_err(TrappableError::trap)?;
        let wasi = store.with_getter::<WasiHttp>(Guest::http);
        let Some(abandoned) = abandoned else {
            return WasiHttp::send(&wasi, request).await;
        };
        if abandoned.initialized() {
            // Or the guest would wait for ever until somebody takes the body.
            wasi.with(|access| <WasiHttp as HostRequestWithStore<_>>::drop(access, request))
                .map_err(TrappableError::trap)?;
            // Final for the guest: no other attempt.
            return Err(ErrorCode::HttpRequestDenied.into());
        }
        let request_rings = store.with(|mut access| {
            let request = access.get().table.get(&request);
            request.map(|request| request.method != http::Method::GET)
        });
        let request_rings = request_rings.map_err(TrappableError::trap)?;
        let sending = pin!(WasiHttp::send(&wasi, request));
        match select(sending, pin!(abandoned.wait())).await {
            Either::Left((sent, _)) => sent,
            Either::Right(_) if request_rings => {
                tracing::warn!(
                    "a call was dropped while its create was open: nobody knows whether it \
                     was processed"
                );
                Err(ErrorCode::InternalError(Some("the host dropped the call".to_owned())).into())
            }
            Either::Right(_) => Err(ErrorCode::HttpRequestDenied.into()),
        }
    }
}
