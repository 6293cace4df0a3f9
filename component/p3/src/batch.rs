//! A batch whose results are handed over as they come, after its call has returned.

use crate::bindings::exports::voice_calling::client_async::bulk::BatchResult;
use crate::bindings::wit_stream;
use crate::http::NANOSECONDS_PER_MS;
use crate::wasi::clocks::monotonic_clock;
use crate::wasi_transport::WasiTransport;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use voice_calling_core::{Batch, DocketResult, Recipient};
use wit_bindgen::{StreamReader, StreamResult, StreamWriter, spawn_local, yield_async};

/// How often the batch looks whether its reader is still there, while it has nothing to write:
/// a stream says so only to those who write. It is not a whole second: an attempt whose time is up
/// waits for one event of the same moment, which should be that of its own answer.
const LOOK_NS: u64 = 997 * NANOSECONDS_PER_MS;

/// Runs a batch and returns what its results are read from.
pub(crate) fn begin(batch: Batch<'static, WasiTransport>) -> StreamReader<BatchResult> {
    let (writer, reader) = wit_stream::new();
    spawn_local(async move {
        let results = Results {
            waiting: RefCell::default(),
            writer: Cell::new(Some(writer)),
            is_complete: Cell::new(false),
            has_reader: Cell::new(true),
        };
        let running = pin!(batch.run(&results));
        // Polled after the batch, so that it sees at once what the batch leaves for it.
        let handing_over = pin!(results.hand_over());
        // Without a reader the batch is dropped, and with it the requests under way.
        if let Either::Left(((), handing_over)) = select(running, handing_over).await {
            results.is_complete.set(true);
            handing_over.await;
        }
    });
    reader
}

/// The results on their way to the reader.
struct Results {
    /// Those that were not written yet.
    waiting: RefCell<Vec<BatchResult>>,
    /// None while it writes, and once there is no reader.
    writer: Cell<Option<StreamWriter<BatchResult>>>,
    is_complete: Cell<bool>,
    has_reader: Cell<bool>,
}

impl Recipient for Results {
    fn is_there(&self) -> bool {
        // A write under way hears of the reader's end itself.
        if let Some(mut writer) = self.writer.take() {
            let written = writer.write(Vec::new()).now_or_never();
            if matches!(written, Some((StreamResult::Dropped, _))) {
                self.has_reader.set(false);
            } else {
                self.writer.set(Some(writer));
            }
        }
        self.has_reader.get()
    }

    async fn take(&self, index: usize, outcome: DocketResult) {
        // At most 1000.
        let index = index as u32;
        self.waiting
            .borrow_mut()
            .push(BatchResult { index, outcome });
        // It goes out before anything else is begun, and might trap.
        yield_async().await;
    }
}

impl Results {
    /// Writes results, until all are written or there is no reader.
    async fn hand_over(&self) {
        loop {
            let look = pin!(monotonic_clock::wait_for(LOOK_NS));
            match select(pin!(self.next()), look).await {
                Either::Left((results, _)) => {
                    if results.is_empty() {
                        return;
                    }
                    let Some(mut writer) = self.writer.take() else {
                        return;
                    };
                    if !writer.write_all(results).await.is_empty() {
                        return;
                    }
                    self.writer.set(Some(writer));
                }
                Either::Right(_) if self.is_there() => {}
                Either::Right(_) => return,
            }
        }
    }

    /// Waits for results; none once there will be no more to write.
    async fn next(&self) -> Vec<BatchResult> {
        poll_fn(|_| {
            let results = self.waiting.take();
            match results.is_empty() && self.has_reader.get() && !self.is_complete.get() {
                true => Poll::Pending,
                false => Poll::Ready(results),
            }
        })
        .await
    }
}
