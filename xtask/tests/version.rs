//! One version, that of the workspace in `Cargo.toml`: everything else that names it follows.

use std::{fs, path::Path, process::Command};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Before a version, where something of ours is named in it.
const PREFIXES: [&str; 2] = ["voice-calling", "voice_calling"];

/// Files that name other versions: earlier ones, or invented ones in tests.
const EXEMPT: [&str; 3] = ["CHANGELOG.md", "docs/upgrading.md", "xtask/"];

/// The versions in which a line names something of ours: `voice-calling:client/types@0.2.0`,
/// `voice-calling-0.2.0.tgz`, `voice-calling/workflows:0.2.0`.
fn named(line: &str) -> Vec<&str> {
    let mut versions = Vec::new();
    for (at, prefix) in PREFIXES
        .iter()
        .flat_map(|prefix| line.match_indices(prefix))
    {
        let rest = line[at + prefix.len()..]
            .trim_start_matches(|it: char| it.is_ascii_lowercase() || "-_/:@".contains(it));
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.');
        let version = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
        let numbers: Vec<_> = version.split('.').collect();
        if numbers.len() == 3 && numbers.iter().all(|it| !it.is_empty()) {
            versions.push(version);
        }
    }
    versions
}

#[test]
fn the_repository_names_one_version() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let list = Command::new("git")
        .arg("ls-files")
        .current_dir(root)
        .output();
    let list = String::from_utf8(list.unwrap().stdout).unwrap();
    let files = list
        .lines()
        .filter(|file| !EXEMPT.iter().any(|it| file.starts_with(it)));
    let mut others = Vec::new();
    for file in files {
        // What is not text names no version.
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        for line in text.lines() {
            let found = named(line).into_iter().filter(|it| *it != VERSION);
            others.extend(found.map(|it| format!("{file}: {it}")));
        }
    }
    assert_eq!(others, Vec::<String>::new(), "the version is {VERSION}");
    for (manifest, line) in [
        ("bindings/python/pyproject.toml", "\nversion = \""),
        ("bindings/javascript/package.json", "\n  \"version\": \""),
        ("bindings/mcp/package.json", "\n  \"version\": \""),
        ("bindings/node-red/package.json", "\n  \"version\": \""),
    ] {
        let text = fs::read_to_string(root.join(manifest)).unwrap();
        assert!(text.contains(&format!("{line}{VERSION}\"")), "{manifest}");
    }
    assert!(
        fs::read_to_string(root.join("CHANGELOG.md"))
            .unwrap()
            .contains(&format!("\n## {VERSION}"))
    );
}

#[test]
fn versions_of_ours_are_found_and_those_of_others_are_not() {
    for (line, version) in [
        ("use voice-calling:client/types@0.2.1.{a};", "0.2.1"),
        ("`target/bindings/voice-calling-0.3.1.tgz`", "0.3.1"),
        ("voice_calling-0.2.1-py3-none-any.whl", "0.2.1"),
        (
            "oci://registry.example/voice-calling/workflows:0.2.1",
            "0.2.1",
        ),
    ] {
        assert_eq!(named(line), [version]);
    }
    assert!(named("wasi:http@0.2.12 for voice-calling 1").is_empty());
}
