//! What the requests of one batch share: a rate limit that one of them meets holds
//! all of them back.

use crate::transport::Transport;
use std::cell::Cell;

/// Closed until some moment. A request on its own has a gate of its own.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed_until_ms: Cell<u64>,
}

impl Gate {
    /// Holds everybody back until then.
    pub(crate) fn close_until(&self, moment_ms: u64) {
        self.closed_until_ms
            .set(self.closed_until_ms.get().max(moment_ms));
    }

    /// Waits until the gate is open and `not_before_ms` has come. False at once
    /// where that would not be before `deadline_ms`.
    pub(crate) async fn pass<T: Transport>(
        &self,
        transport: &T,
        not_before_ms: u64,
        deadline_ms: u64,
    ) -> bool {
        loop {
            let now_ms = transport.now_ms();
            // Asked again after every sleep: others may have closed it for longer.
            let begin_ms = self.closed_until_ms.get().max(not_before_ms).max(now_ms);
            if begin_ms >= deadline_ms {
                return false;
            }
            if begin_ms == now_ms {
                return true;
            }
            transport.sleep(begin_ms - now_ms).await;
        }
    }
}
