//! One version, that of the workspace in `Cargo.toml`: everything else that names it follows.

use std::{fs, path::Path, process::Command};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where something of ours is named in a version: `voice-calling:types/types@0.2.0`,
/// `voice_calling-0.2.0-*.whl`, `voice-calling/workflows:0.2.0`.
const OURS: &str = r"voice[-_]calling[-_/:@a-z]*[0-9]+(\.[0-9]+){2}";

#[test]
fn the_repository_names_one_version() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let grep = Command::new("git")
        .args(["grep", "-I", "--only-matching", "--extended-regexp", OURS])
        // Its tests name earlier versions.
        .args(["--", ":!xtask/"])
        .current_dir(root)
        .output();
    let found = String::from_utf8(grep.unwrap().stdout).unwrap();
    assert!(found.lines().count() > 100, "{found}");
    let is_ours = |line: &&str| line.trim_end_matches(VERSION).ends_with(['-', ':', '@']);
    let others: Vec<_> = found.lines().filter(|line| !is_ours(line)).collect();
    assert_eq!(others, [""; 0], "the version is {VERSION}");
    for (manifest, line) in [
        ("bindings/python/pyproject.toml", "\nversion = \""),
        ("bindings/javascript/package.json", "\n  \"version\": \""),
        ("bindings/mcp/package.json", "\n  \"version\": \""),
        ("bindings/mcp/server.json", "\n  \"version\": \""),
        ("bindings/mcp/server.json", "\n      \"version\": \""),
        ("bindings/node-red/package.json", "\n  \"version\": \""),
    ] {
        let text = fs::read_to_string(root.join(manifest)).unwrap();
        assert!(text.contains(&format!("{line}{VERSION}\"")), "{manifest}");
    }
    let changes = fs::read_to_string(root.join("CHANGELOG.md")).unwrap();
    assert!(changes.contains(&format!("\n## {VERSION}")));
}
