//! A request that somebody carries out: a task, or its caller while that waits, so that nobody else
//! has to be woken. A caller that does not look for a while is relieved of it.

use futures_util::future::BoxFuture;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::task::{Context, Poll};

/// A request and its answer, until it is over, given up or taken from the caller. Given up, it
/// ends at that moment.
pub(super) struct Carried {
    sending: Mutex<Option<BoxFuture<'static, ()>>>,
    is_given_up: AtomicBool,
}

impl Carried {
    pub(super) fn new(sending: BoxFuture<'static, ()>) -> Self {
        Self {
            sending: Mutex::new(Some(sending)),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// Goes on with it; ready when there is nothing to go on with.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut place = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let polled = match place.as_mut() {
            Some(_) if self.is_given_up() => Poll::Ready(()),
            // As in a task of its own, a panic ends the request and not the caller.
            Some(sending) => {
                let polled = catch_unwind(AssertUnwindSafe(|| sending.as_mut().poll(context)));
                polled.unwrap_or(Poll::Ready(()))
            }
            None => Poll::Ready(()),
        };
        let over = match polled.is_ready() {
            true => place.take(),
            false => None,
        };
        drop(place);
        drop(over);
        if polled.is_pending() && self.is_given_up() {
            // It was given up while this went on with it.
            drop(self.take());
            return Poll::Ready(());
        }
        polled
    }

    fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::SeqCst)
    }

    /// Ends it, at once or as soon as somebody has gone on with it who does so at this moment.
    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::SeqCst);
        drop(self.take());
    }

    /// Takes it from the caller, unless that goes on with it at this moment.
    pub(super) fn take(&self) -> Option<BoxFuture<'static, ()>> {
        match self.sending.try_lock() {
            Ok(mut place) => place.take(),
            Err(TryLockError::Poisoned(place)) => place.into_inner().take(),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A task that carries a request out. If it goes before its end, so does the request.
pub(super) struct Carrying(pub(super) Arc<Carried>);

impl Future for Carrying {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll(context)
    }
}

impl Drop for Carrying {
    fn drop(&mut self) {
        self.0.give_up();
    }
}
