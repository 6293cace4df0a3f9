//! The errors as exceptions.

use std::fmt::Write as _;

use anyhow::{Result, bail};

use crate::bindings::{
    model::{Field, Package, Type},
    names::{error_name, pascal, snake},
    python::{
        HEADER,
        docs::{Words, docstring, field_docs, in_seconds},
        names::attribute_type,
    },
};

/// Payloads in the order in which their fields describe the attributes of all errors.
pub(super) const PAYLOADS: [&str; 5] = [
    "http-failure",
    "unknown-outcome",
    "transport-failure",
    "invalid-input",
    "configuration-problem",
];

pub(super) fn errors(package: &Package, words: &Words) -> Result<String> {
    let error = package.definition("request-error")?;
    let mut text = format!(
        "\"\"\"The exceptions: one for each case of the component's errors.\"\"\"\n\n{HEADER}\
         from ._types import Attempt\n\n"
    );
    let cases = package.variant("request-error")?;
    let mut names: Vec<_> = cases
        .iter()
        .map(|case| pascal(error_name(&case.name)))
        .collect();
    names.push("RequestError".to_owned());
    names.sort();
    text.push_str("__all__ = [\n");
    for name in names {
        writeln!(text, "    \"{name}\",")?;
    }
    text.push_str("]\n\n\nclass RequestError(Exception):\n");
    let docs = words.translated(&error.docs);
    let docs = format!(
        "{docs}\n\nAll attributes are there on all errors, so that one handler can show any; \
         those that an error has nothing to say of are `None` or empty."
    );
    docstring(&mut text, 4, &docs);
    text.push_str(
        "\n    kind: str = \"\"\n    \"\"\"The error's name in the component's WIT.\"\"\"\n\
         \n    is_permanent: bool = False\n    \
         \"\"\"Whether repeating the same call is not worth it, or would risk a second call to a \
         person.\n\n    \
         It is so for a kind of errors. `ExecutionFailed` alone has both: it is permanent after a \
         create\n    that had begun, which may have created something. `Unavailable` is not, although \
         after a\n    create something may exist, since the service asks for repeating.\n    \"\"\"\n",
    );
    for field in error_attributes(package)? {
        let (ty, default) = match field.ty.required() {
            Type::List(_) => ("tuple[Attempt, ...]".to_owned(), "()"),
            Type::Bool => ("bool".to_owned(), "False"),
            _ if field.name == "message" => ("str".to_owned(), "\"\""),
            _ if field.name == "retry-after-ms" => ("float | None".to_owned(), "None"),
            ty => (format!("{} | None", attribute_type(ty)?), "None"),
        };
        let name = match field.name.as_str() {
            "retry-after-ms" => "retry_after".to_owned(),
            name => snake(name),
        };
        writeln!(text, "\n    {name}: {ty} = {default}")?;
        let docs = in_seconds(&name, &field_docs(field, words));
        docstring(&mut text, 4, &docs);
    }
    for case in cases {
        writeln!(
            text,
            "\n\nclass {}(RequestError):",
            pascal(error_name(&case.name))
        )?;
        let docs = words.translated(&case.docs);
        let docs = match &case.payload {
            Some(Type::Named(payload)) => {
                let known = payload_fields(package, payload)?.map(error_attribute);
                let known: Vec<_> = known.map(|name| format!("`{name}`")).collect();
                format!("{docs}\n\nIt has {}.", known.join(", "))
            }
            Some(_) => bail!("{}: the payload of an error is a record", case.name),
            None => format!(
                "{docs}\n\nAfter a create that had begun, `is_permanent` is `True`. It has `message`."
            ),
        };
        docstring(&mut text, 4, &docs);
        writeln!(text, "\n    kind: str = \"{}\"", case.name)?;
        if case.name.starts_with("permanent-") {
            text.push_str("    is_permanent: bool = True\n");
        }
    }
    Ok(text)
}

/// The fields of all payloads, each once.
pub(super) fn error_attributes(package: &Package) -> Result<Vec<&Field>> {
    let mut attributes: Vec<&Field> = Vec::new();
    for payload in PAYLOADS {
        for field in payload_fields(package, payload)? {
            if !attributes.iter().any(|known| known.name == field.name) {
                attributes.push(field);
            }
        }
    }
    Ok(attributes)
}

/// The fields of a payload, those of the answer in its place.
fn payload_fields<'a>(
    package: &'a Package,
    payload: &str,
) -> Result<impl Iterator<Item = &'a Field> + use<'a>> {
    let response = package.record("http-response")?;
    let fields = package.record(payload)?.iter();
    Ok(fields.flat_map(move |field| match field.name.as_str() {
        "response" => response,
        _ => std::slice::from_ref(field),
    }))
}

pub(super) fn error_attribute(field: &Field) -> String {
    match field.name.as_str() {
        "retry-after-ms" => "retry_after".to_owned(),
        name => snake(name),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_attribute_of_an_error_comes_once() {
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
        let package = Package::read(&wit).unwrap();
        let names: Vec<_> = error_attributes(&package)
            .unwrap()
            .into_iter()
            .map(error_attribute)
            .collect();
        assert_eq!(
            names,
            [
                "message",
                "status",
                "body",
                "body_cut",
                "request_id",
                "retry_after",
                "attempts",
                "field",
                "found",
                "allowed",
                "variable"
            ]
        );
    }
}
