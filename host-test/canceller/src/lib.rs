//! A workflow for WASI 0.3 that cancels calls that take too long. The build script of `host-test/guests`
//! plugs the component for WASI 0.3 into it: wasmtime's host cannot cancel a call of a guest yet, but another
//! guest can.

use bindings::voice_calling::client_async::bulk::create_dockets_v2;
use bindings::voice_calling::client_async::dockets::create_docket_v2;
use bindings::wasi::clocks::monotonic_clock;
use bindings::{CreatedDocketV2, DocketRequestV2, RequestError};
use futures_util::future::{Either, join_all, select};
use std::pin::pin;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types", "../../wit/async", "wit"],
        world: "voice-calling:canceller/canceller",
        generate_all,
    });
    use super::Canceller;
    export!(Canceller);
}

const NANOSECONDS_PER_MS: u64 = 1_000_000;

const AN_HOUR_MS: u32 = 3_600_000;

/// The result of a call; `None` if it was cancelled.
type Created = Option<Result<CreatedDocketV2, RequestError>>;

type Batch = Vec<Result<CreatedDocketV2, RequestError>>;

struct Canceller;

impl bindings::Guest for Canceller {
    async fn create(dockets: Vec<(DocketRequestV2, u64)>) -> Vec<Created> {
        let create = |(docket, patience_ms)| within(create_docket_v2(docket, None), patience_ms);
        join_all(dockets.into_iter().map(create)).await
    }

    async fn create_batch(dockets: Vec<DocketRequestV2>, patience_ms: u64) -> Option<Batch> {
        let batch = create_dockets_v2(dockets, AN_HOUR_MS, None);
        let created = within(batch, patience_ms).await?;
        // A request that wrongly continues would show within this time.
        wait_for_ms(2_000).await;
        Some(created.expect("nothing is wrong with the whole batch"))
    }
}

async fn wait_for_ms(ms: u64) {
    monotonic_clock::wait_for(ms * NANOSECONDS_PER_MS).await;
}

/// Returns `None` if the call takes longer: its future is dropped, which cancels it.
async fn within<T>(call: impl Future<Output = T>, patience_ms: u64) -> Option<T> {
    match select(pin!(call), pin!(wait_for_ms(patience_ms))).await {
        Either::Left((returned, _)) => Some(returned),
        Either::Right(_) => None,
    }
}
