//! Runs futures on `wasi:io/poll`.
//!
//! Every pollable that a future waits for is in one list, with that future's own waker: combinators
//! such as `join_all` poll only woken futures.

use crate::wasi::io::poll::{Pollable, poll};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

thread_local! {
    /// A future owns its entry, which ends with it.
    static WAITING: RefCell<Vec<Weak<Waiting>>> = const { RefCell::new(Vec::new()) };
}

/// A future that waits for a pollable.
struct Waiting {
    pollable: Pollable,
    waker: Cell<Option<Waker>>,
    is_ready: Cell<bool>,
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
pub(crate) async fn ready(pollable: Pollable) {
    let waiting = Rc::new(Waiting {
        pollable,
        waker: Cell::default(),
        is_ready: Cell::default(),
    });
    WAITING.with_borrow_mut(|all| all.push(Rc::downgrade(&waiting)));
    poll_fn(|context| {
        if waiting.is_ready.get() {
            return Poll::Ready(());
        }
        waiting.waker.set(Some(context.waker().clone()));
        Poll::Pending
    })
    .await;
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
    let mut waiting = Vec::new();
    WAITING.with_borrow_mut(|all| {
        all.retain(|entry| {
            let entry = entry.upgrade().filter(|entry| !entry.is_ready.get());
            let is_kept = entry.is_some();
            waiting.extend(entry);
            is_kept
        });
    });
    let pollables: Vec<_> = waiting.iter().map(|entry| &entry.pollable).collect();
    for index in poll(&pollables) {
        let entry = &waiting[index as usize];
        entry.is_ready.set(true);
        if let Some(waker) = entry.waker.take() {
            waker.wake();
        }
    }
}
