//! The two clients, their groups and methods.

use std::{collections::BTreeSet, fmt::Write as _};

use anyhow::{Context, Result};

use crate::bindings::{
    model::{Field, Function, Package, Type},
    names::{method, pascal, screaming, snake},
    python::{
        HEADER, TIMEOUT,
        docs::{Words, capitalized, docstring, field_docs},
        names::{
            argument, argument_type, class, class_of, collect_names, default, named, result_type,
        },
        options::{default_of, meaning, option_name, option_type},
    },
    settings::SETTINGS,
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
         from ._options import Account\n\
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
            let parameters = parameters(package, words, function)?;
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
                .map(|parameter| format!("- `{}`: {}", parameter.name, parameter.docs))
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
                if is_spread(parameter) {
                    let record = named(parameter.ty.required())?;
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
fn parameters(package: &Package, words: &Words, function: &Function) -> Result<Vec<Parameter>> {
    let mut parameters = Vec::new();
    for parameter in &function.parameters {
        if is_spread(parameter) {
            for field in package.record(named(parameter.ty.required())?)? {
                let name = argument(field);
                let own = format!("`{}`: ", name);
                let docs = field_docs(field, words);
                parameters.push(Parameter {
                    docs: docs.strip_prefix(&own).map_or(docs.clone(), capitalized),
                    ty: argument_type(field)?,
                    class: class_of(&field.ty),
                    is_keyword: true,
                    default: default(&field.ty),
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

/// Whether users give the fields of the record instead of it.
pub(super) fn is_spread(parameter: &Field) -> bool {
    matches!(parameter.ty.required(), Type::Named(_))
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
        let name = option_name(setting);
        write!(docs, "\n- `{name}`: {}", meaning(setting, words))?;
        match default_of(setting)? {
            Some(default) => write!(docs, " Default: {default}.")?,
            None => docs.push_str(" Required, unless every call names an account."),
        }
    }
    docs.push_str(
        "\n- `accounts`: further organizations by their names (lower-case letters, digits and \
         hyphens), of which methods take one as `account`. They are added to those of the variable \
         `VOICE_CALLING_ACCOUNTS`.\
         \n- `environ`: taken instead of the process's environment.\
         \n- `max_workers`: how many calls run at once; others wait for their turn. A wait takes \
         one as well.\
         \n- `cache_dir`: where the compiled component is kept, instead of the user's folder for \
         caches. The first client that calls decides for the process.",
    );
    docstring(text, 4, &docs);
    writeln!(text, "\n    def __init__(\n        self,\n        *,")?;
    for setting in &SETTINGS {
        let ty = option_type(setting);
        writeln!(
            text,
            "        {}: {ty} | None = None,",
            option_name(setting)
        )?;
    }
    text.push_str(
        "        accounts: Mapping[str, Account] | None = None,\n        \
         environ: Mapping[str, str] | None = None,\n        \
         max_workers: int = MAX_WORKERS,\n        \
         cache_dir: str | os.PathLike[str] | None = None,\n    ) -> None:\n        \
         options = Account(\n",
    );
    for setting in &SETTINGS {
        let name = option_name(setting);
        writeln!(text, "            {name}={name},")?;
    }
    text.push_str(
        "        )\n        \
         super().__init__(options, accounts, environ, max_workers, cache_dir)\n",
    );
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
