//! Whether a request may have left.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Whether a request may have left. Clones belong to the same request, of one attempt after another.
///
/// Once it is given to a transport, a request may have left. A transport that knows more holds it
/// back, and lets it depart just before the first byte of its body leaves, without which a service
/// carries out nothing. Until then it can be withdrawn, and is certainly unsent.
#[derive(Debug, Clone)]
pub struct Departure(Arc<AtomicU32>);

impl Departure {
    /// Holds the request back. What was held back before can no longer depart.
    pub fn hold(&self) -> Ticket {
        let next = |state: u32| (state | 1).wrapping_add(1);
        let before = self
            .0
            .fetch_update(SeqCst, SeqCst, |state| Some(next(state)));
        Ticket {
            held: next(before.unwrap_or_else(|state| state)),
            departure: self.clone(),
        }
    }

    /// Withdraws the request. Returns `false` if it may have left; otherwise nothing of its body has,
    /// and nothing will.
    pub fn withdraw(&self) -> bool {
        let next = |state: u32| (state & 1 == 0).then_some(state.wrapping_add(2));
        self.0.fetch_update(SeqCst, SeqCst, next).is_ok()
    }

    /// Lets the request depart, since its transport may not say when it does.
    pub(crate) fn depart(&self) {
        self.0.fetch_or(1, SeqCst);
    }
}

/// The state of a request that may have left. It is even while the request is held back, and another
/// number each time.
impl Default for Departure {
    fn default() -> Self {
        Self(Arc::new(AtomicU32::new(1)))
    }
}

/// Requests are equal if they say the same.
impl PartialEq for Departure {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Departure {}

/// The permission of a request that is held back to depart.
#[derive(Debug)]
pub struct Ticket {
    departure: Departure,
    held: u32,
}

impl Ticket {
    /// Lets the request depart. Returns `false` if it was withdrawn, and must not.
    pub fn depart(&self) -> bool {
        let (held, departed) = (self.held, self.held | 1);
        let state = &self.departure.0;
        let before = state.compare_exchange(held, departed, SeqCst, SeqCst);
        before.is_ok() || before == Err(departed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_departs_or_is_withdrawn_and_never_both() {
        let departure = Departure::default();
        assert!(!departure.withdraw(), "its transport may have sent it");
        let first = departure.hold();
        assert!(departure.withdraw() && !first.depart());
        let second = departure.hold();
        assert!(!first.depart() && second.depart() && second.depart());
        assert!(!departure.withdraw());
        let third = departure.hold();
        assert!(!second.depart() && departure.withdraw() && !third.depart());
        departure.depart();
        assert!(!departure.withdraw());
        let fourth = departure.hold();
        let fifth = departure.hold();
        assert!(!fourth.depart() && departure.withdraw() && !fifth.depart());
    }
}
