//! Of which kind a component is: for WASI 0.2, where an instance has one call at a time, for
//! WASI 0.3, where it has as many as come, or for steps, where the host does the I/O.

use super::interface::exported_interface;
use std::fmt;
use wasmparser::{Parser, Payload};

/// Of which kind a component is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuestKind {
    /// For WASI 0.2, on which an instance has one call at a time.
    #[default]
    V0_2,
    /// For WASI 0.3, on which an instance has as many calls at a time as come. wasmtime's part
    /// in it is experimental.
    V0_3,
    /// Without I/O of its own: the host takes one step after the other with it, and each has to
    /// do with as many calls as come.
    Steps,
}

impl GuestKind {
    /// That of a component, by what it exports and imports. One that neither exports steps nor
    /// imports anything of WASI 0.3, or is none at all, counts as one for WASI 0.2.
    pub fn of(wasm: &[u8]) -> Self {
        let steps = exported_interface(GuestKind::Steps, "steps");
        let mut depth = 0_usize;
        let mut kind = GuestKind::V0_2;
        for payload in Parser::new(0).parse_all(wasm) {
            match payload {
                Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => depth += 1,
                Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
                Ok(Payload::ComponentExportSection(exports)) if depth == 0 => {
                    let mut exports = exports.into_iter().flatten();
                    if exports.any(|export| export.name.name == steps) {
                        return GuestKind::Steps;
                    }
                }
                Ok(Payload::ComponentImportSection(imports)) => {
                    let mut imports = imports.into_iter().flatten();
                    if imports.any(|import| is_of_v0_3(import.name.name)) {
                        kind = GuestKind::V0_3;
                    }
                }
                _ => {}
            }
        }
        kind
    }
}

impl fmt::Display for GuestKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            GuestKind::V0_2 => "WASI 0.2",
            GuestKind::V0_3 => "WASI 0.3",
            GuestKind::Steps => "steps",
        })
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

    #[test]
    fn a_component_is_for_steps_if_it_exports_them_itself() {
        let inner = r#"(component
            (instance $steps)
            (export "voice-calling:client-steps/steps@0.2.0" (instance $steps)))"#;
        let nested = format!("(component {inner})");
        for (text, expected) in [
            (inner, GuestKind::Steps),
            (nested.as_str(), GuestKind::V0_2),
        ] {
            let wasm = wat::parse_str(text).unwrap();
            assert_eq!(GuestKind::of(&wasm), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_component_counts_as_one_for_0_2() {
        assert_eq!(GuestKind::of(b"not wasm"), GuestKind::V0_2);
        assert_eq!(
            GuestKind::of(&wat::parse_str("(module)").unwrap()),
            GuestKind::V0_2
        );
    }
}
