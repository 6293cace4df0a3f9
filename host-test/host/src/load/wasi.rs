//! Which WASI a component is made for: 0.2, where an instance has one call at a time, or
//! 0.3, where it has as many as come.

use std::fmt;
use wasmparser::{Parser, Payload};

/// Which WASI a component is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wasi {
    /// WASI 0.2, on which an instance has one call at a time.
    #[default]
    V0_2,
    /// WASI 0.3, on which an instance has as many calls at a time as come. wasmtime's part
    /// in it is experimental.
    V0_3,
}

impl Wasi {
    /// That of a component, by what it imports. One that imports nothing of WASI 0.3, or is
    /// none at all, counts as one for 0.2.
    pub fn of(wasm: &[u8]) -> Self {
        let is_v0_3 = Parser::new(0).parse_all(wasm).any(|payload| match payload {
            Ok(Payload::ComponentImportSection(imports)) => imports
                .into_iter()
                .flatten()
                .any(|import| is_of_v0_3(import.name.name)),
            _ => false,
        });
        match is_v0_3 {
            true => Wasi::V0_3,
            false => Wasi::V0_2,
        }
    }
}

impl fmt::Display for Wasi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Wasi::V0_2 => "WASI 0.2",
            Wasi::V0_3 => "WASI 0.3",
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
            ("wasi:http/client@0.3.2", Wasi::V0_3),
            ("wasi:http/outgoing-handler@0.2.12", Wasi::V0_2),
            ("example:host/log@0.3.0", Wasi::V0_2),
        ] {
            let component = format!(r#"(component (import "{import}" (instance)))"#);
            let nested = format!("(component {component})");
            for text in [component, nested] {
                let wasm = wat::parse_str(&text).unwrap();
                assert_eq!(Wasi::of(&wasm), expected, "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_component_counts_as_one_for_0_2() {
        assert_eq!(Wasi::of(b"not wasm"), Wasi::V0_2);
        assert_eq!(Wasi::of(&wat::parse_str("(module)").unwrap()), Wasi::V0_2);
    }
}
