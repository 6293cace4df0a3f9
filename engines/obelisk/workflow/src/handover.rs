//! The texts that the parts of a campaign write into each other's stubs, as JSON.

use serde::de::DeserializeOwned;
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

/// A slot that is free, with the contact to dispatch again, if any.
pub type Slot = Option<Contact>;

/// Returns the text for a stub.
pub fn to_text(value: &impl Serialize) -> String {
    // Numbers and strings always serialize.
    serde_json::to_string(value).unwrap_or_default()
}

/// Reads the answer to a stub. Returns `None` if the stub was cancelled, or answered, by hand.
pub fn read<T: DeserializeOwned, E>(answer: Result<Result<String, String>, E>) -> Option<T> {
    serde_json::from_str(&answer.ok()?.ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::untried;

    #[test]
    fn a_slot_has_a_contact_or_none_and_what_is_written_by_hand_is_nothing() {
        let slot = |text: &str| read::<Slot, ()>(Ok(Ok(text.to_owned())));
        let contact = Contact {
            waited_ms: u64::MAX,
            ..untried(7)
        };
        let again = Some(contact);
        assert_eq!(slot(&to_text(&again)), Some(again));
        assert_eq!(slot(&to_text(&Slot::None)), Some(None));
        assert_eq!(slot("by hand"), None);
        let cancelled = read::<Handover, ()>(Ok(Err("execution_failed".to_owned())));
        assert_eq!(cancelled, None);
    }
}
