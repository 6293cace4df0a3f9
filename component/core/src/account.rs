//! An account: its settings, and the state that its concurrent operations share.

use crate::gate::Gate;
use crate::permits::Permits;
use crate::settings::AccountSettings;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// An account of the service, with its own token.
pub(crate) struct Account {
    pub(crate) name: Option<String>,
    pub(crate) settings: AccountSettings,
    pub(crate) permits: Permits,
    /// Lives as long as an operation uses it: a rate limit is forgotten with the last operation
    /// that it held back.
    gate: Mutex<Weak<Gate>>,
}

impl Account {
    pub(crate) fn new(name: Option<String>, settings: AccountSettings) -> Self {
        Self {
            name,
            permits: Permits::new(settings.max_in_flight),
            gate: Mutex::default(),
            settings,
        }
    }

    /// Returns the gate that all operations in progress share. Each keeps it until it ends.
    pub(crate) fn gate(&self) -> Arc<Gate> {
        let mut shared = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let gate = Arc::default();
            *shared = Arc::downgrade(&gate);
            gate
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::settings;

    #[test]
    fn the_gate_of_operations_lives_until_the_last_of_them_ends() {
        let account = Account::new(None, settings(&[]));
        let (one, two) = (account.gate(), account.gate());
        one.close(0, 1_000);
        drop(one);
        assert!(!two.is_open(0, 1_000));
        drop(two);
        assert!(account.gate().is_open(0, 1_000));
    }
}
