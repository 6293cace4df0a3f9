//! The texts that the parts of a campaign write into each other's stubs, as JSON.

use serde::{Deserialize, Serialize};

use crate::bindings::voice_calling::workflows::campaign_types::{Contact, Rest};
use crate::entry::Duplicate;

/// The rest that a segment leaves.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Handover {
    /// All contacts have ended.
    Done,
    /// The next segment continues with the rest.
    Rest(Rest),
    /// The segment has read a page, and waits for the campaign's [`Answer`].
    Page {
        /// The index of the first contact on it.
        first: u32,
        /// The number of each contact that may be called.
        numbers: Vec<Option<u64>>,
    },
}

/// The campaign's answer to the numbers of a page.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub duplicates: Vec<Duplicate>,
    /// The stub that receives what the segment leaves.
    pub handover: String,
}

impl Answer {
    pub fn to_text(&self) -> String {
        // Numbers and strings always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns `None` if the text was written by hand and is something else.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
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
    use crate::bindings::voice_calling::operator::contacts::Entry;
    use crate::bindings::voice_calling::workflows::campaign_types::Exclusion;
    use crate::entry;
    use crate::grants::Given;

    fn contact() -> Contact {
        let entry = Entry {
            agent_id: -1,
            call_context: "{\"a\":\"\\\"\"}".to_owned(),
            external_id: Some("crm-1".to_owned()),
            extra: Some("{}".to_owned()),
            time_zone: Some("Asia/Kolkata".to_owned()),
            ..entry::tests::entry("919876543210")
        };
        Contact {
            excluded: Some(Exclusion::Duplicate(3)),
            not_before_ms: u64::MAX,
            waited_ms: u64::MAX,
            tries: 3,
            ..entry::contact(7, entry, None)
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
        let page = Handover::Page {
            first: 100,
            numbers: vec![Some(999_999_999_999), None],
        };
        assert_eq!(Handover::read(&page.to_text()), Some(page));
        let answer = Answer {
            duplicates: vec![(101, 7)],
            handover: "E_1.n:campaign_9".to_owned(),
        };
        assert_eq!(Answer::read(&answer.to_text()), Some(answer));
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
