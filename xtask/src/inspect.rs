//! What is in the components.

use std::io::Write;

use anyhow::Result;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use wasmparser::{ComponentName, KnownCustom, Name, Parser, Payload};

use crate::{guest::PRODUCTS, wit::Wit, workspace::Workspace};

/// Prints what each of them is, and the WIT of the one for WASI 0.2.
pub fn print(workspace: &Workspace) -> Result<()> {
    for guest in PRODUCTS {
        let path = workspace.component_of(guest);
        let bytes = workspace.shell.read_binary_file(&path)?;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&bytes)?;
        println!("// {}", workspace.shown(&path));
        for (name, text) in metadata(&bytes)? {
            println!("// {name:<12} {text}");
        }
        println!("// size         {} bytes", bytes.len());
        println!("// gzip -9      {} bytes", gzip.finish()?.len());
        println!("// sha-256      {}\n", sha256(&bytes));
    }
    let component = workspace.shell.read_binary_file(workspace.component())?;
    print!("{}", Wit::of_component(&component)?.text()?);
    Ok(())
}

pub fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name tag, without those of what is inside.
pub fn metadata(wasm: &[u8]) -> Result<Vec<(&str, String)>> {
    let mut metadata = Vec::new();
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        let section = match payload? {
            Payload::Version { .. } => {
                depth += 1;
                continue;
            }
            Payload::End(_) => {
                depth -= 1;
                continue;
            }
            Payload::CustomSection(section) if depth == 1 => section,
            _ => continue,
        };
        match (section.name(), section.as_known()) {
            (_, KnownCustom::ComponentName(names)) => {
                for name in names {
                    if let ComponentName::Component { name, .. } = name? {
                        metadata.push(("name", name.to_owned()));
                    }
                }
            }
            (_, KnownCustom::Name(names)) => {
                for name in names {
                    if let Name::Module { name, .. } = name? {
                        metadata.push(("name", name.to_owned()));
                    }
                }
            }
            (name @ ("description" | "licenses" | "version" | "source" | "revision"), _) => {
                metadata.push((name, String::from_utf8_lossy(section.data()).into_owned()));
            }
            _ => {}
        }
    }
    Ok(metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_printed_in_hex() {
        assert!(sha256(b"").starts_with("e3b0c44298fc1c14"));
    }
}
