//! What things are called in Python, and of which type they are.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::bindings::{
    model::{Field, Type},
    names::{pascal, snake, type_name},
    python::TIMEOUT,
};

pub(super) fn class(name: &str) -> String {
    pascal(type_name(name))
}

/// A parameter, or a field of what users make; times are seconds there.
pub(super) fn argument(field: &Field) -> String {
    match field.name.as_str() {
        TIMEOUT => "timeout".to_owned(),
        name => snake(name),
    }
}

/// A field of what users get; JSON is text there, beside which there is a property.
pub(super) fn attribute(field: &Field) -> String {
    let name = snake(&field.name);
    if is_json(&field.ty) && !name.ends_with("_json") {
        format!("{name}_json")
    } else {
        name
    }
}

pub(super) fn is_json(ty: &Type) -> bool {
    *ty.required() == Type::Json
}

pub(super) fn named(ty: &Type) -> Result<&str> {
    match ty {
        Type::Named(name) => Ok(name),
        other => bail!("{other:?} has no name"),
    }
}

/// The record that an argument is made of.
pub(super) fn class_of(ty: &Type) -> Option<String> {
    match ty {
        Type::Named(name) => Some(class(name)),
        Type::Option(inner) | Type::List(inner) => class_of(inner),
        _ => None,
    }
}

pub(super) fn collect_names(ty: &Type, names: &mut BTreeSet<String>) {
    match ty {
        Type::Named(name) => drop(names.insert(class(name))),
        Type::Option(inner) | Type::List(inner) | Type::Result(inner, _) => {
            collect_names(inner, names);
        }
        _ => {}
    }
}

pub(super) fn argument_type(field: &Field) -> Result<String> {
    Ok(match (&field.ty, field.name.as_str()) {
        (Type::U32, TIMEOUT) => "float".to_owned(),
        (Type::List(element), _) if **element == Type::U8 => {
            "bytes | bytearray | memoryview | str".to_owned()
        }
        (Type::List(element), _) => format!("Iterable[{}]", value_type(element, "Json")?),
        (ty, _) => value_type(ty, "Json")?,
    })
}

pub(super) fn attribute_type(ty: &Type) -> Result<String> {
    value_type(ty, "str")
}

fn value_type(ty: &Type, json: &str) -> Result<String> {
    Ok(match ty {
        Type::Bool => "bool".to_owned(),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::S64 => "int".to_owned(),
        Type::F64 => "float".to_owned(),
        Type::String => "str".to_owned(),
        Type::Json => json.to_owned(),
        Type::Named(name) => class(name),
        Type::Option(inner) => format!("{} | None", value_type(inner, json)?),
        Type::List(inner) => format!("tuple[{}, ...]", value_type(inner, json)?),
        Type::Tuple(parts) => {
            let parts: Vec<_> = parts
                .iter()
                .map(|it| value_type(it, json))
                .collect::<Result<_>>()?;
            format!("tuple[{}]", parts.join(", "))
        }
        Type::Result(..) => bail!("a result in a record is not known in Python"),
    })
}

pub(super) fn result_type(ty: &Type, types: &str, errors: &str) -> Result<String> {
    Ok(match ty {
        Type::Named(name) => format!("{types}{}", class(name)),
        Type::Option(inner) => format!("{} | None", result_type(inner, types, errors)?),
        Type::List(inner) => format!("list[{}]", result_type(inner, types, errors)?),
        Type::Result(ok, _) => {
            format!("{} | {errors}RequestError", result_type(ok, types, errors)?)
        }
        other => bail!("a function that returns {other:?} is not known in Python"),
    })
}
