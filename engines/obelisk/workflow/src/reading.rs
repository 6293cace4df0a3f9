//! A docket that has to be had: a read may be repeated as often as one likes.

use voice_calling_core::types::{CallOptions, Docket, RequestError};

use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::client::dockets as activities;
use crate::error::is_permanent;
use crate::pace::Pauses;
use crate::waiting::after;

/// How often a docket is asked for before the failure counts.
const TRIES: u32 = 6;

/// Fetches a docket, again after failures that may pass: for half a minute, and what the
/// component's own repetitions take.
pub fn docket(docket_id: &str, options: Option<&CallOptions>) -> Result<Docket, RequestError> {
    let mut pauses = Pauses::new(1_000, 30_000);
    let mut tries = 1;
    loop {
        match activities::get_docket(docket_id, options) {
            Err(error) if !is_permanent(&error) && tries < TRIES => {}
            answer => return answer,
        }
        tries += 1;
        // Cancelled by an operator it is over early, which does no harm.
        let _ = engine::sleep(after(pauses.next_ms()), None);
    }
}
