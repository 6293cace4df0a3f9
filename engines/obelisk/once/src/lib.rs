//! The activity that makes a phone ring, and does so once.
//!
//! The engine runs an activity again that was under way when it was asked to end, or when a
//! deployment was applied, and does not say that it has. So a run takes the creation's claim
//! first. What is around is the client, unmodified: `cargo xtask obelisk build` plugs it in.

#![deny(unsafe_code)]

mod claim;
mod engine;

use bindings::exports::voice_calling::once::dockets::Guest;
use bindings::voice_calling::client::dockets;
use voice_calling_core::types::{
    CallOptions, CreatedDocketV2, DocketRequestV2, Failure, RequestError,
};

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit", "wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/once",
        with: { "voice-calling:client/types@0.2.0": voice_calling_core::types },
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
    ) -> Result<CreatedDocketV2, RequestError> {
        claim::take(&claim).map_err(unknown)?;
        dockets::create_docket_v2(&request, options.as_ref())
    }
}

/// This run has sent nothing, and cannot know of those before it.
fn unknown(message: String) -> RequestError {
    RequestError::PermanentOutcomeUnknown(Failure {
        message,
        problem: None,
        response: None,
        attempts: Vec::new(),
        may_have_created: true,
    })
}
