//! One version, that of the workspace in `Cargo.toml`: everything else that names it follows.

use std::fs;

use anyhow::{Context, Result, ensure};
use xshell::cmd;

use crate::workspace::Workspace;

/// Before a version, where something of ours is named in it.
const PREFIXES: [&str; 3] = ["voice-calling", "voice_calling", "@voice-calling/"];

/// Files that name other versions: earlier ones, or invented ones in tests.
const EXEMPT: [&str; 4] = [
    "CHANGELOG.md",
    "docs/upgrading.md",
    "xtask/released/",
    "xtask/src/release/",
];

/// Fails where a file of the repository names another version.
pub fn check(workspace: &Workspace) -> Result<()> {
    let version = workspace.version()?;
    let list = cmd!(workspace.shell, "git ls-files -z").quiet().read()?;
    let mut found = Vec::new();
    for file in list.split_terminator('\0') {
        if EXEMPT.iter().any(|exempt| file.starts_with(exempt)) {
            continue;
        }
        // What is not text names no version.
        let Ok(text) = fs::read_to_string(workspace.root.join(file)) else {
            continue;
        };
        for (index, line) in text.lines().enumerate() {
            let others = named(line).into_iter().filter(|it| *it != version);
            found.extend(others.map(|it| format!("{file}:{}: {it}", index + 1)));
        }
        if let Some(manifest) = manifest_version(file, &text)
            && manifest != version
        {
            found.push(format!("{file}: {manifest}"));
        }
    }
    ensure!(
        found.is_empty(),
        "the version is {version}, in Cargo.toml, and these name another one:\n{}",
        found.join("\n")
    );
    let changelog = fs::read_to_string(workspace.root.join("CHANGELOG.md"))?;
    section(&changelog, &version).map(drop)
}

/// What the change log says of a version, without its heading.
pub fn section<'a>(changelog: &'a str, version: &str) -> Result<&'a str> {
    let heading = format!("\n## {version}");
    let found = changelog.split_once(&heading);
    let (_, rest) = found.with_context(|| format!("CHANGELOG.md has no section `## {version}`"))?;
    let (_, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    Ok(rest.split("\n## ").next().unwrap_or(rest).trim())
}

/// The versions in which a line names something of ours: `voice-calling:client/types@0.2.0`,
/// `voice-calling-0.2.0.tgz`, `voice-calling/workflows:0.2.0`.
fn named(line: &str) -> Vec<&str> {
    let mut versions = Vec::new();
    for prefix in PREFIXES {
        for (at, _) in line.match_indices(prefix) {
            let rest = &line[at + prefix.len()..];
            let name = |it: char| it.is_ascii_lowercase() || "-_/:@".contains(it);
            let rest = rest.trim_start_matches(name);
            versions.extend(leading_version(rest));
        }
    }
    versions.dedup();
    versions
}

/// `0.2.0` of `0.2.0.tgz`.
fn leading_version(text: &str) -> Option<&str> {
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.');
    let text = &text[..end.unwrap_or(text.len())];
    let text = text.trim_end_matches('.');
    let numbers = text.split('.').collect::<Vec<_>>();
    let is_version = numbers.len() == 3 && numbers.iter().all(|it| !it.is_empty());
    is_version.then_some(text)
}

/// What a manifest of ours says.
fn manifest_version<'a>(file: &str, text: &'a str) -> Option<&'a str> {
    let begin = match file {
        "bindings/python/pyproject.toml" => "version = \"",
        "bindings/javascript/package.json"
        | "bindings/mcp/package.json"
        | "bindings/node-red/package.json" => "  \"version\": \"",
        _ => return None,
    };
    let line = text.lines().find_map(|line| line.strip_prefix(begin))?;
    line.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_names_one_version() {
        check(&Workspace::load().unwrap()).unwrap();
    }

    #[test]
    fn versions_of_ours_are_found_and_those_of_others_are_not() {
        assert_eq!(
            named("use voice-calling:client/types@0.2.0.{a};"),
            ["0.2.0"]
        );
        assert_eq!(
            named("`target/bindings/voice-calling-0.3.1.tgz`"),
            ["0.3.1"]
        );
        assert_eq!(named("voice_calling-0.2.0-py3-none-any.whl"), ["0.2.0"]);
        assert_eq!(
            named("oci://registry.example/voice-calling/workflows:0.2.0"),
            ["0.2.0"]
        );
        assert_eq!(
            named("wasi:http@0.2.12 for voice-calling 1"),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn a_section_of_the_change_log_ends_before_the_next() {
        let log =
            "# Changelog\n\n## 0.3.0 (2027-01-01)\n\nNew.\n\n### A\n\n- b\n\n## 0.2.0\n\nOld.\n";
        assert_eq!(section(log, "0.3.0").unwrap(), "New.\n\n### A\n\n- b");
        assert_eq!(section(log, "0.2.0").unwrap(), "Old.");
        assert!(section(log, "0.4.0").is_err());
    }
}
