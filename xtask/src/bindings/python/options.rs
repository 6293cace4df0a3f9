//! The settings of the component as options, of the clients and of accounts.

use std::fmt::Write as _;

use anyhow::Result;

use crate::bindings::{
    python::{
        docs::{HEADER, Words, capitalized, docstring},
        names::option_name,
    },
    settings::{Kind, SETTINGS, Setting},
};

pub(super) fn options(words: &Words) -> Result<String> {
    let mut text = format!(
        "\"\"\"The settings of the component as options, of the clients and of accounts.\"\"\"\n\n{HEADER}\
         from dataclasses import dataclass, field\nfrom typing import NamedTuple\n\n\n\
         class Option(NamedTuple):\n    \
         \"\"\"An option, and the variable that it stands for.\"\"\"\n\n    \
         name: str\n    variable: str\n    kind: str\n    \
         \"\"\"`text`, `secret`, `seconds`, `count`, `flag` or `choice`.\"\"\"\n    \
         default: str | None\n    \"\"\"As documented; `None` where it is required.\"\"\"\n\n\n\
         OPTIONS = (\n"
    );
    for setting in &SETTINGS {
        let kind = match setting.kind {
            Kind::Text => "text",
            Kind::Secret => "secret",
            Kind::Choice(_) => "choice",
            Kind::Duration => "seconds",
            Kind::Count => "count",
            Kind::Flag => "flag",
        };
        let name = option_name(setting);
        let default = default_of(setting)?.map_or("None".to_owned(), |it| format!("\"{it}\""));
        writeln!(
            text,
            "    Option(\"{name}\", \"{}\", \"{kind}\", {default}),",
            setting.variable
        )?;
    }
    text.push_str(")\n\n\n@dataclass(frozen=True, slots=True, kw_only=True)\nclass Account:\n");
    docstring(
        &mut text,
        4,
        "An organization that a client serves beside its own, or one of several.\n\n\
         What is not given here is taken from the environment: from the variables with the prefix \
         `VOICE_CALLING_` and the account's name, such as `VOICE_CALLING_ALPHA_API_TOKEN`; and what \
         is not given there is as for the client itself. Only the token is never another's.",
    );
    for setting in &SETTINGS {
        let default = match setting.kind {
            Kind::Secret => "field(default=None, repr=False)",
            _ => "None",
        };
        let name = option_name(setting);
        writeln!(
            text,
            "\n    {name}: {} | None = {default}",
            option_type(setting)
        )?;
        docstring(&mut text, 4, &meaning(setting, words));
    }
    Ok(text)
}

fn option_type(setting: &Setting) -> &'static str {
    match setting.kind {
        Kind::Text | Kind::Secret | Kind::Choice(_) => "str",
        Kind::Duration => "float",
        Kind::Count => "int",
        Kind::Flag => "bool",
    }
}

fn meaning(setting: &Setting, words: &Words) -> String {
    let unit = match setting.kind {
        Kind::Duration => " Unit: seconds.",
        _ => "",
    };
    format!("{}{unit}", words.translated(setting.meaning))
}

fn default_of(setting: &Setting) -> Result<Option<String>> {
    let Some(default) = setting.default else {
        return Ok(None);
    };
    Ok(Some(match setting.kind {
        Kind::Duration => format!("{}", default.parse::<f64>()? / 1000.0),
        Kind::Flag => capitalized(default),
        _ => default.to_owned(),
    }))
}
