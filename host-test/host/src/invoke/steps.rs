//! Functions by name on a client. Its operations are values of types that the host knows, so that
//! JSON goes through these; the names in it are those of the component's own types.

use super::functions::exported_functions;
use super::{Answer, values};
use crate::calls::batch::CREATE_DOCKETS_V2;
use crate::client::Client;
use crate::client::bindings::Call;
use crate::load::plugin::types::CallOptions;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use wasmtime::component::{Type, Val};

const PARSE: &str = "webhooks.parse-docket-completed";

/// Calls a function that is known.
pub(super) async fn invoke(
    client: &Client,
    function: &str,
    arguments: &RawValue,
) -> Result<Answer> {
    let functions = exported_functions()?;
    let known = functions.into_iter().find(|known| known.name == function);
    let names: Vec<_> = known
        .into_iter()
        .flat_map(|known| known.parameters)
        .collect();
    let names = names.iter().map(|(name, _)| name.as_str());
    let (_, case) = function.split_once('.').unwrap_or_default();
    if function == PARSE {
        return parse(client, names, arguments).await;
    }

    // The arguments by their names, as the component declares them.
    let step = client.guest().function("step")?;
    let events = step.params().next().map(|(_, events)| events);
    let begin = part(events.as_ref(), &[Part::Element, Part::Case("begin")])?;
    let payload = part(Some(&begin), &[Part::Field("call"), Part::Case(case)])?;
    let options = part(Some(&begin), &[Part::Field("options")])?;
    let mut types = match &payload {
        Type::Tuple(several) => several.types().collect(),
        one => vec![one.clone()],
    };
    types.push(options);
    let mut values = values::arguments(arguments, names.zip(types).collect())?;
    let options = values.pop().context("options")?;
    let options: Option<CallOptions> = serde_json::from_value(values::to_json(&options))?;
    let given = match values.as_slice() {
        [one] => values::to_json(one),
        several => several.iter().map(values::to_json).collect(),
    };
    let case_name = camel(case);
    let call: Call = serde_json::from_value(object(&case_name, given))?;

    // The answer, with the names of the component.
    let stepped = step.results().next();
    let effects = [Part::Field("effects"), Part::Element];
    let effect = part(stepped.as_ref(), &effects)?;
    if let (CREATE_DOCKETS_V2, Call::CreateDocketsV2((requests, timeout_ms))) = (function, &call) {
        let created = client.create_dockets_v2(requests, *timeout_ms, options);
        let created = created.await?;
        let item = part(Some(&effect), &[Part::Case("item"), Part::Field("created")])?;
        return Ok(match created {
            Ok(created) => Ok(created
                .iter()
                .map(|created| renamed(&item, created))
                .collect::<Result<_>>()?),
            Err(error) => Err(renamed_error(&item, &error)?),
        });
    }
    let outcome = part(Some(&effect), &[Part::Case("done"), Part::Field("outcome")])?;
    match client.call(function.to_owned(), call, options).await? {
        Ok(answer) => {
            let answer = serde_json::to_value(answer)?;
            let kind = part(Some(&outcome), &[Part::Ok, Part::Case(case)])?;
            match answer {
                Value::Object(mut answer) if answer.len() == 1 => {
                    let answer = answer.remove(&case_name);
                    let answer =
                        answer.context("the component returned the result of another function")?;
                    Ok(Ok(renamed(&kind, &answer)?))
                }
                _ => bail!("the component returned the result of another function"),
            }
        }
        Err(error) => Ok(Err(renamed_error(&outcome, &error)?)),
    }
}

async fn parse<'a>(
    client: &Client,
    names: impl Iterator<Item = &'a str>,
    arguments: &RawValue,
) -> Result<Answer> {
    let function = client.guest().function("parse-docket-completed")?;
    let types = function.params().map(|(_, ty)| ty);
    let arguments = values::arguments(arguments, names.zip(types).collect())?;
    let [Val::String(body)] = arguments.as_slice() else {
        bail!("{PARSE} takes a string");
    };
    let returned = function.results().next();
    Ok(match client.parse_docket_completed(body).await? {
        Ok(parsed) => Ok(renamed(&part(returned.as_ref(), &[Part::Ok])?, &parsed)?),
        Err(error) => Err(renamed_error(&part(returned.as_ref(), &[])?, &error)?),
    })
}

/// A part of a type.
enum Part<'a> {
    /// Of a list.
    Element,
    /// Of a record.
    Field(&'a str),
    /// Of a variant: what it carries.
    Case(&'a str),
    /// Of a result.
    Ok,
    /// Of a result.
    Err,
}

/// A part of a part of a type, and so on.
fn part(whole: Option<&Type>, path: &[Part]) -> Result<Type> {
    let mut found = whole.cloned().context("a function without a type")?;
    for part in path {
        let inner = match (part, &found) {
            (Part::Element, Type::List(list)) => Some(list.ty()),
            (Part::Field(name), Type::Record(record)) => {
                let mut fields = record.fields();
                fields
                    .find(|field| field.name == *name)
                    .map(|field| field.ty)
            }
            (Part::Case(name), Type::Variant(variant)) => {
                let mut cases = variant.cases();
                cases
                    .find(|case| case.name == *name)
                    .and_then(|case| case.ty)
            }
            (Part::Ok, Type::Result(result)) => result.ok(),
            (Part::Err, Type::Result(result)) => result.err(),
            _ => None,
        };
        found = inner.context("the component's types differ from those of this host")?;
    }
    Ok(found)
}

/// The error of a result.
fn renamed_error(result: &Type, error: &impl Serialize) -> Result<Value> {
    renamed(&part(Some(result), &[Part::Err])?, error)
}

/// A value as JSON, with cases called as the component calls them.
fn renamed(ty: &Type, value: &impl Serialize) -> Result<Value> {
    Ok(rename(ty, serde_json::to_value(value)?))
}

fn rename(ty: &Type, json: Value) -> Value {
    match (ty, json) {
        (Type::Option(_), Value::Null) => Value::Null,
        (Type::Option(option), json) => rename(&option.ty(), json),
        (Type::List(list), Value::Array(elements)) => {
            let ty = list.ty();
            elements.into_iter().map(|it| rename(&ty, it)).collect()
        }
        (Type::Tuple(tuple), Value::Array(elements)) => {
            let elements = tuple.types().zip(elements);
            elements.map(|(ty, it)| rename(&ty, it)).collect()
        }
        (Type::Record(record), Value::Object(mut members)) => {
            let fields = record.fields().filter_map(|field| {
                let name = values::snake(field.name);
                let value = rename(&field.ty, members.remove(&name)?);
                Some((name, value))
            });
            Value::Object(fields.collect())
        }
        (Type::Result(result), Value::Object(mut members)) => {
            let inner = |ty: Option<Type>, json| ty.map_or(Value::Null, |ty| rename(&ty, json));
            match (members.remove("Ok"), members.remove("Err")) {
                (Some(value), _) => json!({ "ok": inner(result.ok(), value) }),
                (_, Some(error)) => json!({ "error": inner(result.err(), error) }),
                (None, None) => Value::Null,
            }
        }
        (Type::Variant(variant), json) => {
            let cases = || variant.cases();
            match json {
                Value::String(name) => {
                    let case = cases().find(|case| camel(case.name) == name);
                    case.map_or(Value::Null, |case| values::snake(case.name).into())
                }
                Value::Object(members) => {
                    let mut renamed = members.into_iter().filter_map(|(name, value)| {
                        let case = cases().find(|case| camel(case.name) == name)?;
                        Some(object(&values::snake(case.name), rename(&case.ty?, value)))
                    });
                    renamed.next().unwrap_or_default()
                }
                other => other,
            }
        }
        (Type::Enum(names), Value::String(name)) => {
            let name = names.names().find(|known| camel(known) == name);
            name.map_or(Value::Null, |name| values::snake(name).into())
        }
        (_, json) => json,
    }
}

fn object(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}

/// The name of a case as the bindings call it.
fn camel(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}
