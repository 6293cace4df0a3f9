//! The tables by which values are checked, encoded and decoded.

use std::fmt::Write as _;

use anyhow::{Result, bail};

use crate::bindings::{
    model::{Case, Field, Package, Shape, Type},
    names::{error_name, pascal, screaming, type_name},
    python::{
        HEADER,
        clients::is_spread,
        names::{argument, attribute, class, is_body, is_in_seconds, is_mapping, result_type},
        records::{inputs, is_status, known_cases},
    },
};

pub(super) fn interface(package: &Package) -> Result<String> {
    let mut text = format!(
        "\"\"\"The component's types and functions, and what each is in Python.\"\"\"\n\n{HEADER}\
         from typing import Any\n\nfrom . import _errors, _outcomes, _types\n\
         from ._schema import (\n    BODY,\n    BOOL,\n    F64,\n    JSON,\n    S64,\n    SECONDS,\n    \
         TEXT,\n    TEXTS,\n    U16,\n    U32,\n    Failure,\n    Field,\n    Function,\n    ListOf,\n    \
         Optional,\n    Outcome,\n    Record,\n    Status,\n    TupleOf,\n    Variant,\n)\n\n\
         WIT_VERSION = \"{}\"\n",
        package.version
    );
    for definition in &package.types {
        let name = &definition.name;
        let constant = screaming(type_name(name));
        match &definition.shape {
            Shape::Record(fields) => {
                let made = match name.as_str() {
                    "failure" => "dict".to_owned(),
                    name => format!("_types.{}", class(name)),
                };
                let is_input = inputs(package)?.contains(name.as_str());
                writeln!(
                    text,
                    "\n{constant} = Record(\n    \"{name}\",\n    {made},\n    ("
                )?;
                for field in fields {
                    let (python, kind) = if is_input {
                        (argument(field), field_kind(field, "ListOf")?)
                    } else {
                        (attribute(field), field_kind(field, "TupleOf")?)
                    };
                    writeln!(
                        text,
                        "        Field(\"{}\", \"{python}\", {kind}),",
                        field.name
                    )?;
                }
                text.push_str("    ),\n)\n");
            }
            Shape::Variant(cases) if name == "request-error" => {
                writeln!(text, "\n{constant} = Failure(\n    \"{name}\",\n    {{")?;
                for case in cases {
                    let payload = payload_kind(case)?;
                    let class = pascal(error_name(&case.name));
                    writeln!(
                        text,
                        "        \"{}\": (_errors.{class}, {payload}),",
                        case.name
                    )?;
                }
                text.push_str("    },\n)\n");
            }
            Shape::Variant(cases) if is_status(cases) => {
                let class = class(name);
                writeln!(
                    text,
                    "\n{constant} = Status(\n    \"{name}\",\n    _types.{class},\n    {{"
                )?;
                for case in known_cases(cases)? {
                    writeln!(
                        text,
                        "        \"{}\": \"{}\",",
                        case.name,
                        screaming(&case.name)
                    )?;
                }
                text.push_str("    },\n)\n");
            }
            Shape::Variant(cases) => {
                writeln!(text, "\n{constant} = Variant(\n    \"{name}\",\n    {{")?;
                for case in cases {
                    let class = pascal(&case.name);
                    let payload = payload_kind(case)?;
                    writeln!(
                        text,
                        "        \"{}\": (_outcomes.{class}, {payload}),",
                        case.name
                    )?;
                }
                text.push_str("    },\n)\n");
            }
        }
    }
    for interface in &package.interfaces {
        for function in &interface.functions {
            let constant = screaming(&function.name);
            let result = result_type(&function.ok, "_types.", "_errors.")?;
            writeln!(text, "\n{constant}: Function[{result}] = Function(")?;
            writeln!(
                text,
                "    \"{}\",\n    \"{}\",\n    (",
                interface.name, function.name
            )?;
            for parameter in &function.parameters {
                let python = if is_spread(parameter) {
                    String::new()
                } else {
                    argument(parameter)
                };
                let kind = field_kind(parameter, "ListOf")?;
                writeln!(
                    text,
                    "        Field(\"{}\", \"{python}\", {kind}),",
                    parameter.name
                )?;
            }
            let ok = kind(&function.ok, "ListOf")?;
            let creates = if function.is_creating() {
                "\n    creates=True,"
            } else {
                ""
            };
            writeln!(
                text,
                "    ),\n    Outcome({ok}, REQUEST_ERROR),{creates}\n)"
            )?;
        }
    }
    text.push_str("\nFUNCTIONS: tuple[Function[Any], ...] = (\n");
    for function in package.interfaces.iter().flat_map(|it| &it.functions) {
        writeln!(text, "    {},", screaming(&function.name))?;
    }
    text.push_str(")\n");
    Ok(text)
}

fn payload_kind(case: &Case) -> Result<String> {
    case.payload
        .as_ref()
        .map_or(Ok("None".to_owned()), |payload| kind(payload, "TupleOf"))
}

/// What checks and converts a parameter or a field.
fn field_kind(field: &Field, list: &str) -> Result<String> {
    match &field.ty {
        Type::U32 if is_in_seconds(field) => Ok("SECONDS".to_owned()),
        Type::Option(_) if is_in_seconds(field) => Ok("Optional(SECONDS)".to_owned()),
        Type::String if is_body(field) => Ok("BODY".to_owned()),
        ty => kind(ty, list),
    }
}

fn kind(ty: &Type, list: &str) -> Result<String> {
    Ok(match ty {
        Type::Bool => "BOOL".to_owned(),
        Type::U16 => "U16".to_owned(),
        Type::U32 => "U32".to_owned(),
        Type::S64 => "S64".to_owned(),
        Type::F64 => "F64".to_owned(),
        Type::String => "TEXT".to_owned(),
        Type::Json => "JSON".to_owned(),
        Type::Named(name) => screaming(type_name(name)),
        Type::Option(inner) => format!("Optional({})", kind(inner, list)?),
        ty if is_mapping(ty) => "TEXTS".to_owned(),
        Type::List(inner) => format!("{list}({})", kind(inner, list)?),
        Type::Result(ok, _) => format!("Outcome({}, REQUEST_ERROR)", kind(ok, list)?),
        Type::U8 | Type::U64 | Type::Tuple(_) => bail!("{ty:?} is not known in Python"),
    })
}
