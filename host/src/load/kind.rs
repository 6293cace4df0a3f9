//! The kind of a component: for WASI 0.2, or for WASI 0.3.

use wasmparser::{Parser, Payload};

/// The version of all WIT packages.
const VERSION: &str = "0.2.0";

/// The kind of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuestKind {
    /// For WASI 0.2.
    #[default]
    V0_2,
    /// For WASI 0.3, whose functions are async.
    V0_3,
}

impl GuestKind {
    /// Returns the kind of a component by its imports. A component without imports of WASI 0.3, or
    /// a file that is not a component, counts as one for WASI 0.2.
    pub fn of(wasm: &[u8]) -> Self {
        let is_import_of_v0_3 = |payload| match payload {
            Ok(Payload::ComponentImportSection(imports)) => {
                let mut imports = imports.into_iter().flatten();
                imports.any(|import| is_of_v0_3(import.name.name))
            }
            _ => false,
        };
        match Parser::new(0).parse_all(wasm).any(is_import_of_v0_3) {
            true => GuestKind::V0_3,
            false => GuestKind::V0_2,
        }
    }

    /// Returns the WIT package that a component of this kind exports.
    pub fn package(self) -> &'static str {
        match self {
            GuestKind::V0_2 => "voice-calling:client",
            GuestKind::V0_3 => "voice-calling:client-async",
        }
    }

    /// Returns the name of an interface of that package, such as
    /// `voice-calling:client/agents@0.2.0`.
    pub fn interface(self, name: &str) -> String {
        format!("{}/{name}@{VERSION}", self.package())
    }
}

fn is_of_v0_3(import: &str) -> bool {
    import.starts_with("wasi:")
        && import
            .split_once('@')
            .is_some_and(|(_, version)| version.starts_with("0.3."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_for_the_wasi_that_it_imports() {
        for (import, expected) in [
            ("wasi:http/client@0.3.2", GuestKind::V0_3),
            ("wasi:http/outgoing-handler@0.2.12", GuestKind::V0_2),
            ("example:host/log@0.3.0", GuestKind::V0_2),
        ] {
            let component = format!(r#"(component (import "{import}" (instance)))"#);
            let nested = format!("(component {component})");
            for text in [component, nested] {
                let wasm = wat::parse_str(&text).unwrap();
                assert_eq!(GuestKind::of(&wasm), expected, "{text}");
            }
        }
    }
}
