//! The workflows: one docket, many dockets, and deliveries of the webhook.
//!
//! The engine replays a workflow from its history whenever it goes on: everything here depends
//! on nothing but parameters and what the engine's functions return. There is no clock, no
//! environment and no stderr; a panic would be a failure without a message.

#![deny(unsafe_code)]

mod campaign;
mod claims;
mod creation;
mod deliveries;
mod docket;
mod error;
mod pace;
mod reading;
mod waiting;

use bindings::exports::voice_calling::workflows as exports;
use voice_calling_core::types::DocketRequestV2;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit", "../once/wit", "../operator/wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/workflow",
        with: { "voice-calling:client/types@0.2.0": voice_calling_core::types },
        additional_derives: [Clone, PartialEq],
        generate_all,
    });
    use super::Workflows;
    export!(Workflows);
}

/// What the component exports.
struct Workflows;

impl exports::docket::Guest for Workflows {
    fn run_docket(
        request: DocketRequestV2,
        options: exports::docket::RunOptions,
    ) -> Result<exports::docket::DocketOutcome, exports::docket::RunError> {
        docket::run(request, options)
    }
}

impl exports::campaign::Guest for Workflows {
    fn run_campaign(
        requests: Vec<DocketRequestV2>,
        options: exports::campaign::CampaignOptions,
    ) -> Result<Vec<campaign::RunResult>, exports::campaign::CampaignError> {
        campaign::run(&requests, options)
    }
}

impl exports::deliveries::Guest for Workflows {
    fn deliver(
        body: String,
        account: Option<String>,
    ) -> Result<exports::deliveries::Verdict, exports::deliveries::DeliverError> {
        deliveries::deliver(&body, account)
    }
}
