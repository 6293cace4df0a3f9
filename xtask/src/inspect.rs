//! Prints the contents of the components.

use anyhow::Result;
use sha2::{Digest, Sha256};
use wasmparser::{Parser, Payload};
use xshell::cmd;

use crate::{guest::PRODUCTS, wit, workspace::Workspace};

/// Prints a description of each component, and the WIT of the one for WASI 0.2.
pub fn print(workspace: &Workspace) -> Result<()> {
    for guest in PRODUCTS {
        let path = workspace.component_of(guest);
        let bytes = workspace.shell.read_binary_file(&path)?;
        let gzip = cmd!(workspace.shell, "gzip -9n --stdout {path}").quiet();
        println!("// {}", workspace.shown(&path));
        for (name, text) in metadata(&bytes)? {
            println!("// {name:<12} {text}");
        }
        println!("// size         {} bytes", bytes.len());
        println!("// gzip -9      {} bytes", gzip.output()?.stdout.len());
        println!("// sha-256      {}\n", sha256(&bytes));
    }
    let component = workspace.shell.read_binary_file(workspace.component())?;
    print!("{}", wit::of_component(&component)?);
    Ok(())
}

pub fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the metadata of a file, without that of the modules inside.
pub fn metadata(wasm: &[u8]) -> Result<Vec<(&str, String)>> {
    const NAMES: [&str; 5] = ["description", "licenses", "version", "source", "revision"];
    let mut metadata = Vec::new();
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::CustomSection(section) if depth == 1 && NAMES.contains(&section.name()) => {
                let text = String::from_utf8_lossy(section.data());
                metadata.push((section.name(), text.into_owned()));
            }
            _ => {}
        }
    }
    Ok(metadata)
}
