//! What is in the component, and how large it is.

use std::{cmp::Reverse, io::Write};

use anyhow::{Result, bail};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use wasm_metadata::Payload;

use crate::{
    code_size::CodeSize,
    component, guest,
    wit::{Interface, Wit},
    workspace::Workspace,
};

/// Crates that take less than this are counted together.
const SMALL: u64 = 1024;

/// So many functions are listed by name.
const LARGEST: usize = 12;

pub fn print(workspace: &Workspace) -> Result<()> {
    let path = workspace.component();
    let bytes = component::read(&path)?;
    let core_module = guest::core_module(workspace, workspace.guest.guest);
    let code_size = CodeSize::of_module(&component::read(&core_module)?)?;
    println!("{}", workspace.shown(&path));
    print_facts(&bytes)?;
    let wit = Wit::of_component(&bytes)?;
    print_interfaces("imports", &wit.imports(), false);
    print_interfaces("exports", &wit.exports(), true);
    print_parts(&code_size, bytes.len() as u64);
    Ok(())
}

pub fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn print_facts(bytes: &[u8]) -> Result<()> {
    let Payload::Component { metadata, .. } = Payload::from_binary(bytes)? else {
        bail!("this is a core module, not a component");
    };
    let text = |value: Option<String>| value.unwrap_or_else(|| "(none)".to_owned());
    for (name, value) in [
        ("name", text(metadata.name)),
        ("version", text(metadata.version.map(|v| v.to_string()))),
        ("licence", text(metadata.licenses.map(|l| l.to_string()))),
        (
            "description",
            text(metadata.description.map(|d| d.to_string())),
        ),
        ("size", format!("{} bytes", bytes.len())),
        ("gzip -9", format!("{} bytes", gzipped(bytes)?)),
        ("sha-256", sha256(bytes)),
    ] {
        println!("  {name:<12} {value}");
    }
    Ok(())
}

fn gzipped(bytes: &[u8]) -> Result<usize> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(bytes)?;
    Ok(gzip.finish()?.len())
}

fn print_interfaces(title: &str, interfaces: &[Interface], with_functions: bool) {
    println!("\n{title}");
    for interface in interfaces {
        println!("  {}", interface.name);
        for function in interface.functions.iter().filter(|_| with_functions) {
            println!("    {function}");
        }
    }
}

fn print_parts(sizes: &CodeSize, total: u64) {
    print_sizes("parts", &parts(sizes, total), total);
    let largest = &sizes.functions[..LARGEST.min(sizes.functions.len())];
    print_sizes("largest functions", largest, total);
}

fn print_sizes(title: &str, sizes: &[(String, u64)], total: u64) {
    println!("\n{:>8} {:>6}  {title}", "bytes", "%");
    for (name, bytes) in sizes {
        let percent = *bytes as f64 * 100.0 / total as f64;
        println!("{bytes:>8} {percent:>6.1}  {name}");
    }
}

/// Largest first, with the sum at the end.
fn parts(sizes: &CodeSize, total: u64) -> Vec<(String, u64)> {
    let (large, small): (Vec<_>, Vec<_>) = sizes
        .by_crate
        .iter()
        .partition(|(_, bytes)| **bytes >= SMALL);
    let mut parts: Vec<_> = large
        .into_iter()
        .map(|(krate, bytes)| (format!("code: {krate}"), *bytes))
        .collect();
    let together = small.iter().map(|(_, bytes)| **bytes).sum();
    parts.push((format!("code: {} smaller crates", small.len()), together));
    parts.push(("data (texts, tables)".to_owned(), sizes.data));
    let rest = total.saturating_sub(sizes.code() + sizes.data);
    parts.push(("the rest (types, imports, exports)".to_owned(), rest));
    parts.sort_by_key(|(_, bytes)| Reverse(*bytes));
    parts.push(("total".to_owned(), total));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_file() {
        let by_crate = [("core", 5000), ("std", 2000), ("itoa", 10), ("memchr", 20)];
        let sizes = CodeSize {
            by_crate: by_crate
                .map(|(name, bytes)| (name.to_owned(), bytes))
                .into(),
            data: 900,
            ..CodeSize::default()
        };
        let parts = parts(&sizes, 10_000);
        let (total, rows) = parts.split_last().unwrap();
        assert_eq!(total.1, rows.iter().map(|(_, bytes)| bytes).sum::<u64>());
        assert_eq!(rows[0].0, "code: core");
        assert!(rows.contains(&("code: 2 smaller crates".to_owned(), 30)));
    }

    #[test]
    fn a_hash_is_printed_in_hex() {
        assert!(sha256(b"").starts_with("e3b0c44298fc1c14"));
    }
}
