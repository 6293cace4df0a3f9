//! What the parts of a campaign write into each other's stubs, as JSON.

use serde::{Deserialize, Serialize};
use voice_calling_core::types::DocketRequestV2;

use crate::bindings::voice_calling::workflows::campaign_types::Contact;

/// What a segment leaves.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Handover {
    /// All have ended.
    Done,
    /// The next segment goes on.
    Rest(Rest),
}

/// What the next segment goes on with.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    #[serde(with = "contacts")]
    pub queue: Vec<Contact>,
    pub position: Option<u64>,
    pub index: u32,
    pub held: u32,
    pub given_minute: u64,
    pub given_count: u32,
    /// Why the contacts cannot be read.
    pub no_contacts: Option<String>,
}

impl Handover {
    pub fn to_text(&self) -> String {
        // Numbers and strings can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// None where something else was put there by hand.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// What is written into the slot of a successor: the contact that is to be dispatched again, if it
/// is, and otherwise nothing.
pub fn slot_text(again: Option<Contact>) -> String {
    let again = again.map(ContactText::from);
    serde_json::to_string(&again).unwrap_or_default()
}

/// The contact in a slot. A slot is free also where somebody has cancelled it.
pub fn contact_in_slot(value: Result<String, String>) -> Option<Contact> {
    let contact: Option<ContactText> = serde_json::from_str(&value.ok()?).ok()?;
    contact.map(Contact::from)
}

/// A contact as JSON.
#[derive(Serialize, Deserialize)]
struct ContactText {
    index: u32,
    agent_id: i64,
    to_phone_number: String,
    call_context: String,
    external_id: Option<String>,
    extra: Option<String>,
    waited_ms: u64,
    tries: u32,
}

impl From<Contact> for ContactText {
    fn from(contact: Contact) -> Self {
        let request = contact.request;
        Self {
            index: contact.index,
            agent_id: request.agent_id,
            to_phone_number: request.to_phone_number,
            call_context: request.call_context,
            external_id: request.external_id,
            extra: request.extra,
            waited_ms: contact.waited_ms,
            tries: contact.tries,
        }
    }
}

impl From<ContactText> for Contact {
    fn from(text: ContactText) -> Self {
        Self {
            index: text.index,
            request: DocketRequestV2 {
                agent_id: text.agent_id,
                to_phone_number: text.to_phone_number,
                call_context: text.call_context,
                external_id: text.external_id,
                extra: text.extra,
            },
            waited_ms: text.waited_ms,
            tries: text.tries,
        }
    }
}

mod contacts {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Contact, ContactText};

    pub fn serialize<S: Serializer>(contacts: &[Contact], to: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<_> = contacts.iter().cloned().map(ContactText::from).collect();
        texts.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Contact>, D::Error> {
        let texts = Vec::<ContactText>::deserialize(from)?;
        Ok(texts.into_iter().map(Contact::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contact() -> Contact {
        Contact {
            index: 7,
            request: DocketRequestV2 {
                agent_id: -1,
                to_phone_number: "919876543210".to_owned(),
                call_context: "{\"a\":\"\\\"\"}".to_owned(),
                external_id: Some("crm-1".to_owned()),
                extra: Some("{}".to_owned()),
            },
            waited_ms: u64::MAX,
            tries: 3,
        }
    }

    #[test]
    fn a_contact_survives_both_stubs() {
        let slot = slot_text(Some(contact()));
        assert_eq!(contact_in_slot(Ok(slot)), Some(contact()));
        let rest = Handover::Rest(Rest {
            queue: vec![contact(), contact()],
            position: Some(1 << 40),
            index: 100,
            held: 3,
            given_minute: 28_000_000,
            given_count: 9,
            no_contacts: None,
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
