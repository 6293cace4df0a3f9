//! What things are called in Python, and of which type they are.

use anyhow::{Result, bail};

use crate::bindings::{
    model::{Case, Field, Type},
    names::{pascal, snake, type_name},
    settings::{Kind, Setting},
};

/// Times of which users give or get seconds; all others are milliseconds, as their names say.
const IN_SECONDS: [&str; 3] = ["timeout-ms", "deadline-ms", "retry-after-ms"];

pub(super) fn class(name: &str) -> String {
    pascal(type_name(name))
}

/// A parameter, or a field of what users make.
pub(super) fn argument(field: &Field) -> String {
    match field.name.strip_suffix("-ms") {
        Some(name) if is_in_seconds(field) => snake(name),
        _ => snake(&field.name),
    }
}

/// A field of what users get; JSON is text there, beside which there is a property.
pub(super) fn attribute(field: &Field) -> String {
    let name = argument(field);
    if is_json(&field.ty) && !name.ends_with("_json") {
        format!("{name}_json")
    } else {
        name
    }
}

pub(super) fn is_in_seconds(field: &Field) -> bool {
    IN_SECONDS.contains(&field.name.as_str())
}

/// Whether it is the body of a request, of which web frameworks give the bytes.
pub(super) fn is_body(field: &Field) -> bool {
    field.name == "body" && field.ty == Type::String
}

/// Whether it is names and values.
pub(super) fn is_mapping(ty: &Type) -> bool {
    let pair = Type::Tuple(vec![Type::String, Type::String]);
    *ty == Type::List(Box::new(pair))
}

pub(super) fn is_json(ty: &Type) -> bool {
    *ty.required() == Type::Json
}

pub(super) fn argument_type(field: &Field) -> Result<String> {
    Ok(match &field.ty {
        _ if is_in_seconds(field) => seconds_type(&field.ty),
        _ if is_body(field) => "str | bytes | bytearray | memoryview".to_owned(),
        ty if is_mapping(ty) => "Mapping[str, str] | None".to_owned(),
        Type::List(element) => format!("Iterable[{}]", value_type(element, "Json")?),
        ty => value_type(ty, "Json")?,
    })
}

/// What stands for an argument that is not given; none where it has to be.
pub(super) fn default(ty: &Type) -> Option<&'static str> {
    (ty.is_option() || is_mapping(ty)).then_some("None")
}

pub(super) fn attribute_type(field: &Field) -> Result<String> {
    if is_in_seconds(field) {
        return Ok(seconds_type(&field.ty));
    }
    value_type(&field.ty, "str")
}

fn seconds_type(ty: &Type) -> String {
    let none = if ty.is_option() { " | None" } else { "" };
    format!("float{none}")
}

pub(super) fn value_type(ty: &Type, json: &str) -> Result<String> {
    Ok(match ty {
        Type::Bool => "bool".to_owned(),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::S64 => "int".to_owned(),
        Type::F64 => "float".to_owned(),
        Type::String => "str".to_owned(),
        Type::Json => json.to_owned(),
        Type::Named(name) => class(name),
        Type::Option(inner) => format!("{} | None", value_type(inner, json)?),
        Type::List(inner) => format!("tuple[{}, ...]", value_type(inner, json)?),
        Type::Tuple(_) | Type::Result(..) => bail!("{ty:?} in a record is not known in Python"),
    })
}

/// What the constructor calls a setting.
pub(super) fn option_name(setting: &Setting) -> String {
    let name = setting.name();
    snake(match setting.kind {
        Kind::Duration => name.strip_suffix("-ms").unwrap_or(&name),
        _ => &name,
    })
}

/// Whether the variant is one of words of the service, any other text included.
pub(super) fn is_status(cases: &[Case]) -> bool {
    cases.iter().any(|case| case.name == "other")
}
