//! Converts JSON to component values and back, by the types that the component declares.
//!
//! Names are snake_case in JSON, and those of an enum as in the WIT. An option is null or its value,
//! and may be omitted. A list of pairs whose first member is a string is an object, and may be
//! omitted. If WIT has text, JSON objects and arrays are passed as their text, so that free-form
//! JSON need not be quoted, and its numbers keep their digits.

use anyhow::{Context, Result, bail};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Number, Value, json};
use std::collections::BTreeMap;
use wasmtime::component::{Type, Val, types};

/// The name of the arguments as a whole in errors; the values within go by their own names.
const ROOT: &str = "arguments";

/// Converts the arguments of a function with these parameters.
pub(super) fn arguments(json: &RawValue, parameters: Vec<(&str, Type)>) -> Result<Vec<Val>> {
    if let [(name, Type::Record(record)), options @ ..] = parameters.as_slice()
        && options.iter().all(|(_, ty)| matches!(ty, Type::Option(_)))
        && !members_by_name(json, ROOT)?.contains_key(*name)
    {
        let mut arguments = vec![Val::Record(fields(json, record, ROOT)?)];
        arguments.extend(options.iter().map(|_| Val::Option(None)));
        return Ok(arguments);
    }
    let members = members(json, parameters.into_iter(), ROOT)?;
    Ok(members.into_iter().map(|(_, value)| value).collect())
}

/// Converts JSON to a component value of type `ty`. `at` names it in errors.
fn from_json(json: &RawValue, ty: &Type, at: &str) -> Result<Val> {
    let value = match ty {
        Type::Bool => Val::Bool(parse(json, at, "true or false")?),
        Type::U32 => Val::U32(parse(json, at, "a number from 0 to 4294967295")?),
        Type::S64 => Val::S64(parse(json, at, "an integer of 64 bits")?),
        Type::String => Val::String(text(json, at)?),
        Type::Option(_) if json.get() == "null" => Val::Option(None),
        Type::Option(option) => Val::Option(Some(Box::new(from_json(json, &option.ty(), at)?))),
        Type::List(list) => Val::List(elements(json, &list.ty(), at)?),
        Type::Record(record) => Val::Record(fields(json, record, at)?),
        other => bail!("{at}: arguments of type {other:?} are not supported"),
    };
    Ok(value)
}

fn members_by_name<'a>(json: &'a RawValue, at: &str) -> Result<BTreeMap<String, &'a RawValue>> {
    parse(json, at, "a JSON object")
}

/// Converts the members of an object to arguments or fields: one for each of `wanted`, and no
/// others.
fn members<'a>(
    json: &RawValue,
    wanted: impl Iterator<Item = (&'a str, Type)>,
    at: &str,
) -> Result<Vec<(String, Val)>> {
    let mut given = members_by_name(json, at)?;
    let mut members = Vec::new();
    let mut names = Vec::new();
    for (wit_name, ty) in wanted {
        let name = snake(wit_name);
        let inner = match at {
            ROOT => name.clone(),
            at => format!("{at}.{name}"),
        };
        let value = match (given.remove(&name), &ty) {
            (Some(json), ty) => from_json(json, ty, &inner)?,
            (None, Type::Option(_)) => Val::Option(None),
            (None, Type::List(list)) if matches!(list.ty(), Type::Tuple(_)) => {
                Val::List(Vec::new())
            }
            (None, _) => bail!("{inner}: missing"),
        };
        members.push((wit_name.to_owned(), value));
        names.push(name);
    }
    if let Some(unknown) = given.keys().next() {
        bail!(
            "{at}: unknown member {unknown:?}; allowed: {}",
            names.join(", ")
        );
    }
    Ok(members)
}

fn fields(json: &RawValue, record: &types::Record, at: &str) -> Result<Vec<(String, Val)>> {
    members(
        json,
        record.fields().map(|field| (field.name, field.ty)),
        at,
    )
}

/// Converts the elements of an array, or the members of an object as pairs.
fn elements(json: &RawValue, ty: &Type, at: &str) -> Result<Vec<Val>> {
    if let Type::Tuple(pair) = ty
        && let [Type::String, value] = pair.types().collect::<Vec<_>>().as_slice()
    {
        let members: Map<String, Value> = parse(json, at, "a JSON object")?;
        let member = |(name, json): (String, Value)| {
            let json = to_raw_value(&json)?;
            let value = from_json(&json, value, &format!("{at}.{name}"))?;
            Ok(Val::Tuple(vec![Val::String(name), value]))
        };
        return members.into_iter().map(member).collect();
    }
    let elements: Vec<&RawValue> = parse(json, at, "a JSON array")?;
    let element = |(index, json)| from_json(json, ty, &format!("{at}[{index}]"));
    elements.into_iter().enumerate().map(element).collect()
}

fn text(json: &RawValue, at: &str) -> Result<String> {
    match json.get().as_bytes()[0] {
        b'{' | b'[' => Ok(json.get().to_owned()),
        _ => parse(json, at, "a string"),
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(json: &'a RawValue, at: &str, expected: &str) -> Result<T> {
    serde_json::from_str(json.get()).with_context(|| {
        let shown: String = json.get().chars().take(60).collect();
        format!("{at}: found {shown}; expected {expected}")
    })
}

/// Converts a component value to JSON.
pub(super) fn to_json(value: &Val) -> Value {
    let inner = |value: &Option<Box<Val>>| value.as_deref().map_or(Value::Null, to_json);
    match value {
        Val::Bool(flag) => json!(flag),
        Val::U16(number) => json!(number),
        Val::U32(number) => json!(number),
        Val::S64(number) => json!(number),
        Val::Float64(number) => Number::from_f64(*number).map_or(Value::Null, Value::from),
        Val::String(text) => json!(text),
        Val::List(values) | Val::Tuple(values) => values.iter().map(to_json).collect(),
        Val::Record(fields) => {
            let field = |(name, value): &(String, Val)| (snake(name), to_json(value));
            Value::Object(fields.iter().map(field).collect())
        }
        Val::Variant(case, None) => json!(snake(case)),
        Val::Enum(name) => json!(name),
        Val::Variant(case, payload) => {
            Value::Object(Map::from_iter([(snake(case), inner(payload))]))
        }
        Val::Option(option) => inner(option),
        Val::Result(Ok(value)) => json!({ "ok": inner(value) }),
        Val::Result(Err(error)) => json!({ "error": inner(error) }),
        // The WIT has no other types.
        other => json!(format!("{other:?}")),
    }
}

fn snake(name: &str) -> String {
    name.replace('-', "_")
}
