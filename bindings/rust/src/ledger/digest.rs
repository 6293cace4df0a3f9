//! Keyed digests: of the arguments of a create, which a ledger must not contain, and of its rows.

use ring::hmac;
use serde::Serialize;
use voice_calling_core::ledger::{Claim, Digests, Entry, State};

/// The name of the argument that is a phone number.
pub(super) const NUMBER: &str = "to_phone_number";

/// The key of digests.
#[derive(Clone)]
pub(crate) struct DigestKey(hmac::Key);

impl DigestKey {
    pub(super) fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// Returns the digests of a create's arguments.
    pub(super) fn of_arguments(&self, claim: &Claim) -> Digests {
        let arguments = claim.arguments.iter();
        let digests = arguments.map(|(name, value)| {
            let digest = self.of_argument(claim.function, name, value);
            (name.clone(), digest)
        });
        digests.collect()
    }

    pub(super) fn of_argument(&self, function: &str, name: &str, value: &str) -> String {
        let digest = self.of(format!("{function}\0{name}\0{value}").as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn of(&self, bytes: &[u8]) -> [u8; 16] {
        let digest = hmac::sign(&self.0, bytes);
        let mut first = [0; 16];
        first.copy_from_slice(&digest.as_ref()[..16]);
        first
    }

    /// Returns the digest of a row.
    pub(super) fn of_row(&self, key: &str, entry: &Entry) -> [u8; 16] {
        self.of(json(&(key, entry)).as_bytes())
    }

    /// Returns the entry of a row. One that was changed by anything else is unknown, so that nothing
    /// is sent for it.
    pub(super) fn verified(&self, key: &str, entry: Entry, digest: Option<[u8; 16]>) -> Entry {
        if digest == Some(self.of_row(key, &entry)) {
            return entry;
        }
        let message = "its row in the ledger was changed by another program, or is damaged";
        Entry {
            state: State::Unknown,
            answer: None,
            message: Some(message.to_owned()),
            ..entry
        }
    }
}

/// Returns the JSON of a part of an entry.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("an entry can be written as JSON")
}
