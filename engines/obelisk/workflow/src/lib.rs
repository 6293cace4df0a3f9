//! The workflows: one docket, many dockets, and deliveries that are verified later.
//!
//! The engine replays a workflow from its history each time it resumes, so everything here depends
//! only on parameters and on what the engine's functions return. There is no clock, no environment
//! and no stderr; a panic would be a failure without a message.

#![deny(unsafe_code)]

mod campaign;
mod contact;
mod creator;
mod deliveries;
mod dispatch;
mod docket;
mod entry;
mod error;
mod grants;
mod handover;
mod hours;
mod notifier;
mod orders;
mod pace;
mod plan;
mod segment;
mod sleep;
mod waiting;

use bindings::exports::voice_calling::workflows as exports;
use bindings::exports::voice_calling::workflows::parts::PartError;
use bindings::voice_calling::once::dockets::Grant;
use bindings::voice_calling::operator::hand_off::Event;
use bindings::voice_calling::workflows::campaign_types::{
    CampaignOptions, Contact, Contacts, Ending, SegmentPlan,
};
use bindings::voice_calling::workflows::types::RunOptions;
use voice_calling_core::types::DocketRequestV2;
use voice_calling_obelisk_guest::CampaignSummary;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit", "../once/wit", "../operator/wit", "../wit", "../worlds"],
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
    fn run_segment(
        source: Option<String>,
        options: CampaignOptions,
        plan: SegmentPlan,
    ) -> Result<CampaignSummary, PartError> {
        Ok(segment::run(source, options, plan))
    }

    fn run_contact(
        contact: Contact,
        options: RunOptions,
        grant: Grant,
    ) -> Result<Ending, PartError> {
        Ok(contact::run(contact, options, grant))
    }

    fn notify(run: String, event: Event) -> Result<(), PartError> {
        notifier::notify(&run, &event)
    }
}

impl exports::deliveries::Guest for Workflows {
    fn deliver(body: String) -> Result<(), String> {
        deliveries::deliver(&body)
    }
}
