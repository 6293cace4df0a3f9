//! The texts that the parts of a campaign write into each other's stubs, as JSON.

use serde::{Deserialize, Serialize};

use crate::bindings::voice_calling::workflows::campaign_types::{Contact, Rest};

/// The rest that a segment leaves.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Handover {
    /// All contacts have ended.
    Done,
    /// The next segment continues with the rest.
    Rest(Rest),
}

impl Handover {
    pub fn to_text(&self) -> String {
        // Numbers and strings always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns `None` if the text was written by hand and is something else.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Returns the text for a slot of the successor: the contact to dispatch again, or `null`.
pub fn slot_text(again: Option<&Contact>) -> String {
    serde_json::to_string(&again).unwrap_or_default()
}

/// Returns the contact in a slot. A slot that was cancelled by hand is free as well.
pub fn contact_in_slot(value: Result<String, String>) -> Option<Contact> {
    serde_json::from_str(&value.ok()?).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::Given;
    use crate::plan;
    use voice_calling_core::types::DocketRequestV2;

    fn contact() -> Contact {
        let request = DocketRequestV2 {
            agent_id: -1,
            to_phone_number: "919876543210".to_owned(),
            call_context: "{\"a\":\"\\\"\"}".to_owned(),
            external_id: Some("crm-1".to_owned()),
            extra: Some("{}".to_owned()),
        };
        Contact {
            waited_ms: u64::MAX,
            tries: 3,
            ..plan::contact(7, request)
        }
    }

    #[test]
    fn a_contact_survives_both_stubs() {
        let slot = slot_text(Some(&contact()));
        assert_eq!(contact_in_slot(Ok(slot)), Some(contact()));
        let rest = Handover::Rest(Rest {
            queue: vec![contact(), contact()],
            position: Some(1 << 40),
            index: 100,
            held: 3,
            given: Given {
                minute: 28_000_000,
                count: 9,
            },
        });
        assert_eq!(Handover::read(&rest.to_text()), Some(rest));
        assert_eq!(
            Handover::read(&Handover::Done.to_text()),
            Some(Handover::Done)
        );
    }

    #[test]
    fn a_slot_without_a_contact_is_free() {
        assert_eq!(contact_in_slot(Ok(slot_text(None))), None);
        assert_eq!(contact_in_slot(Ok("by hand".to_owned())), None);
        assert_eq!(contact_in_slot(Err("execution_failed".to_owned())), None);
        assert_eq!(Handover::read("by hand"), None);
    }
}
