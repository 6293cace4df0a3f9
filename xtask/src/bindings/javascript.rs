//! The WIT package in JavaScript: tables for the code that runs, classes of errors, and types with
//! the WIT's documentation for TypeScript. The client itself is written by hand.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::bindings::{
    Generated,
    model::{Case, Definition, Field, Function, Interface, Package, Shape, Type},
    names::{self, camel, pascal, screaming},
    settings::{Kind, SETTINGS, Setting},
};

const FOLDER: &str = "bindings/javascript";

const NOTE: &str = "// Written from wit/ by `cargo xtask bindings generate`. Do not edit.\n";

/// Parameters that users give among the options of a call, the last argument.
const FROM_OPTIONS: [&str; 3] = ["wait", "timeout-ms", "options"];

pub fn files(package: &Package) -> Result<Vec<Generated>> {
    let names = Names { package };
    let file = |name: &str, text: String| Generated {
        path: format!("{FOLDER}/{name}").into(),
        text: format!("{NOTE}{text}"),
    };
    Ok(vec![
        file("generated/wit.js", tables(package)?),
        file("generated/settings.js", settings()),
        file("generated/errors.js", error_classes(&names)?),
        file("types/wit.d.ts", declarations(&names)?),
    ])
}

// ------------------------------------------------------------------------------------- tables

/// Types and functions as data, from which arguments are checked and memory is read.
fn tables(package: &Package) -> Result<String> {
    let mut text = String::from(
        "\n/** The named types: fields of records and cases of variants, in the WIT's order. */\n\
         export const types = {\n",
    );
    for definition in &package.types {
        let (shape, members) = match &definition.shape {
            Shape::Record(fields) => ("record", fields.iter().map(field_entry).collect::<Vec<_>>()),
            Shape::Variant(cases) => ("variant", cases.iter().map(case_entry).collect()),
        };
        text += &format!(
            "  '{}': {{\n    {shape}: {{\n{}    }},\n  }},\n",
            definition.name,
            members.concat()
        );
    }
    text += "};\n\n/** The functions, by what the client without I/O calls them. */\nexport const functions = {\n";
    for (interface, function) in functions(package) {
        text += &function_entry(interface, function)?;
    }
    Ok(text + "};\n")
}

fn field_entry(field: &Field) -> String {
    format!("      '{}': {},\n", field.name, type_entry(&field.ty))
}

fn case_entry(case: &Case) -> String {
    let payload = case.payload.as_ref().map_or("null".into(), type_entry);
    format!("      '{}': {payload},\n", case.name)
}

fn function_entry(interface: &Interface, function: &Function) -> Result<String> {
    let method = names::method(&interface.name, &function.name)?;
    let parameters = function.parameters.iter();
    let parameters: Vec<_> = parameters
        .map(|it| match is_body(it) {
            true => format!("'{}': 'body'", it.name),
            false => format!("'{}': {}", it.name, type_entry(&it.ty)),
        })
        .collect();
    Ok(format!(
        "  {}: {{\n    wit: '{}.{}',\n    method: '{}.{}',\n    parameters: {{ {} }},\n    \
         ok: {},\n    creates: {},\n  }},\n",
        pascal(&function.name),
        interface.name,
        function.name,
        method.group,
        method.name,
        parameters.join(", "),
        type_entry(&function.ok),
        function.is_creating(),
    ))
}

fn type_entry(ty: &Type) -> String {
    let name = match ty {
        Type::Bool => "bool",
        Type::U8 => "u8",
        Type::U16 => "u16",
        Type::U32 => "u32",
        Type::U64 => "u64",
        Type::S64 => "s64",
        Type::F64 => "f64",
        Type::String => "string",
        Type::Json => "json",
        Type::Named(name) => name,
        Type::Option(inner) => return format!("{{ option: {} }}", type_entry(inner)),
        Type::List(element) => return format!("{{ list: {} }}", type_entry(element)),
        Type::Tuple(parts) => {
            let parts: Vec<_> = parts.iter().map(type_entry).collect();
            return format!("{{ tuple: [{}] }}", parts.join(", "));
        }
        Type::Result(ok, error) => {
            return format!("{{ result: [{}, {}] }}", type_entry(ok), type_entry(error));
        }
    };
    format!("'{name}'")
}

fn from_options(function: &Function) -> impl Iterator<Item = &Field> {
    let parameters = function.parameters.iter();
    parameters.filter(|it| FROM_OPTIONS.contains(&&*it.name))
}

fn positional(function: &Function) -> impl Iterator<Item = &Field> {
    let parameters = function.parameters.iter();
    parameters.filter(|it| !FROM_OPTIONS.contains(&&*it.name))
}

/// The body of a delivery, which users may have as bytes.
fn is_body(parameter: &Field) -> bool {
    parameter.name == "body" && parameter.ty == Type::String
}

fn functions(package: &Package) -> impl Iterator<Item = (&Interface, &Function)> {
    let interfaces = package.interfaces.iter();
    interfaces.flat_map(|interface| interface.functions.iter().map(move |it| (interface, it)))
}

fn settings() -> String {
    let entry = |setting: &Setting| {
        let (kind, words) = match setting.kind {
            Kind::Text => ("text", ""),
            Kind::Secret => ("secret", ""),
            Kind::Duration | Kind::Count => ("integer", ""),
            Kind::Flag => ("flag", ""),
            Kind::Choice(words) => ("choice", &*format!(", words: {}", quoted(words))),
        };
        format!(
            "  {}: {{ variable: '{}', kind: '{kind}'{words} }},\n",
            camel(&setting.name()),
            setting.variable
        )
    };
    format!(
        "\n/** The options of the client that are settings, whose variables have a prefix. */\n\
         export const settings = {{\n{}}};\n",
        SETTINGS.iter().map(entry).collect::<String>()
    )
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    format!("[{}]", words.join(", "))
}

// ------------------------------------------------------------------------------------ classes

fn error_classes(names: &Names) -> Result<String> {
    let mut text = String::from(
        "import { NoAnswerError, RequestError, ServiceError, named } from '../src/request_error.js';\n",
    );
    let mut entries = String::new();
    for case in names.package.variant("request-error")? {
        let class = error_class(&case.name);
        text += &format!(
            "\n{}export class {class} extends {} {{}}\n\n\
             named({class}, '{class}', {{ kind: '{}' }});\n",
            jsdoc(&names.translated(&case.docs, None), ""),
            pascal(names::error_base(&case.name)),
            case.name,
        );
        entries += &format!("  '{}': {class},\n", case.name);
    }
    Ok(format!(
        "{text}\n/** The class of each case of `request-error`. */\n\
         export const errors = {{\n{entries}}};\n"
    ))
}

// -------------------------------------------------------------------------------------- types

fn declarations(names: &Names) -> Result<String> {
    let package = names.package;
    let taken = reachable(
        package,
        functions(package)
            .flat_map(|(_, function)| function.parameters.iter().map(|parameter| &parameter.ty)),
    )?;
    let kinds = package.variant("request-error")?.iter();
    let kinds = kinds.map(|case| format!("'{}'", case.name));
    let mut text = format!(
        "import {{\n  Batch,\n  BatchOptions,\n  CallOptions,\n  Integer,\n  JsonInput,\n  JsonValue,\n  \
         NoAnswerError,\n  RequestError,\n  ServiceError,\n  WaitOptions,\n}} from './base.js';\n\n\
         /** The settings. */\nexport interface Settings {{\n{}}}\n\n\
         /** The cases of `request-error` in the WIT. */\nexport type RequestErrorKind = {};\n",
        setting_options(),
        union(kinds),
    );
    for definition in &package.types {
        text += &match &definition.shape {
            _ if ["failure", "call-options", "wait-options"].contains(&&*definition.name) => {
                continue;
            }
            Shape::Record(fields) => {
                let is_taken = taken.contains(definition.name.as_str());
                interface_type(names, definition, fields, is_taken)
            }
            Shape::Variant(_) if definition.name == "request-error" => error_types(names)?,
            Shape::Variant(cases) => variant_type(names, definition, cases),
        };
    }
    for group in names.groups()? {
        text += &group_type(names, &group)?;
    }
    Ok(text)
}

/// The names of all types that these are made of.
fn reachable<'a>(
    package: &'a Package,
    types: impl Iterator<Item = &'a Type>,
) -> Result<BTreeSet<&'a str>> {
    let mut waiting: Vec<_> = types.collect();
    let mut found = BTreeSet::new();
    while let Some(ty) = waiting.pop() {
        match ty {
            Type::Option(inner) | Type::List(inner) => waiting.push(inner),
            Type::Tuple(parts) => waiting.extend(parts),
            Type::Result(ok, error) => waiting.extend([&**ok, &**error]),
            Type::Named(name) if found.insert(name.as_str()) => {
                match &package.definition(name)?.shape {
                    Shape::Record(fields) => waiting.extend(fields.iter().map(|it| &it.ty)),
                    Shape::Variant(cases) => {
                        waiting.extend(cases.iter().filter_map(|it| it.payload.as_ref()));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn setting_options() -> String {
    let option = |setting: &Setting| {
        let ty = match setting.kind {
            Kind::Text | Kind::Secret => "string".to_owned(),
            Kind::Duration | Kind::Count => "number".to_owned(),
            Kind::Flag => "boolean".to_owned(),
            Kind::Choice(words) => union(words.iter().map(|word| format!("'{word}'"))),
        };
        let unit = match setting.kind {
            Kind::Duration => " Unit: milliseconds.",
            _ => "",
        };
        let default = match setting.default {
            Some(default) => format!(" Default: `{default}`."),
            None => " Required.".to_owned(),
        };
        let docs = format!(
            "{}{unit}{default} Variable: `VOICE_CALLING_{}`.",
            setting.meaning, setting.variable
        );
        let name = camel(&setting.name());
        format!(
            "{}  readonly {name}?: {ty} | undefined;\n",
            jsdoc(&docs, "  ")
        )
    };
    SETTINGS.iter().map(option).collect()
}

fn interface_type(
    names: &Names,
    definition: &Definition,
    fields: &[Field],
    is_taken: bool,
) -> String {
    let members: String = fields
        .iter()
        .map(|field| member(names, field, is_taken))
        .collect();
    format!(
        "\n{}export interface {} {{\n{members}}}\n",
        jsdoc(&names.translated(&definition.docs, None), ""),
        class(&definition.name),
    )
}

fn member(names: &Names, field: &Field, is_taken: bool) -> String {
    let docs = jsdoc(&names.translated(&field.docs, None), "  ");
    let is_optional = field.ty.is_option() || is_names_and_values(&field.ty);
    let mark = if is_optional { "?" } else { "" };
    let name = camel(&field.name);
    if is_taken {
        let none = if is_optional {
            " | null | undefined"
        } else {
            ""
        };
        let ty = taken_type(field.ty.required());
        return format!("{docs}  readonly {name}{mark}: {ty}{none};\n");
    }
    let ty = given_type(&field.name, field.ty.required());
    let own = format!("{docs}  readonly {name}{mark}: {ty};\n");
    if field.name != "raw-json" {
        return own;
    }
    let docs = jsdoc(
        "The same, parsed when it is read; `JSON.stringify` leaves it out. Numbers beyond 2^53 lose \
         digits here.",
        "  ",
    );
    format!("{own}{docs}  readonly raw{mark}: JsonValue;\n")
}

/// What users give as an object, which may be left out where it is empty.
fn is_names_and_values(ty: &Type) -> bool {
    matches!(ty, Type::List(element) if matches!(**element, Type::Tuple(_)))
}

/// What users may give.
fn taken_type(ty: &Type) -> String {
    match ty {
        Type::Bool => "boolean".into(),
        Type::U8 | Type::U16 | Type::U32 | Type::F64 => "number".into(),
        Type::U64 | Type::S64 => "Integer | string".into(),
        Type::String => "string".into(),
        Type::Json => "JsonInput".into(),
        Type::Named(name) => class(name),
        Type::Option(inner) => taken_type(inner),
        _ if is_names_and_values(ty) => "{ readonly [name: string]: string }".into(),
        Type::List(element) => format!("readonly {}[]", taken_type(element)),
        Type::Tuple(_) | Type::Result(..) => "never".into(),
    }
}

/// What users get.
fn given_type(name: &str, ty: &Type) -> String {
    match ty {
        Type::Bool => "boolean".into(),
        Type::U8 | Type::U16 | Type::U32 | Type::F64 => "number".into(),
        Type::S64 | Type::U64 => "Integer".into(),
        Type::String => "string".into(),
        Type::Json if name == "raw-json" => "string".into(),
        Type::Json => "JsonValue".into(),
        Type::Named(name) => class(name),
        Type::Option(inner) => given_type(name, inner),
        Type::List(element) => format!("readonly {}[]", given_type(name, element)),
        Type::Tuple(_) => "never".into(),
        Type::Result(ok, _) => format!("Batch<{}>", given_type(name, ok)),
    }
}

/// A status, which is text: the values that are known, and any other. Or one of several objects,
/// distinguished by their `kind`.
fn variant_type(names: &Names, definition: &Definition, cases: &[Case]) -> String {
    let is_status = |case: &Case| matches!(case.payload, None | Some(Type::String));
    let docs = jsdoc(&names.translated(&definition.docs, None), "");
    let name = class(&definition.name);
    if cases.iter().all(is_status) {
        let values = cases.iter().map(|case| match case.payload {
            None => format!("'{}'", screaming(&case.name)),
            Some(_) => "(string & {})".to_owned(),
        });
        return format!("\n{docs}export type {name} = {};\n", union(values));
    }
    let kinds = cases.iter().map(|case| {
        let docs = jsdoc(&names.translated(&case.docs, None), "  ");
        let value = case.payload.as_ref().map(|payload| {
            let mark = if payload.is_option() { "?" } else { "" };
            let ty = given_type("", payload.required());
            format!("; readonly value{mark}: {ty}")
        });
        let value = value.unwrap_or_default();
        format!("\n{docs}  | {{ readonly kind: '{}'{value} }}", case.name)
    });
    let kinds: String = kinds.collect();
    format!("\n{docs}export type {name} ={kinds};\n")
}

fn error_types(names: &Names) -> Result<String> {
    let mut text = String::new();
    for case in names.package.variant("request-error")? {
        let has_problem = ["permanent-configuration", "permanent-invalid-input"];
        let problem = match has_problem.contains(&&*case.name) {
            true => "  readonly problem: Problem;\n",
            false => "",
        };
        text += &format!(
            "\n{}export declare class {} extends {} {{\n  readonly kind: '{}';\n{problem}}}\n",
            jsdoc(&names.translated(&case.docs, None), ""),
            error_class(&case.name),
            pascal(names::error_base(&case.name)),
            case.name,
        );
    }
    Ok(text)
}

fn group_type(names: &Names, group: &Group) -> Result<String> {
    let mut methods = String::new();
    for (interface, function) in &group.functions {
        let method = names::method(&interface.name, &function.name)?;
        let parameters = positional(function).map(|it| {
            let ty = if is_body(it) {
                "string | Uint8Array".to_owned()
            } else {
                taken_type(&it.ty)
            };
            format!("{}: {ty}", camel(&it.name))
        });
        let mut returned = format!("Promise<{}>", given_type("", function.ok.required()));
        if function.ok.is_option() {
            returned = returned.replace('>', " | undefined>");
        }
        if let Type::List(element) = &function.ok {
            returned = given_type("", element);
        }
        methods += &format!(
            "{}  {}({}): {returned};\n",
            jsdoc(&names.translated(&function.docs, Some(interface)), "  "),
            camel(method.name),
            parameters
                .chain(options(function))
                .collect::<Vec<_>>()
                .join(", "),
        );
    }
    Ok(format!(
        "\n{}export interface {} {{\n{methods}}}\n",
        jsdoc(&names.translated(&group.docs, None), ""),
        pascal(group.name),
    ))
}

/// The last argument, where there is one.
fn options(function: &Function) -> Option<String> {
    from_options(function)
        .map(|it| match &*it.name {
            "wait" => "options: WaitOptions".to_owned(),
            "timeout-ms" => "options: BatchOptions".to_owned(),
            _ => "options?: CallOptions".to_owned(),
        })
        .next()
}

fn class(name: &str) -> String {
    pascal(names::type_name(name))
}

fn error_class(case: &str) -> String {
    pascal(names::error_name(case))
}

fn union(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" | ")
}

/// A comment in front of something at this indentation; nothing where nothing is to be said.
fn jsdoc(docs: &str, indentation: &str) -> String {
    if docs.is_empty() {
        return String::new();
    }
    // Nothing may end the comment before its end.
    let docs = docs.replace("*/", "*\\/");
    if !docs.contains('\n') && docs.len() < 90 {
        return format!("{indentation}/** {docs} */\n");
    }
    let lines = docs.lines().map(|line| format!("{indentation} * {line}"));
    let lines: String = lines
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect();
    format!("{indentation}/**\n{lines}{indentation} */\n")
}

// -------------------------------------------------------------------------------------- names

struct Names<'a> {
    package: &'a Package,
}

/// Methods that stand together in the client.
struct Group<'a> {
    name: &'static str,
    docs: String,
    functions: Vec<(&'a Interface, &'a Function)>,
}

impl<'a> Names<'a> {
    fn groups(&self) -> Result<Vec<Group<'a>>> {
        let mut groups: Vec<Group> = Vec::new();
        for (interface, function) in functions(self.package) {
            let name = names::method(&interface.name, &function.name)?.group;
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.functions.push((interface, function)),
                None => groups.push(Group {
                    name,
                    docs: interface.docs.clone(),
                    functions: vec![(interface, function)],
                }),
            }
        }
        Ok(groups)
    }

    /// Documentation of the WIT with the names that it has here. `within`: the interface whose
    /// functions are called by their names alone.
    fn translated(&self, docs: &str, within: Option<&Interface>) -> String {
        let mut text = String::new();
        for (index, piece) in docs.split('`').enumerate() {
            match index % 2 {
                0 => text += piece,
                _ => text += &format!("`{}`", self.name(piece, within).unwrap_or(piece.into())),
            }
        }
        text
    }

    /// What something of the WIT is called here, if it is something of the WIT.
    fn name(&self, word: &str, within: Option<&Interface>) -> Option<String> {
        match word {
            "none" => return Some("undefined".into()),
            "ACCOUNTS" => return Some("accounts".into()),
            // The field, not its type.
            "problem" => return None,
            _ => {}
        }
        self.setting(word)
            .or_else(|| self.method(word, within))
            .or_else(|| self.error(word))
            .or_else(|| self.status(word))
            .or_else(|| self.package.definition(word).ok().map(|it| class(&it.name)))
            .or_else(|| self.field(word))
    }

    /// `DEADLINE_MS` or `CREATE_RETRY=not-sent`.
    fn setting(&self, word: &str) -> Option<String> {
        let (name, value) = word
            .split_once('=')
            .map_or((word, None), |(n, v)| (n, Some(v)));
        let setting = SETTINGS.iter().find(|setting| setting.variable == name)?;
        let name = camel(&setting.name());
        Some(value.map_or(name.clone(), |value| format!("{name}: '{value}'")))
    }

    fn method(&self, word: &str, within: Option<&Interface>) -> Option<String> {
        let (interface, function) = match word.split_once('.') {
            Some(names) => names,
            None => {
                let own = within.filter(|it| it.functions.iter().any(|f| f.name == word));
                let interface = own.or_else(|| {
                    let mut all = functions(self.package);
                    all.find(|(_, f)| f.name == word)
                        .map(|(interface, _)| interface)
                })?;
                (interface.name.as_str(), word)
            }
        };
        let method = names::method(interface, function).ok()?;
        Some(format!("{}.{}", method.group, camel(method.name)))
    }

    fn error(&self, word: &str) -> Option<String> {
        let mut cases = self.package.variant("request-error").ok()?.iter();
        let case = cases.find(|case| case.name == word)?;
        Some(error_class(&case.name))
    }

    /// A status, as the service writes it.
    fn status(&self, word: &str) -> Option<String> {
        let case_of = |name: &str| {
            let mut cases = self.package.variant(name).ok()?.iter();
            cases.find(|case| case.name == word && case.payload.is_none())
        };
        let case = case_of("docket-status").or_else(|| case_of("call-status"))?;
        Some(screaming(&case.name))
    }

    /// A field or a parameter, or a path of them such as `options.timeout-ms`.
    fn field(&self, word: &str) -> Option<String> {
        let records = self.package.types.iter().filter_map(|it| match &it.shape {
            Shape::Record(fields) => Some(fields),
            Shape::Variant(_) => None,
        });
        let parameters = functions(self.package).map(|(_, function)| &function.parameters);
        let known: BTreeSet<_> = records
            .chain(parameters)
            .flatten()
            .map(|field| field.name.as_str())
            .collect();
        let mut parts = word.split('.');
        let is_path = parts
            .clone()
            .next()
            .is_some_and(|first| known.contains(first));
        is_path.then(|| {
            let parts = parts.by_ref().map(|part| match known.contains(part) {
                true => camel(part),
                false => part.to_owned(),
            });
            parts.collect::<Vec<_>>().join(".")
        })
    }
}
