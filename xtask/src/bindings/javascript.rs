//! The WIT package in JavaScript: tables for the code that runs, classes with methods, classes of
//! errors, and types with the WIT's documentation for TypeScript.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::bindings::{
    Generated,
    model::{Case, Definition, Field, Function, Interface, Package, Shape, Type},
    names::{self, camel, pascal, screaming},
    settings::{Kind, SETTINGS, Setting},
};

const FOLDER: &str = "bindings/javascript/generated";

const NOTE: &str = "// Written from wit/ by `cargo xtask bindings generate`. Do not edit.\n";

/// What errors say of an answer, whether or not their case has one.
const ANSWER: &str = "http-response";

pub fn files(package: &Package) -> Result<Vec<Generated>> {
    let names = Names { package };
    let file = |name: &str, text: String| Generated {
        path: format!("{FOLDER}/{name}").into(),
        text: format!("{NOTE}{text}"),
    };
    Ok(vec![
        file("wit.js", tables(package)?),
        file("settings.js", settings()),
        file("errors.js", error_classes(&names)?),
        file("groups.js", group_classes(&names)?),
        file("index.d.ts", declarations(&names)?),
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
    text +=
        "};\n\n/** The functions, by what the client calls them. */\nexport const functions = {\n";
    for (interface, function) in functions(package) {
        text += &function_entry(&package.version, interface, function)?;
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

fn function_entry(version: &str, interface: &Interface, function: &Function) -> Result<String> {
    let method = names::method(&interface.name, &function.name)?;
    let parameters = function.parameters.iter();
    let parameters: Vec<_> = parameters
        .map(|parameter| format!("'{}': {}", parameter.name, type_entry(&parameter.ty)))
        .collect();
    let from_options = from_options(function).map_or("null".into(), |it| format!("'{}'", it.name));
    Ok(format!(
        "  '{}.{}': {{\n    core: 'voice-calling:client/{}@{version}#{}',\n    \
         parameters: {{ {} }},\n    fromOptions: {from_options},\n    \
         result: {{ result: [{}, 'request-error'] }},\n    creates: {},\n  }},\n",
        method.group,
        method.name,
        interface.name,
        function.name,
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

/// The parameter that users give among the options of a call: how long something may take.
fn from_options(function: &Function) -> Option<&Field> {
    let last = function.parameters.last()?;
    ["options", "timeout-ms"]
        .contains(&last.name.as_str())
        .then_some(last)
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
            "  {}: {{ variable: 'VOICE_CALLING_{}', kind: '{kind}'{words} }},\n",
            camel(&setting.name()),
            setting.variable
        )
    };
    format!(
        "\n/** The options of the client that are settings of the component. */\n\
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
    let mut text = String::from("import { RequestError } from '../src/request_error.js';\n");
    let mut entries = String::new();
    for case in names.package.variant("request-error")? {
        let class = error_class(&case.name);
        text += &format!(
            "\n{}export class {class} extends RequestError {{}}\n\n\
             Object.assign({class}.prototype, {{\n  name: '{class}',\n  kind: '{}',\n  \
             isPermanent: {},\n}});\n",
            jsdoc(&names.translated(&case.docs, None), ""),
            case.name,
            case.name.starts_with("permanent-"),
        );
        entries += &format!("  '{}': {class},\n", case.name);
    }
    Ok(format!(
        "{text}\n/** The class of each case of `request-error`. */\n\
         export const errors = {{\n{entries}}};\n"
    ))
}

fn group_classes(names: &Names) -> Result<String> {
    let mut text = String::new();
    let mut instances = String::new();
    for group in names.groups()? {
        let class = pascal(group.name);
        let mut methods = String::new();
        for (interface, function) in &group.functions {
            let method = names::method(&interface.name, &function.name)?;
            let names: Vec<_> = positional(function).map(|it| camel(&it.name)).collect();
            methods += &format!(
                "\n  {}({}) {{\n    return this.#call('{}.{}', [{}], options);\n  }}\n",
                camel(method.name),
                [names.clone(), vec!["options".into()]].concat().join(", "),
                method.group,
                method.name,
                names.join(", "),
            );
        }
        text += &format!(
            "\n{}export class {class} {{\n  #call;\n\n  constructor(call) {{\n    \
             this.#call = call;\n  }}\n{methods}}}\n",
            jsdoc(&names.translated(&group.docs, None), "")
        );
        instances += &format!("    {}: new {class}(call),\n", group.name);
    }
    Ok(format!(
        "{text}\n/** The groups of a client, whose calls are made by `call`. */\n\
         export function groups(call) {{\n  return {{\n{instances}  }};\n}}\n"
    ))
}

fn positional(function: &Function) -> impl Iterator<Item = &Field> {
    let left_out = from_options(function).map(|field| field.name.as_str());
    let parameters = function.parameters.iter();
    parameters.filter(move |it| Some(it.name.as_str()) != left_out)
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
    let kinds: Vec<_> = kinds.map(|case| format!("'{}'", case.name)).collect();
    let mut text = include_str!("javascript.d.ts.txt")
        .replace("/* settings */", &setting_options())
        .replace("/* kinds */", &kinds.join(" | "));
    for definition in &package.types {
        text += &match &definition.shape {
            _ if is_inlined(package, &definition.name)? => continue,
            _ if definition.name == "wait-options" => continue,
            Shape::Record(fields) => {
                let is_taken = taken.contains(definition.name.as_str());
                interface_type(names, definition, fields, is_taken)
            }
            Shape::Variant(_) if definition.name == "request-error" => error_types(names)?,
            Shape::Variant(cases) => status_type(names, definition, cases)?,
        };
    }
    for group in names.groups()? {
        text += &group_type(names, &group)?;
    }
    text += &client_type(names)?;
    Ok(text)
}

/// Payloads of errors: their fields are the errors' own.
fn is_inlined(package: &Package, name: &str) -> Result<bool> {
    let mut payloads = package.variant("request-error")?.iter();
    let is_payload = |case: &Case| matches!(&case.payload, Some(Type::Named(it)) if it == name);
    Ok(name == ANSWER || payloads.any(is_payload))
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
    let mark = if field.ty.is_option() { "?" } else { "" };
    let name = camel(&field.name);
    if is_taken {
        let none = if field.ty.is_option() {
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
        "The same, parsed. Numbers beyond 2^53 lose digits here.",
        "  ",
    );
    format!("{own}{docs}  readonly raw{mark}: JsonValue;\n")
}

/// What users may give.
fn taken_type(ty: &Type) -> String {
    match ty {
        Type::Bool => "boolean".into(),
        Type::U8 | Type::U16 | Type::U32 | Type::F64 => "number".into(),
        Type::U64 | Type::S64 => "bigint | number".into(),
        Type::String => "string".into(),
        Type::Json => "JsonInput".into(),
        Type::Named(name) => class(name),
        Type::Option(inner) => taken_type(inner),
        // Names and values.
        Type::List(element) if matches!(**element, Type::Tuple(_)) => {
            "{ readonly [name: string]: string }".into()
        }
        Type::List(element) => format!("readonly {}[]", taken_type(element)),
        Type::Tuple(_) | Type::Result(..) => "never".into(),
    }
}

/// What users get.
fn given_type(name: &str, ty: &Type) -> String {
    match ty {
        Type::Bool => "boolean".into(),
        Type::U8 | Type::U16 | Type::U32 | Type::F64 => "number".into(),
        Type::S64 if name.ends_with("-id") => "bigint".into(),
        Type::S64 | Type::U64 => "number | bigint".into(),
        Type::String => "string".into(),
        Type::Json if name == "raw-json" => "string".into(),
        Type::Json => "JsonValue".into(),
        Type::Named(name) => class(name),
        Type::Option(inner) => given_type(name, inner),
        Type::List(element) => format!("readonly {}[]", given_type(name, element)),
        Type::Tuple(_) => "never".into(),
        Type::Result(ok, _) => format!("BatchResult<{}>", given_type(name, ok)),
    }
}

/// A status is text: the values that are known, and any other.
fn status_type(names: &Names, definition: &Definition, cases: &[Case]) -> Result<String> {
    let values = cases.iter().map(|case| match &case.payload {
        None => Ok(format!("'{}'", screaming(&case.name))),
        Some(Type::String) => Ok("(string & {})".to_owned()),
        Some(_) => bail!("`{}` is no status", definition.name),
    });
    Ok(format!(
        "\n{}export type {} = {};\n",
        jsdoc(&names.translated(&definition.docs, None), ""),
        class(&definition.name),
        union(values.collect::<Result<Vec<_>>>()?.into_iter()),
    ))
}

fn error_types(names: &Names) -> Result<String> {
    let mut text = String::new();
    for case in names.package.variant("request-error")? {
        let mut members = format!("  readonly kind: '{}';\n", case.name);
        if let Some(Type::Named(payload)) = &case.payload {
            for field in names.package.record(payload)? {
                members += &error_members(names, field)?;
            }
        }
        text += &format!(
            "\n{}export declare class {} extends RequestError {{\n{members}}}\n",
            jsdoc(&names.translated(&case.docs, None), ""),
            error_class(&case.name),
        );
    }
    Ok(text)
}

/// What an error of this kind certainly has, beside what all have.
fn error_members(names: &Names, field: &Field) -> Result<String> {
    if field.ty == Type::Named(ANSWER.into()) {
        let fields = names.package.record(ANSWER)?.iter();
        let certain = fields.filter(|field| !field.ty.is_option());
        return Ok(certain.map(|field| member(names, field, false)).collect());
    }
    let is_on_all = matches!(field.name.as_str(), "message" | "attempts") || field.ty.is_option();
    Ok(match is_on_all {
        true => String::new(),
        false => member(names, field, false),
    })
}

fn group_type(names: &Names, group: &Group) -> Result<String> {
    let mut text = String::new();
    let mut methods = String::new();
    for (interface, function) in &group.functions {
        let method = names::method(&interface.name, &function.name)?;
        let mut options = "options?: CallOptions".to_owned();
        if let Some(field) = from_options(function) {
            let name = format!(
                "{}Options",
                pascal(&format!("{}-{}", method.group, method.name))
            );
            text += &options_type(names, &name, field, function)?;
            options = format!("options: {name}");
        }
        let parameters = positional(function)
            .map(|it| format!("{}: {}", camel(&it.name), taken_type(&it.ty)))
            .chain([options]);
        let mut returned = given_type("", function.ok.required());
        if function.ok.is_option() {
            returned += " | undefined";
        }
        methods += &format!(
            "{}  {}({}): Promise<{returned}>;\n",
            jsdoc(&names.translated(&function.docs, Some(interface)), "  "),
            camel(method.name),
            parameters.collect::<Vec<_>>().join(", "),
        );
    }
    Ok(format!(
        "{text}\n{}export interface {} {{\n{methods}}}\n",
        jsdoc(&names.translated(&group.docs, None), ""),
        pascal(group.name),
    ))
}

/// The options of a function that has a time of its own.
fn options_type(names: &Names, name: &str, field: &Field, function: &Function) -> Result<String> {
    let members: String = match &field.ty {
        Type::Named(record) => names
            .package
            .record(record)?
            .iter()
            .map(|field| {
                let text = member(names, field, true);
                // What is not said is not so.
                match field.ty {
                    Type::Bool => text.replace(": boolean", "?: boolean | undefined"),
                    _ => text,
                }
            })
            .collect(),
        ty => format!(
            "{}  readonly {}: {};\n",
            jsdoc(
                &paragraph_on(&names.translated(&function.docs, None), &field.name),
                "  "
            ),
            camel(&field.name),
            taken_type(ty)
        ),
    };
    Ok(format!(
        "\n/** Time in the queue for an instance counts. */\n\
         export interface {name} {{\n{members}  \
         /** Ends it as soon as it is aborted. */\n  \
         readonly signal?: AbortSignal | null | undefined;\n}}\n"
    ))
}

/// The paragraph of a function's documentation that begins with a parameter.
fn paragraph_on(docs: &str, parameter: &str) -> String {
    let begin = format!("`{}`:", camel(parameter));
    let paragraph = docs.split("\n\n").find_map(|it| it.strip_prefix(&begin));
    paragraph.unwrap_or_default().trim().to_owned()
}

fn client_type(names: &Names) -> Result<String> {
    let groups = names.groups()?;
    let members: String = groups
        .iter()
        .map(|group| format!("  readonly {}: {};\n", group.name, pascal(group.name)))
        .collect();
    Ok(include_str!("javascript_client.d.ts.txt").replace("/* groups */", &members))
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
        if word == "none" {
            return Some("undefined".into());
        }
        self.setting(word)
            .or_else(|| self.method(word, within))
            .or_else(|| self.error(word))
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
