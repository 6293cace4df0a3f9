//! How many of the calls on a shared instance go on before it is done with them.
//!
//! A guest that ends the timer of an attempt waits in wasmtime 48 until the timer is gone, and
//! nobody else enters it meanwhile. All that is ready then is put aside and taken up again,
//! for each call once: with thousands of calls ready at the same moment, a call costs as much
//! as thousands of such steps. So no more than a few are let in before all is done that they
//! cause.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// How many are let in at once.
const AT_ONCE: usize = 16;

/// Lets in a few at a time, in the order in which they came.
#[derive(Clone, Debug)]
pub(crate) struct Turnstile(Arc<Semaphore>);

impl Default for Turnstile {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Turnstile {
    /// Waits to be let in.
    pub(crate) async fn pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }

    /// Drives what waits at this turnstile, and lets in the next whenever all is done that
    /// can be done.
    pub(crate) async fn drive<T>(&self, driven: impl Future<Output = T>) -> T {
        let mut driven = pin!(driven);
        poll_fn(|context| {
            let room = AT_ONCE.saturating_sub(self.0.available_permits());
            self.0.add_permits(room);
            let polled = driven.as_mut().poll(context);
            if polled.is_pending() && self.0.available_permits() == 0 {
                // There may be others, who are let in next time.
                context.waker().wake_by_ref();
            }
            polled
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::{join, join_all};
    use std::cell::Cell;

    #[tokio::test]
    async fn all_pass_and_never_more_than_a_few_in_one_poll() {
        let turnstile = Turnstile::default();
        let (passed, most) = (Cell::new(0), Cell::new(0));
        let everyone = join_all((0..100).map(|_| async {
            turnstile.pass().await;
            passed.set(passed.get() + 1);
        }));
        let mut everyone = pin!(everyone);
        let watched = poll_fn(|context| {
            let before = passed.get();
            let polled = everyone.as_mut().poll(context);
            most.set(most.get().max(passed.get() - before));
            polled
        });
        turnstile.drive(watched).await;
        assert_eq!((passed.get(), most.get()), (100, AT_ONCE));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_nobody_waits_at_does_not_wake_anybody() {
        let turnstile = Turnstile::default();
        let polls = Cell::new(0);
        let pause = tokio::time::sleep(std::time::Duration::from_secs(1));
        let counted = async {
            let mut pause = pin!(pause);
            poll_fn(|context| {
                polls.set(polls.get() + 1);
                pause.as_mut().poll(context)
            })
            .await;
        };
        turnstile.drive(join(counted, turnstile.pass())).await;
        assert_eq!(polls.get(), 2);
    }
}
