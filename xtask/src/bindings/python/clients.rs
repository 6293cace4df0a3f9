//! The two clients, their groups and methods.

use std::{collections::BTreeSet, fmt::Write as _};

use anyhow::{Context, Result, bail};

use crate::bindings::{
    model::{Field, Function, Package, Type},
    names::{method, pascal, screaming, snake},
    python::{
        HEADER, TIMEOUT,
        docs::{Words, capitalized, docstring, in_seconds},
        names::{argument, argument_type, class, class_of, collect_names, named, result_type},
    },
    settings::{Kind, SETTINGS, Setting},
};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Flavour {
    Sync,
    Async,
}

pub(super) fn client(package: &Package, words: &Words, flavour: Flavour) -> Result<String> {
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
            if takes_bytes(function) {
                docs.push_str(
                    " More than 1 MiB is `InvalidInput`; bodies are read one after another.",
                );
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

/// Whether it reads what strangers have sent.
fn takes_bytes(function: &Function) -> bool {
    let is_bytes = |ty: &Type| matches!(ty, Type::List(element) if **element == Type::U8);
    function.parameters.iter().any(|it| is_bytes(&it.ty))
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
pub(super) fn is_spread(parameter: &Field, function: &Function) -> bool {
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
             there already. Then leave: since Python 3.11, further creates of a cancelled task end \
             in `CancelledError` and are not sent."
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
pub(super) fn option_name(setting: &Setting) -> String {
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
