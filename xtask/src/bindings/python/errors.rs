//! The errors as exceptions.

use std::fmt::Write as _;

use anyhow::Result;

use crate::bindings::{
    model::{Field, Package, Type},
    names::{error_base, error_name, pascal},
    python::{
        docs::{HEADER, Words, docstring, field_docs},
        names::{attribute, attribute_type},
    },
};

/// The base of all errors.
const BASE: &str = "RequestError";

pub(super) fn errors(package: &Package, words: &Words) -> Result<String> {
    let error = package.definition("request-error")?;
    let cases = package.variant("request-error")?;
    let mut text = format!(
        "\"\"\"The exceptions: one for each case of the component's errors.\"\"\"\n\n{HEADER}\
         from typing import Any\n\nfrom ._record import plain\n\
         from ._types import Attempt, HttpResponse, Problem\n\n"
    );
    let mut names: Vec<_> = cases
        .iter()
        .map(|case| pascal(error_name(&case.name)))
        .collect();
    names.extend([BASE, "ServiceError", "NoAnswerError"].map(str::to_owned));
    names.sort();
    text.push_str("__all__ = [\n");
    for name in names {
        writeln!(text, "    \"{name}\",")?;
    }
    writeln!(text, "]\n\n\nclass {BASE}(Exception):")?;
    let docs = words.translated(&error.docs);
    let docs = format!(
        "{docs}\n\nHere `is_permanent` stands for that part of the name. All errors have the same \
         attributes."
    );
    docstring(&mut text, 4, &docs);
    text.push_str(
        "\n    kind: str = \"\"\n    \"\"\"The error's name in the component's WIT.\"\"\"\n",
    );
    let fields = package.record("failure")?;
    for field in fields {
        writeln!(
            text,
            "\n    {}: {}",
            attribute(field),
            attribute_type(field)?
        )?;
        docstring(&mut text, 4, &field_docs(field, words));
    }
    write_init(&mut text, fields)?;
    text.push_str(
        "\n    @property\n    def is_permanent(self) -> bool:\n        \
         \"\"\"Whether the same call would fail again, or would risk that a person is called \
         twice.\"\"\"\n        \
         return self.kind.startswith(\"permanent-\") or self.may_have_created\n\n    \
         def to_dict(self) -> dict[str, Any]:\n        \
         \"\"\"All that is known, in the types of JSON.\"\"\"\n        \
         return {\"kind\": self.kind, **plain(vars(self))}\n",
    );
    text.push_str(
        "\n\nclass ServiceError(RequestError):\n    \
         \"\"\"The service answered, but not with what was asked for: `response` says what.\"\"\"\n\n    \
         response: HttpResponse  # pyright: ignore[reportIncompatibleVariableOverride]\n    \
         \"\"\"The answer that decided. It need not be that of the last attempt: attempts without an \
         answer\n    may follow it.\n    \"\"\"\n\
         \n\nclass NoAnswerError(RequestError):\n    \
         \"\"\"The service did not answer: it could not be reached, or time ran out. `response` is \
         `None`.\n    \"\"\"\n",
    );
    for case in cases {
        let name = pascal(error_name(&case.name));
        let base = pascal(error_base(&case.name));
        writeln!(text, "\n\nclass {name}({base}):")?;
        let mut docs = words.translated(&case.docs);
        if base == BASE && case.name == "permanent-outcome-unknown" {
            docs.push_str(
                "\n\nIt is neither a `ServiceError` nor a `NoAnswerError`, so that no handler of \
                 these retries it; `response` is there where the service answered.",
            );
        }
        docstring(&mut text, 4, &docs);
        writeln!(text, "\n    kind: str = \"{}\"", case.name)?;
    }
    Ok(text)
}

/// The constructor, which takes the message alone or with all that the component says.
fn write_init(text: &mut String, fields: &[Field]) -> Result<()> {
    text.push_str("\n    def __init__(\n        self,\n        message: str = \"\",\n        *,\n");
    for field in fields.iter().filter(|field| field.name != "message") {
        let default = match field.ty {
            Type::Option(_) => "None",
            Type::List(_) => "()",
            _ => "False",
        };
        let name = attribute(field);
        writeln!(
            text,
            "        {name}: {} = {default},",
            attribute_type(field)?
        )?;
    }
    text.push_str("    ) -> None:\n        super().__init__(message)\n");
    for field in fields {
        let name = attribute(field);
        writeln!(text, "        self.{name} = {name}")?;
    }
    Ok(())
}
