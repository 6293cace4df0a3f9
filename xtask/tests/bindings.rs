//! TypeScript's declarations are written by hand: they have every record, field, status and error of
//! the component's WIT under the name that the language gives it, and document each. What the packages
//! make of arguments and results is proven by the table of cases.

use std::{collections::BTreeSet, fs, path::Path};

use voice_calling_core::{Settings, settings::NAMES};
use wit_parser::{Resolve, TypeDefKind};

/// Returns all files in a folder whose names end so as one text.
fn texts(folder: &str, ending: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = fs::read_dir(root.join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.to_string_lossy().ends_with(ending));
    paths
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

fn declarations() -> String {
    texts("bindings/javascript/types", ".d.ts")
}

/// Returns the members of an interface and of its bases, each of which has to be documented; `None`
/// if there is no such interface.
fn members(declarations: &str, interface: &str) -> Option<BTreeSet<String>> {
    let opening = format!("export interface {interface}");
    let mut lines = declarations.lines();
    let rest = lines.find_map(|line| {
        let rest = line.strip_prefix(&opening)?;
        rest.starts_with([' ', '<']).then_some(rest)
    })?;
    let bases = rest.split(|it: char| !it.is_alphanumeric());
    let bases = bases.filter_map(|it| members(declarations, it));
    let mut found: BTreeSet<_> = bases.flatten().collect();
    let mut above = "";
    for line in lines.take_while(|line| line.is_empty() || line.starts_with(' ')) {
        if let Some(member) = line.strip_prefix("  ").and_then(member) {
            let is_documented = above.ends_with("*/");
            assert!(is_documented, "{interface}.{member} has no comment");
            found.insert(member.to_owned());
        }
        above = line;
    }
    // What the ledger needs, which only packages have.
    found.retain(|it| !["key", "fromLedger"].contains(&&**it));
    Some(found)
}

/// Returns the name that a line of an interface declares: `name: …`, `readonly name?: …`, `name(…)`.
fn member(line: &str) -> Option<&str> {
    let line = line.strip_prefix("readonly ").unwrap_or(line);
    let name = line.split([':', '?', '(']).next()?;
    (name.chars().all(|it| it.is_ascii_alphanumeric()) && name != line).then_some(name)
}

fn pascal(name: &str) -> String {
    let words = name.split('-');
    words
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect()
}

fn camel(name: &str) -> String {
    let pascal = pascal(name);
    pascal[..1].to_lowercase() + &pascal[1..]
}

#[track_caller]
fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "a package lacks: {part}");
}

#[test]
fn types_have_the_fields_cases_and_errors_of_the_wit() {
    let declarations = declarations();
    let mut wit = Resolve::default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit/types");
    let (package, _) = wit.push_dir(folder).unwrap();
    let types = &wit.interfaces[wit.packages[package].interfaces["types"]].types;
    for (name, id) in types {
        // In the WIT, version 2 of a creation has the longer name, since it came later; users
        // should find it first.
        let declared = pascal(match &**name {
            "docket-request" => "docket-request-v1",
            "docket-request-v2" => "docket-request",
            "created-docket" => "created-docket-v1",
            "created-docket-v2" => "created-docket",
            name => name,
        });
        match &wit.types[*id].kind {
            // Arguments of methods, what errors are made of, and how a wait went, which is an error's.
            _ if [
                "call-options",
                "wait-options",
                "failure",
                "call-details-wait",
                "docket-wait",
            ]
            .contains(&&**name) => {}
            TypeDefKind::Record(record) => {
                let fields = record.fields.iter().map(|it| camel(&it.name));
                let fields: BTreeSet<_> = fields.collect();
                assert_eq!(
                    members(&declarations, &declared),
                    Some(fields),
                    "{declared}"
                );
            }
            TypeDefKind::Enum(kinds) if name == "failure-kind" => {
                let kinds = kinds.cases.iter().map(|it| it.name.as_str());
                kinds.for_each(|kind| check_error(&declarations, kind));
            }
            TypeDefKind::Enum(names) => {
                let names = names.cases.iter().map(|it| it.name.as_str());
                let union = names.collect::<Vec<_>>().join("' | '");
                assert_contains(&declarations, &format!("type {declared} = '{union}';"));
            }
            TypeDefKind::Variant(variant) if variant.cases.iter().any(|it| it.name == "other") => {
                // A word of the service, or any other text.
                let words = variant.cases.iter().filter(|it| it.name != "other");
                let words = words.map(|it| it.name.replace('-', "_").to_uppercase());
                let union = words.collect::<Vec<_>>().join("' | '");
                let union = format!("type {declared} = '{union}' | (string & {{}});");
                assert_contains(&declarations, &union);
            }
            // What came of something. The table of cases has each.
            _ => {}
        }
    }
    for group in ["Agents", "Calls", "Dockets", "Webhooks"] {
        assert!(members(&declarations, group).is_some(), "{group}");
    }
}

fn check_error(declarations: &str, kind: &str) {
    let class = pascal(kind) + "Error";
    let declared = declarations.split_once(&format!("*/\nexport declare class {class} extends "));
    let (_, rest) = declared.unwrap_or_else(|| panic!("no class {class} with a comment"));
    let body = rest.split("\n}").next().unwrap();
    assert_contains(body, &format!("\n  readonly kind: '{kind}';"));
}

#[test]
fn the_settings_and_their_defaults_are_those_of_the_component_and_of_the_documentation() {
    let with = |more: Option<(&str, &str)>| {
        let needed = [
            ("BASE_URL", "https://api.example"),
            ("API_TOKEN", "token-of-a-test"),
        ];
        let all = needed.into_iter().chain(more);
        let all = all.map(|(name, value)| (format!("VOICE_CALLING_{name}"), value.to_owned()));
        Settings::from_environment(all).unwrap()
    };
    // The rows of the table: the name of a setting, and its default.
    let rows = include_str!("../../docs/settings.md").lines();
    let rows = rows.filter_map(|line| {
        let cells = line.strip_prefix("| `")?.split('|');
        let mut cells = cells.map(|it| it.trim().trim_matches('`'));
        Some((cells.next()?, cells.next()?))
    });
    let mut documented: Vec<_> = rows.take_while(|(name, _)| *name != "ACCOUNTS").collect();
    let names = documented.iter().map(|(name, _)| *name);
    let names: BTreeSet<_> = names.chain(["LOG"]).collect();
    assert_eq!(names, BTreeSet::from(NAMES));
    for setting @ (name, default) in &documented {
        let is_default = *default == "required" || with(Some(*setting)) == with(None);
        assert!(is_default, "{name}: {default}");
    }

    // It says what the host does, and the package is that.
    documented.retain(|(name, _)| *name != "TRUST_CONNECTION_TIMEOUT");
    let declarations = declarations();
    let options = members(&declarations, "Settings").unwrap();
    assert_eq!(options.len(), documented.len(), "{options:?}");
    for (name, default) in documented {
        let default = match (name, default) {
            (_, "required") => "Required".to_owned(),
            // The option is the number of retries, one less.
            ("MAX_ATTEMPTS", _) => "Default: `3`".to_owned(),
            (_, default) => format!("Default: `{default}`"),
        };
        let said = format!("{default}. Variable: `VOICE_CALLING_{name}`.");
        assert_contains(&declarations, &said);
    }
}
