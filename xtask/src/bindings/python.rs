//! The WIT package in Python: the modules of `bindings/python` that follow from it.

use std::{collections::BTreeSet, fmt::Write as _};

use anyhow::{Context, Result, bail};

use crate::bindings::{
    Generated,
    model::{Case, Definition, Field, Function, Package, Shape, Type},
    names::{error_name, method, pascal, screaming, snake, type_name},
    settings::{Kind, SETTINGS, Setting},
};

const FOLDER: &str = "bindings/python/src/voice_calling";

const HEADER: &str = "# Written by `cargo xtask bindings generate` from the WIT. Do not edit.\n\n\
                      from __future__ import annotations\n\n";

/// The widest line of a docstring.
const WIDTH: usize = 100;

/// How the WIT's times are told to users, who write seconds.
const TIMEOUT: &str = "timeout-ms";

/// Payloads in the order in which their fields describe the attributes of all errors.
const PAYLOADS: [&str; 5] = [
    "http-failure",
    "unknown-outcome",
    "transport-failure",
    "invalid-input",
    "configuration-problem",
];

pub fn files(package: &Package) -> Result<Vec<Generated>> {
    let words = Words::new(package)?;
    let files = [
        ("_types.py", types(package, &words)?),
        ("_errors.py", errors(package, &words)?),
        ("_interface.py", interface(package)?),
        ("_client.py", client(package, &words, Flavour::Sync)?),
        ("_aio.py", client(package, &words, Flavour::Async)?),
    ];
    let generated = files.into_iter().map(|(name, text)| Generated {
        path: format!("{FOLDER}/{name}").into(),
        text,
    });
    Ok(generated.collect())
}

// ------------------------------------------------------------------------------------- records

fn types(package: &Package, words: &Words) -> Result<String> {
    let mut text = format!(
        "\"\"\"What goes in and comes out, as the component's WIT describes it.\"\"\"\n\n{HEADER}\
         from dataclasses import dataclass\nfrom typing import Any\n\n\
         from ._json import Json, loads\nfrom ._status import ServiceStatus\n\n"
    );
    let inputs = inputs(package)?;
    let mut public = Vec::new();
    let mut definitions = String::new();
    for definition in &package.types {
        let name = &definition.name;
        if name == "request-error" || PAYLOADS.contains(&name.as_str()) || name == "http-response" {
            continue;
        }
        match &definition.shape {
            Shape::Record(fields) => {
                let is_input = inputs.contains(name.as_str());
                write_record(&mut definitions, definition, fields, is_input, words)?;
            }
            Shape::Variant(cases) => write_status(&mut definitions, definition, cases, words)?,
        }
        if name != "wait-options" {
            public.push(class(name));
        }
    }
    public.sort();
    text.push_str("__all__ = [\n");
    for name in public {
        writeln!(text, "    \"{name}\",")?;
    }
    text.push_str("]\n");
    text.push_str(&definitions);
    Ok(text)
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
    writeln!(text, "class {}:", class(&definition.name))?;
    docstring(text, 4, &words.translated(&definition.docs));
    for field in fields {
        let (name, ty) = if is_input {
            (argument(field), argument_type(field)?)
        } else {
            (attribute(field), attribute_type(&field.ty)?)
        };
        let default = if field.ty.is_option() { " = None" } else { "" };
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

// -------------------------------------------------------------------------------------- errors

fn errors(package: &Package, words: &Words) -> Result<String> {
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
         person.\"\"\"\n",
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
            None => format!("{docs}\n\nIt has `message`."),
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
fn error_attributes(package: &Package) -> Result<Vec<&Field>> {
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

fn error_attribute(field: &Field) -> String {
    match field.name.as_str() {
        "retry-after-ms" => "retry_after".to_owned(),
        name => snake(name),
    }
}

// --------------------------------------------------------------------------- tables for the codec

fn interface(package: &Package) -> Result<String> {
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

fn kind(ty: &Type, list: &str) -> Result<String> {
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
        Type::U8 => bail!("a single byte is not known in Python"),
    })
}

// -------------------------------------------------------------------------------------- clients

#[derive(Clone, Copy, PartialEq)]
enum Flavour {
    Sync,
    Async,
}

fn client(package: &Package, words: &Words, flavour: Flavour) -> Result<String> {
    let is_async = flavour == Flavour::Async;
    let (about, call) = if is_async {
        ("The client for coroutines.", "AsyncCall")
    } else {
        ("The client.", "Call")
    };
    let mut text = format!(
        "\"\"\"{about}\"\"\"\n\n{HEADER}\
         import builtins\nimport os\nfrom collections.abc import Iterable, Mapping\nfrom types import TracebackType\n\n\
         from . import _interface\n\
         from ._caller import MAX_WORKERS, {call}, Client\n\
         from ._errors import RequestError\n\
         from ._json import Json\n\
         from ._settings import Option\n\
         from ._types import (\n"
    );
    let mut used: BTreeSet<String> = BTreeSet::new();
    let mut groups = String::new();
    for name in group_names(package)? {
        write_group(&mut groups, package, words, name, flavour, &mut used)?;
    }
    for name in used {
        writeln!(text, "    {name},")?;
    }
    text.push_str(")\n");
    text.push_str(&groups);
    write_constructor(&mut text, package, words, flavour)?;
    Ok(text)
}

fn group_names(package: &Package) -> Result<Vec<&'static str>> {
    let mut groups = Vec::new();
    for interface in &package.interfaces {
        for function in &interface.functions {
            let group = method(&interface.name, &function.name)?.group;
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
    }
    Ok(groups)
}

fn group_class(group: &str, flavour: Flavour) -> String {
    match flavour {
        Flavour::Sync => pascal(group),
        Flavour::Async => format!("Async{}", pascal(group)),
    }
}

fn write_group(
    text: &mut String,
    package: &Package,
    words: &Words,
    group: &str,
    flavour: Flavour,
    used: &mut BTreeSet<String>,
) -> Result<()> {
    let (call, def, wait) = match flavour {
        Flavour::Sync => ("Call", "def", ""),
        Flavour::Async => ("AsyncCall", "async def", "await "),
    };
    writeln!(text, "\n\nclass {}:", group_class(group, flavour))?;
    let own = package.interfaces.iter().find(|it| it.name == group);
    let own = own.with_context(|| format!("no interface describes the group {group}"))?;
    docstring(text, 4, &words.translated(&own.docs));
    writeln!(text, "\n    __slots__ = (\"_call\",)\n")?;
    writeln!(text, "    def __init__(self, call: {call}) -> None:")?;
    writeln!(text, "        self._call = call")?;
    for interface in &package.interfaces {
        for function in &interface.functions {
            let method = method(&interface.name, &function.name)?;
            if method.group != group {
                continue;
            }
            let parameters = parameters(package, function)?;
            // Some groups have a method `list`.
            let result = result_type(&function.ok, "", "")?.replace("list[", "builtins.list[");
            collect_names(&function.ok, used);
            writeln!(text, "\n    {def} {}(", snake(method.name))?;
            writeln!(text, "        self,")?;
            let mut positional = true;
            for parameter in &parameters {
                if positional && parameter.is_keyword {
                    positional = false;
                    writeln!(text, "        *,")?;
                }
                let Parameter {
                    name, ty, default, ..
                } = parameter;
                let default = default.map_or(String::new(), |value| format!(" = {value}"));
                writeln!(text, "        {name}: {ty}{default},")?;
                used.extend(parameter.class.clone());
            }
            writeln!(text, "    ) -> {result}:")?;
            let mut docs = words.of_function(&function.docs);
            if interface.name != group {
                docs = format!("{docs}\n\n{}", words.translated(&interface.docs));
            }
            let described: Vec<_> = parameters
                .iter()
                .filter(|parameter| !parameter.docs.is_empty())
                .map(|parameter| {
                    format!(
                        "- `{}`: {}",
                        parameter.name,
                        words.translated(&parameter.docs)
                    )
                })
                .collect();
            if !described.is_empty() {
                docs = format!("{docs}\n\n{}", described.join("\n"));
            }
            docstring(text, 8, &docs);
            writeln!(text, "        return {wait}self._call(")?;
            writeln!(
                text,
                "            _interface.{},",
                screaming(&function.name)
            )?;
            for parameter in &function.parameters {
                if is_spread(parameter, function) {
                    let record = named(&parameter.ty)?;
                    let class = class(record);
                    used.insert(class.clone());
                    writeln!(text, "            {class}(")?;
                    for field in package.record(record)? {
                        let name = argument(field);
                        writeln!(text, "                {name}={name},")?;
                    }
                    writeln!(text, "            ),")?;
                } else {
                    writeln!(text, "            {},", argument(parameter))?;
                }
            }
            writeln!(text, "        )")?;
        }
    }
    Ok(())
}

/// A parameter of a method.
struct Parameter {
    name: String,
    ty: String,
    default: Option<&'static str>,
    is_keyword: bool,
    docs: String,
    /// The record that it is made of.
    class: Option<String>,
}

/// The parameters of a method: those of the function, with the fields of a record in its place.
fn parameters(package: &Package, function: &Function) -> Result<Vec<Parameter>> {
    let mut parameters = Vec::new();
    for parameter in &function.parameters {
        if is_spread(parameter, function) {
            for field in package.record(named(&parameter.ty)?)? {
                let default = match field.name.as_str() {
                    "not-found-is-pending" => Some(not_found_is_pending(&function.name)?),
                    _ if field.ty.is_option() => Some("None"),
                    _ => None,
                };
                let name = argument(field);
                let own = format!("`{}`: ", name);
                let docs = in_seconds(&field.name, &field.docs);
                parameters.push(Parameter {
                    docs: docs.strip_prefix(&own).map_or(docs.clone(), capitalized),
                    ty: argument_type(field)?,
                    class: class_of(&field.ty),
                    is_keyword: true,
                    default,
                    name,
                });
            }
        } else {
            parameters.push(Parameter {
                name: argument(parameter),
                ty: argument_type(parameter)?,
                default: None,
                is_keyword: parameter.name == TIMEOUT,
                docs: String::new(),
                class: class_of(&parameter.ty),
            });
        }
    }
    Ok(parameters)
}

/// What the WIT says suits: a task id has just been returned, a docket is known.
fn not_found_is_pending(function: &str) -> Result<&'static str> {
    match function {
        "wait-for-call-details" => Ok("True"),
        "wait-for-docket" => Ok("False"),
        other => bail!("whether 404 means \"not yet\" to {other} is not said in python.rs"),
    }
}

/// Whether users give the fields of the record instead of it: it is alone, or has the options.
fn is_spread(parameter: &Field, function: &Function) -> bool {
    let is_record = matches!(parameter.ty, Type::Named(_));
    is_record && (function.parameters.len() == 1 || parameter.name == "options")
}

fn write_constructor(
    text: &mut String,
    package: &Package,
    words: &Words,
    flavour: Flavour,
) -> Result<()> {
    let (class, call) = match flavour {
        Flavour::Sync => ("VoiceClient", "call"),
        Flavour::Async => ("AsyncVoiceClient", "call_async"),
    };
    writeln!(text, "\n\nclass {class}(Client):")?;
    let same = "What is not given here is taken from the environment, from the variables with the \
                prefix `VOICE_CALLING_`. Settings are checked by the first call: \
                `ConfigurationProblem` names the one at fault.";
    let about = match flavour {
        Flavour::Sync => format!(
            "A client of the voice-calling service, for any number of threads. {same}\n\n\
             Ctrl-C ends a call at once with `KeyboardInterrupt`. No further attempt is sent then, \
             but what was on the way may have been processed: a phone may ring."
        ),
        Flavour::Async => format!(
            "A client of the voice-calling service for coroutines: calls run off the event loop. \
             {same}\n\n\
             A cancelled call sends nothing more. It ends in `CancelledError`, save one that \
             creates something and whose request may have been sent: that ends in \
             `OutcomeUnknown`, also where a timeout cancelled it, or in the answer where that is \
             there already."
        ),
    };
    let mut docs = format!("{about}\n");
    for setting in &SETTINGS {
        write!(
            docs,
            "\n- `{}`: {}",
            option_name(setting),
            words.translated(setting.meaning)
        )?;
        if setting.kind == Kind::Duration {
            docs.push_str(" Unit: seconds.");
        }
        if let Some(default) = default_of(setting)? {
            write!(docs, " Default: {default}.")?;
        }
        if setting.default.is_none() {
            docs.push_str(" Required.");
        }
    }
    docs.push_str(
        "\n- `environ`: taken instead of the process's environment.\
         \n- `max_workers`: how many calls run at once; others wait for their turn. A wait takes \
         one as well.\
         \n- `cache_dir`: where the compiled component is kept, instead of the user's folder for \
         caches. The first client that calls decides for the process.",
    );
    docstring(text, 4, &docs);
    writeln!(text, "\n    def __init__(\n        self,\n        *,")?;
    for setting in &SETTINGS {
        let ty = match setting.kind {
            Kind::Text | Kind::Secret | Kind::Choice(_) => "str",
            Kind::Duration => "float",
            Kind::Count => "int",
            Kind::Flag => "bool",
        };
        writeln!(
            text,
            "        {}: {ty} | None = None,",
            option_name(setting)
        )?;
    }
    writeln!(
        text,
        "        environ: Mapping[str, str] | None = None,\n        \
         max_workers: int = MAX_WORKERS,\n        \
         cache_dir: str | os.PathLike[str] | None = None,\n    ) -> None:"
    )?;
    writeln!(text, "        options: dict[Option, object] = {{")?;
    for setting in &SETTINGS {
        let name = option_name(setting);
        let kind = match setting.kind {
            Kind::Text => "text",
            Kind::Secret => "secret",
            Kind::Choice(_) => "choice",
            Kind::Duration => "seconds",
            Kind::Count => "count",
            Kind::Flag => "flag",
        };
        let variable = setting.variable;
        writeln!(
            text,
            "            Option(\"{name}\", \"{variable}\", \"{kind}\"): {name},"
        )?;
    }
    writeln!(
        text,
        "        }}\n        super().__init__(options, environ, max_workers, cache_dir)"
    )?;
    writeln!(text, "        call = self._caller.{call}")?;
    for group in group_names(package)? {
        let class = group_class(group, flavour);
        writeln!(text, "        self.{group}: {class} = {class}(call)")?;
    }
    text.push_str(match flavour {
        Flavour::Sync => {
            "\n    def __enter__(self) -> VoiceClient:\n        return self\n\n    \
             def __exit__(\n        self,\n        kind: type[BaseException] | None,\n        \
             error: BaseException | None,\n        traceback: TracebackType | None,\n    ) -> None:\n        \
             self.close()\n"
        }
        Flavour::Async => {
            "\n    async def __aenter__(self) -> AsyncVoiceClient:\n        return self\n\n    \
             async def __aexit__(\n        self,\n        kind: type[BaseException] | None,\n        \
             error: BaseException | None,\n        traceback: TracebackType | None,\n    ) -> None:\n        \
             self.close()\n\n    \
             async def aclose(self) -> None:\n        \"\"\"As `close`, for those who expect a coroutine.\"\"\"\n        \
             self.close()\n"
        }
    });
    Ok(())
}

/// What the constructor calls a setting.
fn option_name(setting: &Setting) -> String {
    let name = setting.name();
    snake(match setting.kind {
        Kind::Duration => name.strip_suffix("-ms").unwrap_or(&name),
        _ => &name,
    })
}

fn default_of(setting: &Setting) -> Result<Option<String>> {
    let Some(default) = setting.default else {
        return Ok(None);
    };
    Ok(Some(match setting.kind {
        Kind::Duration => format!("{}", default.parse::<f64>()? / 1000.0),
        Kind::Flag => capitalized(default),
        Kind::Choice(choices) => {
            let others: Vec<_> = choices.iter().filter(|it| **it != default).collect();
            let others: Vec<_> = others.iter().map(|it| format!("`\"{it}\"`")).collect();
            format!("`\"{default}\"`; or {}", others.join(", "))
        }
        _ => default.to_owned(),
    }))
}

// ---------------------------------------------------------------------------------------- names

fn class(name: &str) -> String {
    pascal(type_name(name))
}

/// A parameter, or a field of what users make; times are seconds there.
fn argument(field: &Field) -> String {
    match field.name.as_str() {
        TIMEOUT => "timeout".to_owned(),
        name => snake(name),
    }
}

/// A field of what users get; JSON is text there, beside which there is a property.
fn attribute(field: &Field) -> String {
    let name = snake(&field.name);
    if is_json(&field.ty) && !name.ends_with("_json") {
        format!("{name}_json")
    } else {
        name
    }
}

fn is_json(ty: &Type) -> bool {
    *ty.required() == Type::Json
}

fn named(ty: &Type) -> Result<&str> {
    match ty {
        Type::Named(name) => Ok(name),
        other => bail!("{other:?} has no name"),
    }
}

/// The record that an argument is made of.
fn class_of(ty: &Type) -> Option<String> {
    match ty {
        Type::Named(name) => Some(class(name)),
        Type::Option(inner) | Type::List(inner) => class_of(inner),
        _ => None,
    }
}

fn collect_names(ty: &Type, names: &mut BTreeSet<String>) {
    match ty {
        Type::Named(name) => drop(names.insert(class(name))),
        Type::Option(inner) | Type::List(inner) | Type::Result(inner, _) => {
            collect_names(inner, names);
        }
        _ => {}
    }
}

fn argument_type(field: &Field) -> Result<String> {
    Ok(match (&field.ty, field.name.as_str()) {
        (Type::U32, TIMEOUT) => "float".to_owned(),
        (Type::List(element), _) if **element == Type::U8 => {
            "bytes | bytearray | memoryview | str".to_owned()
        }
        (Type::List(element), _) => format!("Iterable[{}]", value_type(element, "Json")?),
        (ty, _) => value_type(ty, "Json")?,
    })
}

fn attribute_type(ty: &Type) -> Result<String> {
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
        Type::Result(..) => bail!("a result in a record is not known in Python"),
    })
}

fn result_type(ty: &Type, types: &str, errors: &str) -> Result<String> {
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

// ----------------------------------------------------------------------------------------- docs

/// What the WIT's names are in Python, for its documentation.
struct Words {
    words: Vec<(String, String)>,
}

impl Words {
    fn new(package: &Package) -> Result<Self> {
        let mut words: Vec<(String, String)> = Vec::new();
        let mut add = |wit: &str, python: String| words.push((wit.to_owned(), python));
        for (wit, python) in [("none", "None"), ("true", "True"), ("false", "False")] {
            add(wit, python.to_owned());
        }
        add("request-error", "RequestError".to_owned());
        add("options.timeout-ms", "timeout".to_owned());
        add(TIMEOUT, "timeout".to_owned());
        add("bulk", "dockets.create_many".to_owned());
        for interface in &package.interfaces {
            for function in &interface.functions {
                let method = method(&interface.name, &function.name)?;
                let python = format!("{}.{}", method.group, snake(method.name));
                add(
                    &format!("{}.{}", interface.name, function.name),
                    python.clone(),
                );
                add(&function.name, python);
                for parameter in &function.parameters {
                    add(&parameter.name, argument(parameter));
                }
            }
        }
        for case in package.variant("request-error")? {
            add(&case.name, pascal(error_name(&case.name)));
        }
        for setting in &SETTINGS {
            let name = option_name(setting);
            if let Kind::Choice(values) = setting.kind {
                for value in values {
                    let wit = format!("{}={value}", setting.variable);
                    add(&wit, format!("{name}=\"{value}\""));
                }
            }
            add(setting.variable, name);
        }
        for definition in &package.types {
            // A field of the same name is meant more often: `docket`.
            if definition.name.contains('-') {
                add(&definition.name, class(&definition.name));
            }
        }
        for definition in &package.types {
            match &definition.shape {
                Shape::Record(fields) => {
                    for field in fields.iter().filter(|field| field.name.contains('-')) {
                        add(&field.name, error_attribute(field));
                    }
                }
                Shape::Variant(cases) => {
                    for case in cases.iter().filter(|case| case.payload.is_none()) {
                        add(&case.name, screaming(&case.name));
                    }
                }
            }
        }
        Ok(Self { words })
    }

    /// The text with the names that users see, where the WIT has its own between backticks.
    fn translated(&self, docs: &str) -> String {
        let parts = docs.split('`').enumerate().map(|(index, part)| {
            let is_name = index % 2 == 1;
            match is_name.then(|| self.word(part)).flatten() {
                Some(python) => python,
                None => part.to_owned(),
            }
        });
        parts.collect::<Vec<_>>().join("`")
    }

    /// A name, or a path that begins with one: `call-context.name`.
    fn word(&self, name: &str) -> Option<String> {
        let find = |name| self.words.iter().find(|(wit, _)| wit == name);
        let whole = find(name).map(|(_, python)| python.clone());
        whole.or_else(|| {
            let (first, rest) = name.split_once('.')?;
            Some(format!("{}.{rest}", find(first)?.1))
        })
    }

    /// The same of a function, whose times users give in seconds.
    fn of_function(&self, docs: &str) -> String {
        let lines = docs.lines().map(in_seconds_line);
        self.translated(&lines.collect::<Vec<_>>().join("\n"))
    }
}

fn in_seconds_line(line: &str) -> String {
    if line.starts_with("`timeout-ms`:") {
        line.replace("1 or more", "seconds, 0.001 or more")
    } else {
        line.to_owned()
    }
}

/// What is told of a time that users give or get in seconds.
fn in_seconds(field: &str, docs: &str) -> String {
    if !["timeout-ms", "retry_after"].contains(&field) {
        return docs.to_owned();
    }
    let (before, after) = docs.rsplit_once("Unit:").unwrap_or((docs, ""));
    let after = after.replacen("milliseconds; 1", "seconds; 0.001", 1);
    let after = after.replacen("milliseconds", "seconds", 1);
    format!("{before}Unit:{after}")
}

fn field_docs(field: &Field, words: &Words) -> String {
    words.translated(&in_seconds(&field.name, &field.docs))
}

fn capitalized(text: impl AsRef<str>) -> String {
    let mut letters = text.as_ref().chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Writes `docs` as a docstring, indented by so many spaces.
fn docstring(text: &mut String, indent: usize, docs: &str) {
    let margin = " ".repeat(indent);
    let lines = wrapped(docs, WIDTH - indent - 3);
    text.push_str(&margin);
    text.push_str("\"\"\"");
    text.push_str(&lines[0]);
    for line in &lines[1..] {
        text.push('\n');
        if !line.is_empty() {
            text.push_str(&margin);
            text.push_str(line);
        }
    }
    let last = lines.last().map_or(0, String::len);
    if lines.len() > 1 || last + 6 + indent > WIDTH {
        text.push('\n');
        text.push_str(&margin);
    }
    text.push_str("\"\"\"\n");
}

/// The text in lines of so many letters, with its paragraphs and lists as they are.
fn wrapped(docs: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    let mut hanging = "";
    for line in docs.trim().lines() {
        let line = line.trim();
        if line.is_empty() {
            lines.push(String::new());
            lines.push(String::new());
            hanging = "";
            continue;
        }
        if line.starts_with("- ") {
            if lines.last().is_some_and(|last| !last.is_empty()) {
                lines.push(String::new());
            }
            hanging = "  ";
        }
        for word in line.split_whitespace() {
            let current = lines.last_mut().expect("there is a line");
            if current.is_empty() {
                current.push_str(word);
            } else if current.len() + 1 + word.len() <= width {
                current.push(' ');
                current.push_str(word);
            } else {
                lines.push(format!("{hanging}{word}"));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn words() -> Words {
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
        Words::new(&Package::read(&wit).unwrap()).unwrap()
    }

    #[test]
    fn documentation_has_the_names_that_users_see() {
        let cases = [
            (
                "fails with `permanent-outcome-unknown`",
                "fails with `OutcomeUnknown`",
            ),
            ("as `calls.make-call` is", "as `calls.make` is"),
            (
                "`CREATE_RETRY=not-sent` turns",
                "`create_retry=\"not-sent\"` turns",
            ),
            (
                "at most `MAX_IN_FLIGHT`, within `DEADLINE_MS`",
                "at most `max_in_flight`, within `deadline`",
            ),
            (
                "`docket_id`: a UUID, `none` where",
                "`docket_id`: a UUID, `None` where",
            ),
            (
                "no `agent-id` (see `raw-json`)",
                "no `agent_id` (see `raw_json`)",
            ),
        ];
        for (wit, python) in cases {
            assert_eq!(words().translated(wit), python);
        }
    }

    #[test]
    fn times_that_users_give_are_told_in_seconds() {
        let docs = in_seconds(TIMEOUT, "At most. Unit: milliseconds; 1 or more.");
        assert_eq!(docs, "At most. Unit: seconds; 0.001 or more.");
        let docs = in_seconds("retry_after", "How long. Unit:\nmilliseconds.");
        assert_eq!(docs, "How long. Unit:\nseconds.");
        assert_eq!(
            in_seconds("waited-ms", "Unit: milliseconds."),
            "Unit: milliseconds."
        );
        let docs = words().of_function("`timeout-ms`: how long; 1 or more.");
        assert_eq!(docs, "`timeout`: how long; seconds, 0.001 or more.");
    }

    #[test]
    fn long_lines_are_broken_and_lists_stay_lists() {
        let lines = wrapped("one two three\n\n- four five six\n- seven", 9);
        assert_eq!(
            lines,
            [
                "one two", "three", "", "- four", "  five", "  six", "- seven"
            ]
        );
    }

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
