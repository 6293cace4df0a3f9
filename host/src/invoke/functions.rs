//! The functions of the WIT package that this crate was built with, and their documentation.

use anyhow::{Result, anyhow};
use wit_parser::{Resolve, SourceMap, Type, TypeDefKind};

/// The files with functions, in the order of the functions' list, and their types.
const FILES: [&str; 6] = [
    include_str!("../../../wit/agents.wit"),
    include_str!("../../../wit/calls.wit"),
    include_str!("../../../wit/dockets.wit"),
    include_str!("../../../wit/bulk.wit"),
    include_str!("../../../wit/webhooks.wit"),
    include_str!("../../../wit/types.wit"),
];

/// A function that a plugin exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFunction {
    /// Interface and function, such as `calls.make-call`.
    pub name: String,
    /// The names and types of the parameters, in WIT's notation.
    pub parameters: Vec<(String, String)>,
    /// Its documentation.
    pub docs: String,
}

/// Returns all functions of the world `plugin`. They are the same for both WASIs, except that the
/// results of a batch are a stream on 0.3.
pub fn exported_functions() -> Result<Vec<ExportedFunction>> {
    let mut sources = SourceMap::new();
    for (index, text) in FILES.into_iter().enumerate() {
        sources.push(format!("{index}.wit").as_ref(), text);
    }
    let parsed = sources.parse().map_err(|(_, error)| anyhow!("{error}"))?;
    let mut resolve = Resolve::new();
    resolve.push_group(parsed)?;
    let mut functions = Vec::new();
    for (_, interface) in &resolve.interfaces {
        let interface_name = interface.name.as_deref().unwrap_or_default();
        for function in interface.functions.values() {
            let parameters = function.params.iter();
            functions.push(ExportedFunction {
                name: format!("{interface_name}.{}", function.name),
                parameters: parameters
                    .map(|it| (it.name.clone(), type_name(&resolve, &it.ty)))
                    .collect(),
                docs: function.docs.contents.clone().unwrap_or_default(),
            });
        }
    }
    Ok(functions)
}

/// Returns a type in WIT's notation, as far as parameters need it.
fn type_name(resolve: &Resolve, ty: &Type) -> String {
    let Type::Id(id) = ty else {
        return format!("{ty:?}").to_lowercase();
    };
    let definition = &resolve.types[*id];
    match (&definition.name, &definition.kind) {
        (Some(name), _) => name.clone(),
        (None, TypeDefKind::List(element)) => format!("list<{}>", type_name(resolve, element)),
        (None, TypeDefKind::Option(inner)) => format!("option<{}>", type_name(resolve, inner)),
        (None, kind) => kind.as_str().to_owned(),
    }
}

/// Returns the signature and documentation of each function as text.
pub fn functions_help() -> Result<String> {
    let mut help = String::from("Functions:\n");
    for function in exported_functions()? {
        let parameters = function.parameters.iter();
        let parameters: Vec<_> = parameters
            .map(|(name, ty)| format!("{name}: {ty}"))
            .collect();
        let parameters = parameters.join(", ");
        help.push_str(&format!("\n  {}({parameters})\n", function.name));
        for line in function.docs.lines() {
            help.push_str(format!("      {line}").trim_end());
            help.push('\n');
        }
    }
    Ok(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guest has its own list of the places in memory where hosts look for errors.
    #[test]
    fn the_guest_knows_where_the_error_of_each_function_is_in_memory() {
        let errors = include_str!("../../../component/p2/src/errors.rs");
        let mut resolve = Resolve::new();
        let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
        let (package, _) = resolve.push_dir(wit).unwrap();
        let mut sizes = wit_parser::SizeAlign::default();
        sizes.fill(&resolve);
        let interfaces = resolve.packages[package].interfaces.values();
        for function in interfaces.flat_map(|it| resolve.interfaces[*it].functions.values()) {
            let result = function.result.expect("every function has a result");
            let place = match sizes.align(&result).align_wasm32() {
                8 => "WIDE",
                4 => "NARROW",
                other => panic!("{}: aligned to {other}", function.name),
            };
            let name = function.name.replace('-', "_");
            let listed = format!("{place} _export_{name}_cabi __post_return_{name} ");
            assert!(errors.contains(&listed), "{listed}");
        }
    }
}
