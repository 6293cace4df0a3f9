//! The activity that makes a phone ring, and does so at most once.
//!
//! The engine reruns an activity that was in progress when the engine was shut down or a deployment
//! was applied, and does not say so. Therefore a run takes the claim of the creation first, unless
//! creations are held, then checks its grant, if it has one, and creates at once. Everything else is the unmodified client,
//! which `cargo xtask obelisk build` plugs in.

mod claim;
mod grant;
mod numbers;
mod retry;

use bindings::exports::voice_calling::once::dockets::{CreationError, Grant, Guest};
use bindings::exports::voice_calling::once::records::{self, ContactsPage};
use bindings::voice_calling::client::dockets;
use voice_calling_core::types::{
    CallOptions, CreatedDocketV2, DocketRequestV2, NextStep, RequestError,
};
use voice_calling_obelisk_guest::{Api, failure};
use wasip2::cli::environment::get_environment;
use wasip2::clocks::{monotonic_clock, wall_clock};

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit", "../operator/wit", "wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/once",
        with: { "voice-calling:types/types@0.2.0": voice_calling_core::types },
        additional_derives: [PartialEq],
        generate_all,
    });
    use super::Once;
    export!(Once);
}

struct Once;

impl Guest for Once {
    fn create_docket_v2(
        claim: String,
        request: DocketRequestV2,
        options: Option<CallOptions>,
        grant: Option<Grant>,
    ) -> Result<CreatedDocketV2, CreationError> {
        let begun_ns = monotonic_clock::now();
        let environment = get_environment();
        grant::check_hold(&environment).map_err(CreationError::Held)?;
        // This run has sent nothing, and cannot know whether an earlier one has.
        let api = Api::of(&environment)
            .map_err(|reason| CreationError::Failed(failure::unknown(reason)))?;
        claim::take(&api, &claim)?;
        let number = &request.to_phone_number;
        numbers::check_opt_out(&api, number).map_err(CreationError::NotGranted)?;
        let in_time = || grant::check_lateness((monotonic_clock::now() - begun_ns) / 1_000_000);
        let (options, call) = match grant {
            None => {
                in_time().map_err(CreationError::NotGranted)?;
                (options, None)
            }
            Some(grant) => {
                let count = |limits| numbers::Call::count(&api, number, &claim, limits, now_ms);
                let call = grant.per_number.map(count).transpose();
                let call = call.map_err(CreationError::NotGranted)?;
                // The last question: only the creation follows.
                let gate = api.result(&grant.gate);
                let granted = grant::check(&grant, gate, now_ms()).and_then(|()| in_time());
                if let Err(refusal) = granted {
                    call.inspect(|call| call.take_back(&api));
                    return Err(CreationError::NotGranted(refusal));
                }
                (Some(grant::one_attempt(options)), call)
            }
        };
        dockets::create_docket_v2(&request, options.as_ref()).map_err(|error| match error {
            RequestError::ExecutionFailed => CreationError::ExecutionFailed,
            RequestError::Permanent(failure) | RequestError::Transient(failure) => {
                if let Some(call) = call
                    && failure.next_step != NextStep::Unknown
                {
                    call.take_back(&api);
                }
                CreationError::Failed(failure)
            }
        })
    }
}

impl records::Guest for Once {
    fn not_created(campaign: String, position: u64) -> Result<ContactsPage, String> {
        retry::page(&Api::of(&get_environment())?, &campaign, position)
    }

    fn opt_out(to_phone_number: String, run: String, reason: String) -> Result<(), String> {
        let api = Api::of(&get_environment())?;
        numbers::opt_out(&api, &to_phone_number, &run, &reason)
    }
}

/// Returns the milliseconds since 1970-01-01T00:00:00Z.
fn now_ms() -> u64 {
    let now = wall_clock::now();
    now.seconds * 1_000 + u64::from(now.nanoseconds / 1_000_000)
}
