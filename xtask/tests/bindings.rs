//! The packages for Python and JavaScript are written by hand. They have every record, field, case,
//! error and setting of the component, under the name that their language gives it, and document
//! each. The table of cases proves what they make of arguments and results.

use std::{fs, path::Path};

use voice_calling_core::{Settings, settings::NAMES};
use wit_parser::{Resolve, TypeDef, TypeDefKind};

/// The WIT of the client, and what the packages say.
struct Sources {
    wit: Resolve,
    python: String,
    typescript: String,
    /// Compact.
    javascript: String,
}

impl Sources {
    fn read() -> Self {
        let mut wit = Resolve::default();
        wit.push_dir(root().join("wit")).unwrap();
        Self {
            wit,
            python: texts("bindings/python/src/voice_calling", ".py"),
            typescript: texts("bindings/javascript/types", ".d.ts"),
            javascript: compact(&texts("bindings/javascript/src", ".js")),
        }
    }

    /// The types of the client, by name.
    fn types(&self) -> impl Iterator<Item = (&str, &TypeDef)> {
        let mut packages = self.wit.packages.iter();
        let (_, client) = packages.find(|(_, it)| it.name.name == "client").unwrap();
        let types = self.wit.interfaces[client.interfaces["types"]].types.iter();
        types.map(|(name, id)| (name.as_str(), &self.wit.types[*id]))
    }

    fn contains(&self, javascript: &str) {
        assert!(
            self.javascript.contains(javascript),
            "JavaScript has no {javascript}"
        );
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// All files in a folder whose names end so, in the order of their names, as one text.
fn texts(folder: &str, ending: &str) -> String {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    paths.sort();
    let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap());
    texts.collect::<Vec<_>>().join("\n")
}

/// JavaScript without blanks and trailing commas.
fn compact(javascript: &str) -> String {
    let text: String = javascript.split_whitespace().collect();
    text.replace(",}", "}").replace(",)", ")")
}

fn snake(name: &str) -> String {
    name.replace('-', "_")
}

fn pascal(name: &str) -> String {
    let words = name
        .split('-')
        .map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}

fn camel(name: &str) -> String {
    let pascal = pascal(name);
    pascal[..1].to_lowercase() + &pascal[1..]
}

/// What a type is called. In the WIT, version 2 of a creation has the longer name, since it came
/// later; users should find it first.
fn class(name: &str) -> String {
    pascal(match name {
        "docket-request" => "docket-request-v1",
        "docket-request-v2" => "docket-request",
        "created-docket" => "created-docket-v1",
        "created-docket-v2" => "created-docket",
        name => name,
    })
}

/// What is indented below a line that begins so, and what that line goes on with.
fn block<'a>(text: &'a str, opening: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| {
        let rest = line.strip_prefix(opening)?;
        (!rest.starts_with(char::is_alphanumeric)).then_some(rest)
    })?;
    let indented = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    Some((rest, indented.collect()))
}

/// The names that lines declare at this indentation: `name: …`, `name?: …`, `name(…)`.
fn declared<'a>(line: &'a str, indentation: &str) -> Option<&'a str> {
    let line = line.strip_prefix(indentation)?;
    let name = line.split([':', '?', '(']).next()?;
    let is_name = name
        .chars()
        .all(|it| it.is_ascii_alphanumeric() || it == '_');
    (is_name && name != line).then_some(name)
}

/// The fields of a class in Python and of its bases, each of which has to have a docstring. None if
/// there is no such class.
fn fields(python: &str, class: &str) -> Option<Vec<String>> {
    let (bases, lines) = block(python, &format!("class {class}"))?;
    let mut found = inherited(bases, |base| fields(python, base));
    let text = lines.join("\n");
    // Every other piece is a docstring.
    let mut pieces = text.split("\"\"\"").step_by(2).peekable();
    while let Some(piece) = pieces.next() {
        let names = piece.lines().filter_map(|line| declared(line, "    "));
        let names: Vec<_> = names.map(str::to_owned).collect();
        let documented = usize::from(pieces.peek().is_some());
        assert!(
            names.len() <= documented,
            "{class}: one of {names:?} is not documented"
        );
        found.retain(|inherited| !names.contains(inherited));
        found.extend(names);
    }
    Some(found)
}

/// The members of an interface in TypeScript and of its bases, each of which has to have a comment.
/// None if there is no such interface.
fn members(typescript: &str, interface: &str) -> Option<Vec<String>> {
    let (bases, lines) = block(typescript, &format!("export interface {interface}"))?;
    let mut found = inherited(bases, |base| members(typescript, base));
    for (at, line) in lines.iter().enumerate() {
        let member = declared(line, "  readonly ").or_else(|| declared(line, "  "));
        if let Some(member) = member {
            let is_documented = at > 0 && lines[at - 1].ends_with("*/");
            assert!(
                is_documented,
                "{interface}.{member} is not documented in TypeScript"
            );
            found.retain(|inherited| inherited != member);
            found.push(member.to_owned());
        }
    }
    Some(found)
}

/// What the bases declare that a line names.
fn inherited(bases: &str, declared: impl Fn(&str) -> Option<Vec<String>>) -> Vec<String> {
    let bases = bases.split(|it: char| !it.is_alphanumeric());
    let bases = bases.filter(|it| it.starts_with(char::is_uppercase));
    bases.filter_map(declared).flatten().collect()
}

#[test]
fn types_have_the_fields_and_cases_of_the_wit() {
    let sources = Sources::read();
    for (name, definition) in sources.types() {
        let names: Vec<_> = match &definition.kind {
            TypeDefKind::Record(record) => record.fields.iter().map(|it| &*it.name).collect(),
            TypeDefKind::Variant(variant) => variant.cases.iter().map(|it| &*it.name).collect(),
            _ => continue,
        };
        let class = class(name);
        let shape = definition.kind.as_str();
        match (shape, name) {
            // Arguments of methods, and what errors are made of.
            (_, "call-options" | "wait-options" | "failure" | "request-error") => {}
            ("record", _) => check_record(&sources, &class, &names),
            _ if names.contains(&"other") => check_status(&sources, &class, &names),
            // What came of something. The table of cases has each.
            _ => {}
        }
    }
}

fn check_record(sources: &Sources, class: &str, names: &[&str]) {
    let members = members(&sources.typescript, class);
    let mut members = members.unwrap_or_else(|| panic!("no interface {class} in TypeScript"));
    // Beside `rawJson`, the same as a value; and what the ledger needs, which only packages have.
    members.retain(|member| !["raw", "once", "fromLedger"].contains(&&**member));
    members.sort_unstable();
    let mut expected: Vec<_> = names.iter().map(|name| camel(name)).collect();
    expected.sort_unstable();
    assert_eq!(members, expected, "{class} in TypeScript");

    let Some(mut fields) = fields(&sources.python, class) else {
        // There the fields of a request are arguments.
        for name in names.iter().map(|name| format!(" {}: ", snake(name))) {
            assert!(sources.python.contains(&name), "{class}: {name} in Python");
        }
        return;
    };
    // What the ledger needs, which only packages have.
    fields.retain(|it| it != "once" && it != "from_ledger");
    assert_eq!(fields.len(), names.len(), "{class} in Python: {fields:?}");
    for name in names.iter().map(|name| snake(name)) {
        // Milliseconds may be seconds there, and JSON is text.
        let seconds = name.trim_end_matches("_ms").to_owned();
        let names = [format!("{name}_json"), seconds, name];
        assert!(
            names.iter().any(|it| fields.contains(it)),
            "{class} has none of {names:?}"
        );
    }
}

/// A word of the service, or any other text.
fn check_status(sources: &Sources, class: &str, names: &[&str]) {
    let words = names.iter().filter(|it| **it != "other");
    let words: Vec<_> = words.map(|it| snake(it).to_uppercase()).collect();
    let union = format!(
        "type {class} = '{}' | (string & {{}});",
        words.join("' | '")
    );
    assert!(sources.typescript.contains(&union), "{union} in TypeScript");
    let (_, status) = block(&sources.python, &format!("class {class}")).unwrap();
    let values = status.into_iter().filter(|line| line.contains(" = "));
    let expected = words.iter().map(|word| format!("    {word} = \"{word}\""));
    assert!(expected.eq(values), "{class} in Python");
}

#[test]
fn every_error_of_the_wit_has_a_class_with_the_same_base_in_both_languages() {
    let sources = Sources::read();
    let (_, errors) = sources
        .types()
        .find(|(name, _)| *name == "request-error")
        .unwrap();
    let TypeDefKind::Variant(errors) = &errors.kind else {
        panic!("`request-error` is a variant");
    };
    for case in &errors.cases {
        let kind = &case.name;
        let class = match kind.strip_prefix("permanent-").unwrap_or(kind) {
            "configuration" => "ConfigurationProblem".to_owned(),
            name => pascal(name),
        };
        let python = block(&sources.python, &format!("class {class}"));
        let (base, lines) = python.unwrap_or_else(|| panic!("no class {class} in Python"));
        assert!(
            lines[0].starts_with("    \"\"\""),
            "{class} is not documented in Python"
        );
        assert!(
            lines.contains(&&*format!("    kind: str = \"{kind}\"")),
            "{class} in Python"
        );
        let base = base.trim_matches(['(', ')', ':']);
        sources.contains(&format!(
            "exportconst{class}=subclass({base},'{class}','{kind}');"
        ));
        let opening = format!("*/\nexport declare class {class} extends {base} {{");
        assert!(
            sources.typescript.contains(&opening),
            "{opening} in TypeScript"
        );
        let (_, lines) = block(
            &sources.typescript,
            &format!("export declare class {class}"),
        )
        .unwrap();
        assert!(
            lines.contains(&&*format!("  readonly kind: '{kind}';")),
            "{class} in TypeScript"
        );
    }
}

#[test]
fn every_method_is_documented() {
    let sources = Sources::read();
    for group in ["Agents", "Calls", "Dockets", "Webhooks"] {
        assert!(
            members(&sources.typescript, group).is_some(),
            "{group} in TypeScript"
        );
    }
}

#[test]
fn the_settings_and_their_defaults_are_those_of_the_component_and_of_the_documentation() {
    let sources = Sources::read();
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
    let table = include_str!("../../docs/settings.md");
    let rows = table.lines().filter_map(|line| {
        let mut cells = line
            .strip_prefix("| `")?
            .split('|')
            .map(|it| it.trim().trim_matches('`'));
        Some((cells.next()?, cells.next()?))
    });
    let mut documented: Vec<_> = rows.take_while(|(name, _)| *name != "ACCOUNTS").collect();
    let mut names: Vec<_> = documented
        .iter()
        .map(|(name, _)| *name)
        .chain(["LOG"])
        .collect();
    let mut known = NAMES;
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
    for (name, default) in documented
        .iter()
        .filter(|(_, default)| *default != "required")
    {
        assert!(
            with(Some((name, default))) == with(None),
            "{name}: {default}"
        );
    }

    // It says what the host does, and the packages are that.
    documented.retain(|(name, _)| *name != "TRUST_CONNECTION_TIMEOUT");
    let options = fields(&sources.python, "Account").unwrap();
    let members = members(&sources.typescript, "Settings").unwrap();
    assert_eq!(options.len(), documented.len(), "{options:?}");
    assert_eq!(members.len(), documented.len(), "{members:?}");
    for (name, default) in documented {
        let option = match name {
            "API_TOKEN" => "token".to_owned(),
            name => name.trim_end_matches("_MS").to_lowercase(),
        };
        assert!(options.contains(&option), "{option} in Python");
        let variable = format!("{{variable:'{name}',");
        assert!(
            sources.javascript.contains(&variable),
            "{variable} in JavaScript"
        );
        let said = match default {
            "required" => format!("Required. Variable: `VOICE_CALLING_{name}`."),
            default => format!("Default: `{default}`. Variable: `VOICE_CALLING_{name}`."),
        };
        assert!(sources.typescript.contains(&said), "{said} in TypeScript");
    }
}
