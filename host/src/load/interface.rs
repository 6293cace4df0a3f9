//! The names of the WIT packages that a component exports.

use super::kind::GuestKind;

/// The version of all packages.
const VERSION: &str = "0.2.0";

/// Returns the package that a component of this kind exports.
pub fn package(kind: GuestKind) -> &'static str {
    match kind {
        GuestKind::V0_2 => "voice-calling:client",
        GuestKind::V0_3 => "voice-calling:client-async",
    }
}

/// Returns the name of an interface of that package, such as `voice-calling:client/agents@0.2.0`.
pub fn exported_interface(kind: GuestKind, interface: &str) -> String {
    format!("{}/{interface}@{VERSION}", package(kind))
}
