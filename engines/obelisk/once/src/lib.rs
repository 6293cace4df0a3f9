//! The activity that makes a phone ring, and does so at most once.
//!
//! The engine reruns an activity that was in progress when the engine was shut down or a deployment
//! was applied, and does not say so. Therefore a run takes the claim of the creation first, unless
//! creations are held, then checks its grant, if it has one, and creates at once. Everything else is the unmodified client,
//! which `cargo xtask obelisk build` plugs in.

#![deny(unsafe_code)]

mod claim;
mod grant;

use bindings::exports::voice_calling::once::dockets::{CreationError, Grant, Guest};
use bindings::exports::voice_calling::once::questions;
use bindings::voice_calling::client::dockets;
use voice_calling_core::types::{CallOptions, CreatedDocketV2, DocketRequestV2, RequestError};
use voice_calling_obelisk_guest::{Api, RunId, failure};
use wasip2::cli::environment::get_environment;
use wasip2::clocks::wall_clock;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit", "wit", "../operator/wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/once",
        with: { "voice-calling:types/types@0.2.0": voice_calling_core::types },
        additional_derives: [PartialEq],
        generate_all,
    });
    use super::Once;
    export!(Once);
}

/// The function of the questions to people.
const QUESTION: &str = "voice-calling:waits/person@0.2.0.decision";

struct Once;

impl Guest for Once {
    fn create_docket_v2(
        claim: String,
        request: DocketRequestV2,
        options: Option<CallOptions>,
        grant: Option<Grant>,
    ) -> Result<CreatedDocketV2, CreationError> {
        // This run has sent nothing, and cannot know whether an earlier one has.
        let unclaimed = |reason: String| CreationError::Failed(failure::unknown(reason));
        let environment = get_environment();
        grant::check_hold(&environment).map_err(CreationError::Held)?;
        let api = Api::of(&environment).map_err(unclaimed)?;
        claim::take(&api, &claim).map_err(unclaimed)?;
        let options = match grant {
            None => options,
            Some(grant) => {
                let gate = api.result(&grant.gate);
                grant::check(&grant, gate, now_ms()).map_err(CreationError::NotGranted)?;
                Some(grant::one_attempt(options))
            }
        };
        dockets::create_docket_v2(&request, options.as_ref()).map_err(|error| match error {
            RequestError::ExecutionFailed => CreationError::ExecutionFailed,
            RequestError::Permanent(failure) | RequestError::Transient(failure) => {
                CreationError::Failed(failure)
            }
        })
    }
}

impl questions::Guest for Once {
    fn count(campaign: String) -> Result<u32, String> {
        let Some(campaign) = RunId::read(&campaign) else {
            return Ok(0);
        };
        let open = Api::of(&get_environment())?.open(&format!("{campaign}."), QUESTION)?;
        Ok(open.len() as u32)
    }
}

/// Returns the milliseconds since 1970-01-01T00:00:00Z.
fn now_ms() -> u64 {
    let now = wall_clock::now();
    now.seconds * 1_000 + u64::from(now.nanoseconds / 1_000_000)
}
