//! How much of the guest's code comes from which crate.

use std::{cmp::Reverse, collections::BTreeMap};

use anyhow::{Context, Result};
use rustc_demangle::demangle;
use wasmparser::{KnownCustom, Name, Parser, Payload, TypeRef};

/// Bytes of a core module that still has its function names.
#[derive(Default)]
pub struct CodeSize {
    pub by_crate: BTreeMap<String, u64>,
    /// Every function with its name, the largest first.
    pub functions: Vec<(String, u64)>,
    pub data: u64,
}

impl CodeSize {
    pub fn of_module(bytes: &[u8]) -> Result<Self> {
        let module = FunctionTable::read(bytes).context("cannot read the core module")?;
        let mut size = Self {
            data: module.data,
            ..Self::default()
        };
        for (index, bytes) in module.bodies {
            let symbol = module.names.get(&index).map_or("", String::as_str);
            let name = format!("{:#}", demangle(symbol));
            *size.by_crate.entry(owner(&name)).or_default() += bytes;
            size.functions.push((name, bytes));
        }
        size.functions.sort_by_key(|(_, bytes)| Reverse(*bytes));
        Ok(size)
    }

    pub fn code(&self) -> u64 {
        self.by_crate.values().sum()
    }
}

#[derive(Default)]
struct FunctionTable {
    imported: u32,
    /// Function index and bytes.
    bodies: Vec<(u32, u64)>,
    names: BTreeMap<u32, String>,
    data: u64,
}

impl FunctionTable {
    fn read(bytes: &[u8]) -> wasmparser::Result<Self> {
        let mut module = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            module.add(payload?)?;
        }
        Ok(module)
    }

    fn add(&mut self, section: Payload) -> wasmparser::Result<()> {
        match section {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let function = matches!(import?.ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
                    self.imported += u32::from(function);
                }
            }
            Payload::CodeSectionEntry(body) => {
                let index = self.imported + self.bodies.len() as u32;
                let range = body.range();
                self.bodies.push((index, range.end - range.start));
            }
            Payload::DataSection(data) => {
                let range = data.range();
                self.data = range.end - range.start;
            }
            Payload::CustomSection(custom) => {
                if let KnownCustom::Name(sections) = custom.as_known() {
                    for section in sections {
                        self.add_names(section?)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add_names(&mut self, section: Name) -> wasmparser::Result<()> {
        if let Name::Function(names) = section {
            for name in names {
                let name = name?;
                self.names.insert(name.index, name.name.to_owned());
            }
        }
        Ok(())
    }
}

/// The crate that a function belongs to, or what else it is.
fn owner(name: &str) -> String {
    if name.contains('#') || name.starts_with("cabi_") {
        return "(entry points)".to_owned();
    }
    crate_of(name).unwrap_or("(no Rust name)").to_owned()
}

/// `alloc` of `<alloc::vec::Vec<u8> as core::fmt::Debug>::fmt`. Where the type has no crate of its
/// own (`<[u8] as core::fmt::Debug>`), the trait's.
fn crate_of(path: &str) -> Option<&str> {
    let path = without_type_marks(path);
    let end = path
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(path.len());
    let (first, rest) = path.split_at(end);
    if !first.is_empty() && rest.starts_with("::") {
        return Some(first);
    }
    let (_, of_trait) = path.split_once(" as ")?;
    crate_of(of_trait)
}

/// `&mut dyn core::fmt::Write` → `core::fmt::Write`
fn without_type_marks(mut path: &str) -> &str {
    loop {
        path = path.trim_start_matches(['<', '&', '*', '(', '[']);
        let marks = ["mut ", "const ", "dyn "];
        let Some(rest) = marks.iter().find_map(|mark| path.strip_prefix(mark)) else {
            return path;
        };
        path = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_belongs_to_the_crate_its_path_begins_with() {
        for (path, krate) in [
            ("core::fmt::write", Some("core")),
            (
                "<alloc::vec::Vec<u8> as core::fmt::Debug>::fmt",
                Some("alloc"),
            ),
            ("<[u8] as core::fmt::Debug>::fmt", Some("core")),
            (
                "<(u8, u8) as voice_calling_core::Pair>::first",
                Some("voice_calling_core"),
            ),
            (
                "<&mut dyn std::io::Write as core::fmt::Write>::write_str",
                Some("std"),
            ),
            ("<u64 as itoa::Integer>::write", Some("itoa")),
            ("memcpy", None),
            ("", None),
        ] {
            assert_eq!(crate_of(path), krate, "{path}");
        }
    }

    #[test]
    fn what_the_component_exports_is_listed_apart() {
        for name in ["voice-calling:client/calls@0.1.0#make-call", "cabi_realloc"] {
            assert_eq!(owner(name), "(entry points)");
        }
        assert_eq!(owner("core::fmt::write"), "core");
        assert_eq!(owner("memcpy"), "(no Rust name)");
    }
}
