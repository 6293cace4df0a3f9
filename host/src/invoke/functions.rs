//! The WIT packages as this crate was built with them: which functions there are, and what
//! their documentation says.

use crate::load::interface::package;
use crate::load::kind::GuestKind;
use anyhow::{Context, Result};
use std::path::Path;
use wit_parser::{
    Function, Resolve, SourceMap, Type, TypeDefKind, UnresolvedPackageGroup, World, WorldItem,
    WorldKey,
};

const FILES: [(&str, &str); 7] = [
    ("types.wit", include_str!("../../../wit/types.wit")),
    ("agents.wit", include_str!("../../../wit/agents.wit")),
    ("calls.wit", include_str!("../../../wit/calls.wit")),
    ("dockets.wit", include_str!("../../../wit/dockets.wit")),
    ("bulk.wit", include_str!("../../../wit/bulk.wit")),
    ("webhooks.wit", include_str!("../../../wit/webhooks.wit")),
    ("world.wit", include_str!("../../../wit/world.wit")),
];

/// The packages of WASI 0.2 that it imports, each after those that it needs itself.
const DEPENDENCIES: [(&str, &str); 5] = [
    (
        "wasi-io-0.2.12.wit",
        include_str!("../../../wit/deps/wasi-io-0.2.12.wit"),
    ),
    (
        "wasi-clocks-0.2.12.wit",
        include_str!("../../../wit/deps/wasi-clocks-0.2.12.wit"),
    ),
    (
        "wasi-http-0.2.12.wit",
        include_str!("../../../wit/deps/wasi-http-0.2.12.wit"),
    ),
    (
        "wasi-cli-0.2.12.wit",
        include_str!("../../../wit/deps/wasi-cli-0.2.12.wit"),
    ),
    (
        "wasi-random-0.2.12.wit",
        include_str!("../../../wit/deps/wasi-random-0.2.12.wit"),
    ),
];

const ASYNC_FILES: [(&str, &str); 6] = [
    ("agents.wit", include_str!("../../../wit/async/agents.wit")),
    ("calls.wit", include_str!("../../../wit/async/calls.wit")),
    (
        "dockets.wit",
        include_str!("../../../wit/async/dockets.wit"),
    ),
    ("bulk.wit", include_str!("../../../wit/async/bulk.wit")),
    (
        "webhooks.wit",
        include_str!("../../../wit/async/webhooks.wit"),
    ),
    ("world.wit", include_str!("../../../wit/async/world.wit")),
];

/// The same of WASI 0.3.
const ASYNC_DEPENDENCIES: [(&str, &str); 4] = [
    (
        "wasi-clocks-0.3.2.wit",
        include_str!("../../../wit/async/deps/wasi-clocks-0.3.2.wit"),
    ),
    (
        "wasi-http-0.3.2.wit",
        include_str!("../../../wit/async/deps/wasi-http-0.3.2.wit"),
    ),
    (
        "wasi-cli-0.3.2.wit",
        include_str!("../../../wit/async/deps/wasi-cli-0.3.2.wit"),
    ),
    (
        "wasi-random-0.3.2.wit",
        include_str!("../../../wit/async/deps/wasi-random-0.3.2.wit"),
    ),
];

/// The packages, parsed, with those that they depend on.
pub fn resolve() -> Result<Resolve> {
    let mut resolve = Resolve::new();
    for dependency in DEPENDENCIES.into_iter().chain(ASYNC_DEPENDENCIES) {
        push(&mut resolve, &[dependency]).context(dependency.0)?;
    }
    push(&mut resolve, &FILES).context("the WIT package for WASI 0.2")?;
    push(&mut resolve, &ASYNC_FILES).context("the WIT package for WASI 0.3")?;
    Ok(resolve)
}

fn push(resolve: &mut Resolve, files: &[(&str, &str)]) -> Result<()> {
    let mut sources = SourceMap::new();
    for (name, text) in files {
        sources.push(Path::new(name), *text);
    }
    let group: UnresolvedPackageGroup = sources
        .parse()
        .map_err(|(_, error)| anyhow::anyhow!("{error}"))?;
    resolve.push_group(group)?;
    Ok(())
}

/// A world of the package that components of this kind export.
pub fn world<'a>(resolve: &'a Resolve, kind: GuestKind, name: &str) -> Result<&'a World> {
    let of_package = |world: &World| {
        world.package.is_some_and(|id| {
            let package_name = &resolve.packages[id].name;
            format!("{}:{}", package_name.namespace, package_name.name) == package(kind)
        })
    };
    let mut worlds = resolve.worlds.iter().map(|(_, world)| world);
    worlds
        .find(|world| world.name == name && of_package(world))
        .with_context(|| format!("no world `{name}` in {}", package(kind)))
}

/// A function that a plugin exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFunction {
    /// Interface and function, such as `calls.make-call`.
    pub name: String,
    /// Names and types of the parameters, in WIT's words.
    pub parameters: Vec<(String, String)>,
    /// Its documentation.
    pub docs: String,
}

/// All functions of the world `plugin`, in the order of the WIT. They are the same for both
/// WASIs, documented in the package for 0.2, but that on 0.3 the results of a batch are a stream.
pub fn exported_functions() -> Result<Vec<ExportedFunction>> {
    let resolve = resolve()?;
    let world = world(&resolve, GuestKind::V0_2, "plugin")?;
    let mut functions = Vec::new();
    for (interface, function) in exports(&resolve, world) {
        let parameter = |parameter: &wit_parser::Param| {
            (parameter.name.clone(), type_name(&resolve, &parameter.ty))
        };
        functions.push(ExportedFunction {
            name: format!("{interface}.{}", function.name),
            parameters: function.params.iter().map(parameter).collect(),
            docs: function.docs.contents.clone().unwrap_or_default(),
        });
    }
    Ok(functions)
}

fn exports<'a>(
    resolve: &'a Resolve,
    world: &'a World,
) -> impl Iterator<Item = (&'a str, &'a Function)> {
    world.exports.iter().flat_map(move |(key, item)| {
        let interface = match (key, item) {
            (WorldKey::Interface(id), WorldItem::Interface { .. }) => {
                Some(&resolve.interfaces[*id])
            }
            _ => None,
        };
        interface.into_iter().flat_map(|interface| {
            let name = interface.name.as_deref().unwrap_or_default();
            interface
                .functions
                .values()
                .map(move |function| (name, function))
        })
    })
}

/// A type in WIT's words, as far as parameters need them.
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

/// The functions for people: signature and documentation of each.
pub fn functions_help() -> Result<String> {
    let mut help = String::from("Functions:\n");
    for function in exported_functions()? {
        let parameters: Vec<_> = function
            .parameters
            .iter()
            .map(|(name, ty)| format!("{name}: {ty}"))
            .collect();
        help.push_str(&format!(
            "\n  {}({})\n",
            function.name,
            parameters.join(", ")
        ));
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

    #[test]
    fn every_file_of_the_wit_folders_is_built_in() {
        let folders = [
            ("../wit", &FILES[..]),
            ("../wit/deps", &DEPENDENCIES[..]),
            ("../wit/async", &ASYNC_FILES[..]),
            ("../wit/async/deps", &ASYNC_DEPENDENCIES[..]),
        ];
        for (folder, files) in folders {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            let mut found: Vec<_> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| name.ends_with(".wit"))
                .collect();
            found.sort();
            let mut built_in: Vec<_> = files.iter().map(|(name, _)| name.to_string()).collect();
            built_in.sort();
            assert_eq!(found, built_in);
        }
    }

    /// The functions of a world with their names.
    fn functions(resolve: &Resolve, kind: GuestKind) -> Vec<(&str, &Function)> {
        exports(resolve, world(resolve, kind, "plugin").unwrap()).collect()
    }

    #[test]
    fn functions_are_documented_in_both_packages_in_the_same_words() {
        let resolve = resolve().unwrap();
        let both = [GuestKind::V0_2, GuestKind::V0_3].map(|kind| functions(&resolve, kind));
        assert_eq!(both[0].len(), both[1].len());
        for ((interface, function), (_, other)) in both[0].iter().zip(&both[1]) {
            assert_eq!(function.name, other.name, "{interface}");
            assert!(function.docs.contents.is_some(), "{}", function.name);
            assert_eq!(function.docs, other.docs, "{}", function.name);
        }
    }

    /// The guest puts errors where hosts look for them, by a list of its own.
    #[test]
    fn the_guest_knows_where_the_error_of_each_function_is_in_memory() {
        let errors = include_str!("../../../component/p2/src/errors.rs");
        let resolve = resolve().unwrap();
        let mut sizes = wit_parser::SizeAlign::default();
        sizes.fill(&resolve);
        for (_, function) in functions(&resolve, GuestKind::V0_2) {
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

    #[test]
    fn functions_come_with_their_parameters_and_docs() {
        let functions = exported_functions().unwrap();
        let names: Vec<_> = functions
            .iter()
            .map(|function| function.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "agents.create-agent",
                "agents.list-agents",
                "calls.make-call",
                "calls.get-call-details",
                "calls.wait-for-call-details",
                "dockets.create-docket",
                "dockets.create-docket-v2",
                "dockets.get-docket",
                "dockets.wait-for-docket",
                "bulk.create-dockets-v2",
                "webhooks.parse-docket-completed",
                "webhooks.verify-docket-completed",
            ]
        );
        let help = functions_help().unwrap();
        for signature in [
            "calls.wait-for-call-details(task-id: string, wait: wait-options, options: option<call-options>)",
            "webhooks.parse-docket-completed(body: string)",
            "bulk.create-dockets-v2(requests: list<docket-request-v2>, timeout-ms: u32, options: option<call-options>)",
        ] {
            assert!(help.contains(signature), "{signature}");
        }
        assert!(help.contains("Makes a phone ring: `POST /make_call`."));
    }
}
