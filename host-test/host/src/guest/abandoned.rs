//! Calls of a shared instance that were dropped. wasmtime 48 cannot cancel a call of a guest
//! (its issue 11833 is about that), so that the host ends what the call does outside: the
//! request that it has open, and every one that it would begin.

use super::capabilities::Guest;
use super::in_flight::InFlight;
use bytes::Bytes;
use futures_util::future::{BoxFuture, Either, select};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use wasmtime::component::{Accessor, GuestTaskId, HasData, Resource};
use wasmtime::{AsContextMut, StoreContextMut};
use wasmtime_wasi::TrappableError;
use wasmtime_wasi_http::p3::bindings::http::client::HostWithStore;
use wasmtime_wasi_http::p3::bindings::http::types::{ErrorCode, HostRequestWithStore};
use wasmtime_wasi_http::p3::{Request, Response};
use wasmtime_wasi_http::{Error, WasiBody, WasiHttp, WasiHttpCtxView, WasiHttpView};

/// The calls in flight on an instance that may be abandoned, by their tasks.
#[derive(Debug, Default)]
pub(crate) struct CallsInFlight(HashMap<GuestTaskId, Arc<InFlight>>);

impl CallsInFlight {
    pub(crate) fn begin(&mut self, task: GuestTaskId, call: &Arc<InFlight>) {
        self.0.insert(task, call.clone());
    }

    /// A task's id is given to another as soon as the guest is done, which may be before
    /// the call hears of it.
    pub(crate) fn end(&mut self, task: GuestTaskId, ended: &Arc<InFlight>) {
        if let Entry::Occupied(entry) = self.0.entry(task)
            && Arc::ptr_eq(entry.get(), ended)
        {
            entry.remove();
        }
    }
}

/// The call to which the present task belongs.
fn current_call(mut store: StoreContextMut<'_, Guest>) -> wasmtime::Result<Option<Arc<InFlight>>> {
    let call = store.async_call_stack()?.last();
    Ok(call.and_then(|call| store.data().calls.0.get(&call).cloned()))
}

tokio::task_local! {
    /// Whose request it is that goes out.
    static SENDING: Arc<InFlight>;
}

/// The body of an answer to the call whose request goes out: it ends when the call is
/// abandoned, as if its connection had.
pub(crate) fn bodies_of_current_call() -> impl FnOnce(WasiBody) -> WasiBody {
    let call = SENDING.try_with(Clone::clone).ok();
    move |body| match call {
        Some(call) => AwaitedBody {
            body: Some(body),
            call,
            abandoned: None,
        }
        .boxed_unsync(),
        None => body,
    }
}

/// A body, for as long as somebody waits for its call.
struct AwaitedBody {
    body: Option<WasiBody>,
    call: Arc<InFlight>,
    /// Waited for where the next frame is not there yet, which is rare.
    abandoned: Option<BoxFuture<'static, ()>>,
}

impl Body for AwaitedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        let Some(body) = &mut this.body else {
            return Poll::Ready(None);
        };
        if !this.call.is_abandoned()
            && let Poll::Ready(frame) = Pin::new(body).poll_frame(context)
        {
            return Poll::Ready(frame);
        }
        let abandoned = this.abandoned.get_or_insert_with(|| {
            let call = this.call.clone();
            Box::pin(async move {
                call.abandoned().await;
            })
        });
        ready!(abandoned.as_mut().poll(context));
        this.body = None;
        Poll::Ready(Some(Err(Error::InternalError(Some(DROPPED.to_owned())))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

/// What a guest gets whose request was open when its call was abandoned.
const DROPPED: &str = "the host dropped the call";

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
        let call = store
            .with(|mut access| current_call(access.as_context_mut()))
            .map_err(TrappableError::trap)?;
        let wasi = store.with_getter::<WasiHttp>(Guest::http);
        let Some(call) = call else {
            return WasiHttp::send(&wasi, request).await;
        };
        let is_create = store.with(|mut access| {
            let request = access.get().table.get(&request);
            request.map(|request| request.method != http::Method::GET)
        });
        let is_create = is_create.map_err(TrappableError::trap)?;
        if !call.begin_request(is_create) {
            // Or the guest would wait for ever until somebody takes the body.
            wasi.with(|access| <WasiHttp as HostRequestWithStore<_>>::drop(access, request))
                .map_err(TrappableError::trap)?;
            // Final for the guest: no other attempt.
            return Err(ErrorCode::HttpRequestDenied.into());
        }
        let sending = pin!(SENDING.scope(call.clone(), WasiHttp::send(&wasi, request)));
        match select(sending, pin!(call.abandoned())).await {
            Either::Left((sent, _)) => sent,
            Either::Right(_) if is_create => {
                Err(ErrorCode::InternalError(Some(DROPPED.to_owned())).into())
            }
            Either::Right(_) => Err(ErrorCode::HttpRequestDenied.into()),
        }
    }
}
