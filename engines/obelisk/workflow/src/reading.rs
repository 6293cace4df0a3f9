//! Fetches a docket with retries, which are always safe for a read.

use voice_calling_core::types::{CallOptions, Docket, RequestError};

use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::client::dockets as activities;
use crate::error::is_permanent;
use crate::pace::Pauses;
use crate::waiting::after;

/// The number of attempts before a failure is returned.
const TRIES: u32 = 6;

/// Fetches a docket. Failures that may pass are retried for half a minute, in addition to the
/// component's own retries.
pub fn docket(docket_id: &str, options: Option<&CallOptions>) -> Result<Docket, RequestError> {
    let mut pauses = Pauses::new(1_000, 30_000);
    let mut tries = 1;
    loop {
        match activities::get_docket(docket_id, options) {
            Err(error) if !is_permanent(&error) && tries < TRIES => {}
            answer => return answer,
        }
        tries += 1;
        // A sleep that an operator cancels ends early, which does no harm.
        let _ = engine::sleep(after(pauses.next_ms()), None);
    }
}
