//! Runs futures on `wasi:io/poll`.
//!
//! Every pollable that a future waits for is in one list, with that future's own waker: combinators
//! such as `join_all` poll only woken futures.

use crate::wasi::io::poll::{Pollable, poll};
use std::cell::RefCell;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

thread_local! {
    /// The entries by the keys of their futures. A free key goes to the next future.
    static WAITING: RefCell<Vec<Option<Waiting>>> = const { RefCell::new(Vec::new()) };
}

struct Waiting {
    pollable: Pollable,
    waker: Waker,
    is_ready: bool,
}

/// Runs a future to its end.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        // A future may wake itself to let others run first.
        if !woken.0.swap(false, Ordering::Relaxed) {
            wait_for_any();
        }
    }
}

/// Waits until the pollable is ready, and drops it.
pub(crate) fn ready(pollable: Pollable) -> impl Future<Output = ()> {
    Ready {
        pollable: Some(pollable),
        key: None,
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets the host wait for any pollable, and wakes the futures of those that are ready.
fn wait_for_any() {
    WAITING.with_borrow_mut(|waiting| {
        let mut entries: Vec<_> = waiting
            .iter_mut()
            .flatten()
            .filter(|entry| !entry.is_ready)
            .collect();
        let pollables: Vec<_> = entries.iter().map(|entry| &entry.pollable).collect();
        for index in poll(&pollables) {
            let entry = &mut entries[index as usize];
            entry.is_ready = true;
            entry.waker.wake_by_ref();
        }
    });
}

struct Ready {
    pollable: Option<Pollable>,
    key: Option<usize>,
}

impl Future for Ready {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        WAITING.with_borrow_mut(|waiting| {
            if let Some(pollable) = self.pollable.take() {
                let waker = context.waker().clone();
                let free = waiting.iter().position(Option::is_none);
                let key = free.unwrap_or(waiting.len());
                if free.is_none() {
                    waiting.push(None);
                }
                waiting[key] = Some(Waiting {
                    pollable,
                    waker,
                    is_ready: false,
                });
                self.key = Some(key);
                return Poll::Pending;
            }
            match self.key.and_then(|key| waiting.get_mut(key)) {
                Some(Some(entry)) if !entry.is_ready => {
                    entry.waker.clone_from(context.waker());
                    Poll::Pending
                }
                _ => Poll::Ready(()),
            }
        })
    }
}

/// Drops the pollable, which must go before the stream that it belongs to.
impl Drop for Ready {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            WAITING.with_borrow_mut(|waiting| waiting[key].take());
        }
    }
}
