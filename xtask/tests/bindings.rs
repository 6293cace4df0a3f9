//! The packages for Python and JavaScript are written by hand. They have every record, field, case,
//! error and setting of the component, under the name that their language gives it, and document
//! each. The table of cases proves what they make of arguments and results.

use std::{fs, path::Path};

use voice_calling_core::{Settings, settings::NAMES};
use wit_parser::{Resolve, TypeDefKind};

/// A language's declarations of types: Python's classes, TypeScript's interfaces.
struct Declarations {
    text: String,
    /// The text before the name of a type.
    keyword: &'static str,
    /// The text before the name of a member.
    indentation: &'static str,
    /// Whether the member in a line is documented: above it, or below it.
    is_documented: fn(above: &str, below: &str) -> bool,
}

impl Declarations {
    fn in_python() -> Self {
        let text = texts("bindings/python/src/voice_calling", ".py");
        // Every other piece is a docstring, whose words declare nothing.
        let code: Vec<_> = text.split("\"\"\"").step_by(2).collect();
        Self {
            text: code.join("\"\"\" \"\"\""),
            keyword: "class",
            indentation: "    ",
            is_documented: |_, below| below.starts_with("    \"\"\""),
        }
    }

    fn in_typescript() -> Self {
        Self {
            text: texts("bindings/javascript/types", ".d.ts"),
            keyword: "export interface",
            indentation: "  ",
            is_documented: |above, _| above.ends_with("*/"),
        }
    }

    /// Returns the rest of the line that declares a type, with its bases, and the lines of its body;
    /// `None` if there is no such type.
    fn body(&self, name: &str) -> Option<(&str, Vec<&str>)> {
        let opening = format!("{} {name}", self.keyword);
        let mut lines = self.text.lines();
        let rest = lines.find_map(|line| {
            let rest = line.strip_prefix(&opening)?;
            (!rest.starts_with(char::is_alphanumeric)).then_some(rest)
        })?;
        let indented = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
        Some((rest, indented.collect()))
    }

    /// Returns the members of a type and of its bases, each of which has to be documented.
    fn members(&self, name: &str) -> Option<Vec<String>> {
        let (bases, lines) = self.body(name)?;
        let bases = bases.split(|it: char| !it.is_alphanumeric());
        let bases = bases.filter(|it| it.starts_with(char::is_uppercase));
        let mut found: Vec<_> = bases.filter_map(|it| self.members(it)).flatten().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(member) = line.strip_prefix(self.indentation).and_then(member) else {
                continue;
            };
            let above = at.checked_sub(1).map_or("", |at| lines[at]);
            let below = lines.get(at + 1).map_or("", |line| line);
            assert!(
                (self.is_documented)(above, below),
                "{name}.{member} has no comment in the {} {name}",
                self.keyword
            );
            found.retain(|inherited| inherited != member);
            found.push(member.to_owned());
        }
        // The same as `rawJson`, parsed; and what the ledger needs, which only packages have.
        found.retain(|it| !["raw", "once", "fromLedger", "from_ledger"].contains(&&**it));
        Some(found)
    }
}

/// Returns the name that a line of a type's body declares: `name: …`, `readonly name?: …`,
/// `name(…)`.
fn member(line: &str) -> Option<&str> {
    let line = line.strip_prefix("readonly ").unwrap_or(line);
    let name = line.split([':', '?', '(']).next()?;
    let of_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    (name.chars().all(of_name) && name != line).then_some(name)
}

/// Returns all files in a folder whose names end so, in the order of their names, as one text.
fn texts(folder: &str, ending: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(folder);
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap());
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the sources of the package for JavaScript without blanks and trailing commas.
fn javascript() -> String {
    let text = texts("bindings/javascript/src", ".js");
    let text: String = text.split_whitespace().collect();
    text.replace(",}", "}").replace(",)", ")")
}

#[track_caller]
fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "a package lacks: {part}");
}

fn snake(name: &str) -> String {
    name.replace('-', "_")
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

/// The types of the client's WIT, in its order: name, kind, and fields or cases.
fn types() -> Vec<(String, &'static str, Vec<String>)> {
    let mut wit = Resolve::default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
    let (client, _) = wit.push_dir(folder).unwrap();
    let types = &wit.interfaces[wit.packages[client].interfaces["types"]].types;
    let types = types.iter().map(|(name, id)| {
        let kind = &wit.types[*id].kind;
        let members = match kind {
            TypeDefKind::Record(record) => record.fields.iter().map(|it| it.name.clone()).collect(),
            TypeDefKind::Variant(variant) => {
                variant.cases.iter().map(|it| it.name.clone()).collect()
            }
            _ => Vec::new(),
        };
        (name.clone(), kind.as_str(), members)
    });
    types.collect()
}

#[test]
fn types_have_the_fields_and_cases_of_the_wit() {
    let (python, typescript) = (Declarations::in_python(), Declarations::in_typescript());
    for (name, kind, names) in types() {
        // In the WIT, version 2 of a creation has the longer name, since it came later; users
        // should find it first.
        let class = pascal(match &*name {
            "docket-request" => "docket-request-v1",
            "docket-request-v2" => "docket-request",
            "created-docket" => "created-docket-v1",
            "created-docket-v2" => "created-docket",
            name => name,
        });
        match (kind, &*name) {
            // Arguments of methods, and what errors are made of.
            (_, "call-options" | "wait-options" | "failure" | "request-error") => {}
            ("record", _) => {
                check_interface(&typescript, &class, &names);
                check_class(&python, &class, &names);
            }
            ("variant", _) if names.iter().any(|it| it == "other") => {
                check_status(&python, &typescript, &class, &names);
            }
            // What came of something. The table of cases has each.
            _ => {}
        }
    }
    for group in ["Agents", "Calls", "Dockets", "Webhooks"] {
        assert!(typescript.members(group).is_some(), "{group}");
    }
}

fn check_interface(typescript: &Declarations, class: &str, names: &[String]) {
    let members = typescript.members(class);
    let mut members = members.unwrap_or_else(|| panic!("no interface {class} in TypeScript"));
    let mut expected: Vec<_> = names.iter().map(|name| camel(name)).collect();
    members.sort_unstable();
    expected.sort_unstable();
    assert_eq!(members, expected, "{class} in TypeScript");
}

fn check_class(python: &Declarations, class: &str, names: &[String]) {
    let names = names.iter().map(|name| snake(name));
    let Some(mut fields) = python.members(class) else {
        // There the fields of a request are arguments.
        names.for_each(|name| assert_contains(&python.text, &format!(" {name}: ")));
        return;
    };
    for name in names {
        // Milliseconds may be seconds there, and JSON is text.
        let allowed = [&format!("{name}_json"), name.trim_end_matches("_ms"), &name];
        let found = fields.iter().position(|field| allowed.contains(&&**field));
        fields.swap_remove(found.unwrap_or_else(|| panic!("{class}.{name} in Python")));
    }
    assert_eq!(fields, [""; 0], "{class} in Python has more");
}

/// A word of the service, or any other text.
fn check_status(python: &Declarations, typescript: &Declarations, class: &str, names: &[String]) {
    let words = names.iter().filter(|it| *it != "other");
    let words: Vec<_> = words.map(|it| snake(it).to_uppercase()).collect();
    let union = words.join("' | '");
    let union = format!("type {class} = '{union}' | (string & {{}});");
    assert_contains(&typescript.text, &union);
    let (_, status) = python.body(class).unwrap();
    let values = status.into_iter().filter(|line| line.contains(" = "));
    let expected = words.iter().map(|word| format!("    {word} = \"{word}\""));
    assert!(expected.eq(values), "{class} in Python");
}

#[test]
fn every_error_of_the_wit_has_a_class_with_the_same_base_in_both_languages() {
    let (python, typescript) = (Declarations::in_python(), Declarations::in_typescript());
    let javascript = javascript();
    let mut types = types().into_iter();
    let errors = types.find(|(name, ..)| name == "request-error");
    for kind in errors.unwrap().2 {
        let class = match kind.strip_prefix("permanent-").unwrap_or(&kind) {
            "configuration" => "ConfigurationProblem".to_owned(),
            name => pascal(name),
        };
        let found = python.body(&class);
        let (base, lines) = found.unwrap_or_else(|| panic!("no class {class} in Python"));
        let base = base.trim_matches(['(', ')', ':']);
        assert!(lines[0].starts_with("    \"\"\""), "{class} in Python");
        assert_contains(&lines.join("\n"), &format!("    kind: str = \"{kind}\""));
        assert_contains(
            &javascript,
            &format!("exportconst{class}=subclass({base},'{class}','{kind}');"),
        );
        let declared = format!(
            "*/\nexport declare class {class} extends {base} {{\n  readonly kind: '{kind}';\n"
        );
        assert_contains(&typescript.text, &declared);
    }
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
    let (mut names, mut known) = (names.chain(["LOG"]).collect::<Vec<_>>(), NAMES);
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
    for setting @ (name, default) in &documented {
        let is_default = *default == "required" || with(Some(*setting)) == with(None);
        assert!(is_default, "{name}: {default}");
    }

    // It says what the host does, and the packages are that.
    documented.retain(|(name, _)| *name != "TRUST_CONNECTION_TIMEOUT");
    let (typescript, javascript) = (Declarations::in_typescript(), javascript());
    let options = Declarations::in_python().members("Account").unwrap();
    let members = typescript.members("Settings").unwrap();
    assert_eq!(options.len(), documented.len(), "{options:?}");
    assert_eq!(members.len(), documented.len(), "{members:?}");
    for (name, default) in documented {
        let option = match name {
            "API_TOKEN" => "token".to_owned(),
            name => name.trim_end_matches("_MS").to_lowercase(),
        };
        assert!(options.contains(&option), "{option} in Python");
        assert_contains(&javascript, &format!("{{variable:'{name}',"));
        let default = match default {
            "required" => "Required".to_owned(),
            default => format!("Default: `{default}`"),
        };
        let said = format!("{default}. Variable: `VOICE_CALLING_{name}`.");
        assert_contains(&typescript.text, &said);
    }
}
