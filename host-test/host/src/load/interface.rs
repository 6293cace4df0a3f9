//! The names of the WIT packages that a component exports.

use super::wasi::Wasi;

/// The version of both packages.
const VERSION: &str = "0.2.0";

/// The package that a component for this WASI exports.
pub fn package(wasi: Wasi) -> &'static str {
    match wasi {
        Wasi::V0_2 => "voice-calling:client",
        Wasi::V0_3 => "voice-calling:client-async",
    }
}

/// An interface of that package, such as `voice-calling:client/agents@0.2.0`.
pub fn exported_interface(wasi: Wasi, interface: &str) -> String {
    format!("{}/{interface}@{VERSION}", package(wasi))
}
