//! Records and statuses as dataclasses and enums.

use std::{collections::BTreeSet, fmt::Write as _};

use anyhow::{Context, Result, bail};

use crate::bindings::{
    model::{Case, Definition, Field, Package, Shape, Type},
    names::{pascal, screaming, snake},
    python::{
        docs::{HEADER, Words, docstring, field_docs},
        names::{
            argument, argument_type, attribute, attribute_type, class, default, is_json, is_status,
            value_type,
        },
    },
};

/// Records whose fields are arguments of methods, and those of which the errors are made.
const NO_CLASSES: [&str; 4] = ["call-options", "wait-options", "request-error", "failure"];

pub(super) fn types(package: &Package, words: &Words) -> Result<String> {
    let mut text = format!(
        "\"\"\"What goes in and comes out, as the component's WIT describes it.\"\"\"\n\n{HEADER}\
         from collections.abc import Mapping\nfrom dataclasses import dataclass\n\
         from typing import Any, TypeAlias\n\n\
         from ._json import Json, loads\n\
         from ._outcomes import Completed, Confirmed, Contradicted, NotACompletion, Pending\n\
         from ._record import Record\n\
         from ._status import ServiceStatus\n\n"
    );
    let inputs = inputs(package)?;
    let mut public = Vec::new();
    let mut definitions = String::new();
    for definition in &package.types {
        let name = &definition.name;
        if NO_CLASSES.contains(&name.as_str()) {
            continue;
        }
        match &definition.shape {
            Shape::Record(fields) => {
                let is_input = inputs.contains(name.as_str());
                write_record(&mut definitions, definition, fields, is_input, words)?;
            }
            Shape::Variant(cases) if is_status(cases) => {
                write_status(&mut definitions, definition, cases, words)?;
            }
            Shape::Variant(cases) => write_outcome(&mut definitions, definition, cases, words)?,
        }
        public.push(class(name));
    }
    public.sort();
    text.push_str("__all__ = [\n");
    for name in public {
        writeln!(text, "    \"{name}\",")?;
    }
    text.push_str("]\n");
    text.push_str(&definitions);
    write_renamed(&mut text, package)?;
    Ok(text)
}

/// What fields are called in the JSON of the machine, where users have another name for them.
fn write_renamed(text: &mut String, package: &Package) -> Result<()> {
    let inputs = inputs(package)?;
    let mut renamed = BTreeSet::new();
    for definition in &package.types {
        let Shape::Record(fields) = &definition.shape else {
            continue;
        };
        if NO_CLASSES.contains(&definition.name.as_str()) || inputs.contains(&*definition.name) {
            continue;
        }
        let names = fields.iter().map(|it| (attribute(it), snake(&it.name)));
        renamed.extend(names.filter(|(attribute, name)| attribute != name));
    }
    text.push_str("\n\nRENAMED = {\n");
    for (attribute, name) in renamed {
        writeln!(text, "    \"{attribute}\": \"{name}\",")?;
    }
    text.push_str("}\n");
    docstring(
        text,
        0,
        "Attributes that have another name in the JSON of the machine.",
    );
    Ok(())
}

fn write_record(
    text: &mut String,
    definition: &Definition,
    fields: &[Field],
    is_input: bool,
    words: &Words,
) -> Result<()> {
    writeln!(
        text,
        "\n\n@dataclass(frozen=True, slots=True, kw_only=True)"
    )?;
    let base = if is_input { "" } else { "(Record)" };
    writeln!(text, "class {}{base}:", class(&definition.name))?;
    docstring(text, 4, &words.translated(&definition.docs));
    for field in fields {
        let (name, ty) = if is_input {
            (argument(field), argument_type(field)?)
        } else {
            (attribute(field), attribute_type(field)?)
        };
        let default = default(&field.ty).map_or(String::new(), |value| format!(" = {value}"));
        writeln!(text, "\n    {name}: {ty}{default}")?;
        docstring(text, 4, &field_docs(field, words));
    }
    for field in fields.iter().filter(|it| !is_input && is_json(&it.ty)) {
        let name = attribute(field);
        let value = name.strip_suffix("_json").context("it ends so")?;
        writeln!(text, "\n    @property\n    def {value}(self) -> Any:")?;
        let docs = format!("The value of `{name}`, parsed anew each time it is asked for.");
        docstring(text, 8, &docs);
        writeln!(text, "        return loads(self.{name})")?;
    }
    if fields.iter().any(|field| field.name == "outcome") {
        text.push_str(
            "\n    @property\n    def completed(self) -> bool:\n        \
             \"\"\"Whether `outcome` is `Completed`.\"\"\"\n        \
             return isinstance(self.outcome, Completed)\n",
        );
    }
    Ok(())
}

/// A variant whose cases are classes of `_outcomes.py`.
fn write_outcome(
    text: &mut String,
    definition: &Definition,
    cases: &[Case],
    words: &Words,
) -> Result<()> {
    let mut classes = Vec::new();
    let mut docs = format!("{}\n", words.translated(&definition.docs));
    for case in cases {
        let name = pascal(&case.name);
        write!(docs, "\n- `{name}`: {}", words.translated(&case.docs))?;
        classes.push(match &case.payload {
            Some(payload) => format!("{name}[{}]", value_type(payload, "str")?),
            None => name,
        });
    }
    let name = class(&definition.name);
    writeln!(
        text,
        "\n\n{name}: TypeAlias = (\n    {}\n)",
        classes.join("\n    | ")
    )?;
    docstring(text, 0, &docs);
    Ok(())
}

fn write_status(
    text: &mut String,
    definition: &Definition,
    cases: &[Case],
    words: &Words,
) -> Result<()> {
    writeln!(
        text,
        "\n\nclass {}(ServiceStatus):",
        class(&definition.name)
    )?;
    let docs = format!(
        "{}\n\nAny other text is kept as it came: `is_known` is `False` then.",
        words.translated(&definition.docs)
    );
    docstring(text, 4, &docs);
    text.push('\n');
    for case in known_cases(cases)? {
        let word = screaming(&case.name);
        writeln!(text, "    {word} = \"{word}\"")?;
        docstring(text, 4, &words.translated(&case.docs));
    }
    Ok(())
}

/// All but `other(string)`, which has to be there.
fn known_cases(cases: &[Case]) -> Result<Vec<&Case>> {
    let (other, known): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.payload.is_some());
    match other.as_slice() {
        [case] if case.name == "other" && case.payload == Some(Type::String) => {}
        _ => bail!("only statuses with an `other(string)` are known in Python"),
    }
    for case in &known {
        let word = format!("`{}`", screaming(&case.name));
        if !case.docs.starts_with(&word) {
            bail!(
                "the docs of the status {} do not begin with {word}",
                case.name
            );
        }
    }
    Ok(known)
}

/// The records that users make.
fn inputs(package: &Package) -> Result<BTreeSet<&str>> {
    let mut found = BTreeSet::new();
    let functions = package.interfaces.iter().flat_map(|it| &it.functions);
    let mut open: Vec<&Type> = functions
        .flat_map(|function| &function.parameters)
        .map(|parameter| &parameter.ty)
        .collect();
    while let Some(ty) = open.pop() {
        match ty {
            Type::Named(name) => {
                found.insert(name.as_str());
                open.extend(package.record(name)?.iter().map(|field| &field.ty));
            }
            Type::Option(inner) | Type::List(inner) => open.push(inner),
            _ => {}
        }
    }
    Ok(found)
}
