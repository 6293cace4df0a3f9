//! Keyed digests: of the arguments of a create, which a ledger must not contain, and of its rows.

use ring::hmac;
use voice_calling_core::ledger::{Claim, Digests};

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

    pub(super) fn of(&self, bytes: &[u8]) -> [u8; 16] {
        let digest = hmac::sign(&self.0, bytes);
        let mut first = [0; 16];
        first.copy_from_slice(&digest.as_ref()[..16]);
        first
    }
}
