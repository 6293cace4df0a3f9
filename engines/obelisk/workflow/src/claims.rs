//! The claims of a run's creations. The first write to a claim decides: an activity takes it before
//! it creates; the run closes it to be certain that nothing was or ever will be begun.

use voice_calling_obelisk_guest::campaign::CLAIMS;

use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::obelisk::types::join_set::JoinSet;
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::{waits_obelisk_ext, waits_obelisk_stub};

pub struct Claims {
    set: JoinSet,
}

impl Claims {
    pub fn begin() -> Self {
        // The name is a constant of the allowed form, used once in an execution.
        let set = engine::join_set_create_named(CLAIMS).expect("a name for the join set");
        Self { set }
    }

    /// Opens the claim of one creation.
    pub fn open(&self, run: &str) -> Claim {
        Claim(waits_obelisk_ext::claim::creation_submit(&self.set, run))
    }
}

pub struct Claim(ExecutionId);

impl Claim {
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Closes the claim. Returns `false` if the creation was begun or the claim cancelled by hand.
    pub fn close(&self) -> bool {
        let closed = Err("closed: nothing is to be created under this claim");
        waits_obelisk_stub::claim::creation_stub(&self.0, closed).is_ok()
    }
}
