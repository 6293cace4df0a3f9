//! Options of one call of a function.

use serde::{Deserialize, Serialize};

/// Options of one call of a function. Without them, and for each that is `None`, the settings
/// apply.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOptions {
    /// Which account sends the request: one of the names in the setting `ACCOUNTS`. `None`: the
    /// account of the settings without a name.
    pub account: Option<String>,
    /// Overrides `DEADLINE_MS`: for the operation, each item of a batch, each poll of a wait. Unit:
    /// milliseconds; 1 to 86400000. A smaller deadline lowers the timeouts of an attempt as well.
    pub deadline_ms: Option<u32>,
    /// Overrides `MAX_ATTEMPTS`: 1 to 100.
    pub max_attempts: Option<u32>,
}
