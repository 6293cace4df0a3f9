//! The workflows: one docket, many dockets, and deliveries that are verified later.
//!
//! The engine replays a workflow from its history each time it resumes, so everything here depends
//! only on parameters and on what the engine's functions return. There is no clock, no environment
//! and no stderr; a panic would be a failure without a message.

mod campaign;
mod contact;
mod creator;
mod deliveries;
mod dispatch;
mod docket;
mod entry;
mod error;
mod grants;
mod notifier;
mod opt_out;
mod orders;
mod pace;
mod plan;
mod segment;
mod sleep;
mod waiting;

use bindings::exports::voice_calling::workflows as exports;
use bindings::exports::voice_calling::workflows::parts::PartError;
use bindings::voice_calling::workflows::campaign_types::{CampaignOptions, Contacts};
use voice_calling_core::types::DocketRequestV2;
use voice_calling_obelisk_guest::CampaignSummary;
use voice_calling_obelisk_guest::campaign::to_text;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit", "../operator/wit", "../once/wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/workflow",
        with: {
            "voice-calling:types/types@0.2.0": voice_calling_core::types,
            "voice-calling:workflows/campaign-types@0.2.0/campaign-summary": voice_calling_obelisk_guest::CampaignSummary,
        },
        additional_derives: [Clone, PartialEq, serde::Serialize, serde::Deserialize],
        generate_all,
    });
    use super::Workflows;
    export!(Workflows);
}

/// The exports of the component.
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
        contacts: Contacts,
        options: CampaignOptions,
    ) -> Result<CampaignSummary, exports::campaign::CampaignError> {
        campaign::run(contacts, options)
    }
}

impl exports::parts::Guest for Workflows {
    fn run_segment(plan: String) -> Result<(), PartError> {
        segment::run(serde_json::from_str(&plan).map_err(|_| PartError::ExecutionFailed)?);
        Ok(())
    }

    fn run_contact(work: String) -> Result<String, PartError> {
        let work = serde_json::from_str(&work).map_err(|_| PartError::ExecutionFailed)?;
        Ok(to_text(&contact::run(&work)))
    }

    fn notify(key: String, event: String) -> Result<(), PartError> {
        notifier::notify(&key, &event)
    }
}

/// What is kept of a number ends when someone resumes it.
impl exports::numbers::Guest for Workflows {
    fn opted_out(_run: String, _reason: String) -> Result<(), String> {
        Ok(())
    }

    fn called(_run: String, _at_ms: u64) -> Result<(), String> {
        Ok(())
    }
}

impl exports::deliveries::Guest for Workflows {
    fn deliver(body: String) -> Result<(), String> {
        deliveries::deliver(&body)
    }
}
