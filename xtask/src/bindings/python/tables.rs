//! The tables by which values are checked, encoded and decoded.

use std::fmt::Write as _;

use anyhow::{Result, bail};

use crate::bindings::{
    model::{Field, Package, Shape, Type},
    names::{error_name, pascal, screaming, snake, type_name},
    python::{
        HEADER, TIMEOUT,
        clients::is_spread,
        errors::PAYLOADS,
        names::{argument, attribute, class, result_type},
        records::{inputs, known_cases},
    },
};

pub(super) fn interface(package: &Package) -> Result<String> {
    let mut text = format!(
        "\"\"\"The component's types and functions, and what each is in Python.\"\"\"\n\n{HEADER}\
         from typing import Any\n\nfrom . import _errors, _types\n\
         from ._schema import (\n    BOOL,\n    BYTES,\n    F64,\n    JSON,\n    S64,\n    SECONDS,\n    \
         TEXT,\n    U16,\n    U32,\n    U64,\n    Failure,\n    Field,\n    Function,\n    ListOf,\n    \
         Optional,\n    Outcome,\n    Record,\n    Status,\n    TupleOf,\n)\n\n\
         WIT_VERSION = \"{}\"\n",
        package.version
    );
    for definition in &package.types {
        let name = &definition.name;
        let constant = screaming(type_name(name));
        match &definition.shape {
            Shape::Record(fields) => {
                let made = match name.as_str() {
                    "http-response" => "dict".to_owned(),
                    name if PAYLOADS.contains(&name) => "dict".to_owned(),
                    name => format!("_types.{}", class(name)),
                };
                let is_payload = made == "dict";
                let is_input = inputs(package)?.contains(name.as_str());
                writeln!(
                    text,
                    "\n{constant} = Record(\n    \"{name}\",\n    {made},\n    ("
                )?;
                for field in fields {
                    let (python, kind) = if is_input {
                        (argument(field), argument_kind(field)?)
                    } else if is_payload {
                        (snake(&field.name), kind(&field.ty, "TupleOf")?)
                    } else {
                        (attribute(field), kind(&field.ty, "TupleOf")?)
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
                    let payload = match &case.payload {
                        Some(payload) => kind(payload, "TupleOf")?,
                        None => "None".to_owned(),
                    };
                    let class = pascal(error_name(&case.name));
                    writeln!(
                        text,
                        "        \"{}\": (_errors.{class}, {payload}),",
                        case.name
                    )?;
                }
                text.push_str("    },\n)\n");
            }
            Shape::Variant(cases) => {
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
                let python = if is_spread(parameter, function) {
                    String::new()
                } else {
                    argument(parameter)
                };
                let kind = argument_kind(parameter)?;
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

/// What checks and converts an argument, or a field of what users make.
fn argument_kind(field: &Field) -> Result<String> {
    match (&field.ty, field.name.as_str()) {
        (Type::U32, TIMEOUT) => Ok("SECONDS".to_owned()),
        (Type::List(element), _) if **element == Type::U8 => Ok("BYTES".to_owned()),
        (ty, _) => kind(ty, "ListOf"),
    }
}

pub(super) fn kind(ty: &Type, list: &str) -> Result<String> {
    Ok(match ty {
        Type::Bool => "BOOL".to_owned(),
        Type::U16 => "U16".to_owned(),
        Type::U32 => "U32".to_owned(),
        Type::U64 => "U64".to_owned(),
        Type::S64 => "S64".to_owned(),
        Type::F64 => "F64".to_owned(),
        Type::String => "TEXT".to_owned(),
        Type::Json => "JSON".to_owned(),
        Type::Named(name) => screaming(type_name(name)),
        Type::Option(inner) => format!("Optional({})", kind(inner, list)?),
        Type::List(inner) => format!("{list}({})", kind(inner, list)?),
        Type::Result(ok, _) => format!("Outcome({}, REQUEST_ERROR)", kind(ok, list)?),
        Type::Tuple(_) => bail!("a tuple is not known in Python yet"),
        Type::U8 => bail!("a single byte is not known in Python"),
    })
}
