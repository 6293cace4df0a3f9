//! The WIT packages and the built component obey the rules of the engines that run them. (The host
//! checks on loading that the component exports every function with its types.)

use crate::compiled::{component_path, in_repository};
use crate::stage::plugin;
use std::collections::BTreeSet;
use std::fs::read_to_string;
use voice_calling_host::GuestKind;
use voice_calling_host::load::interface::package;
use wit_parser::decoding::{DecodedWasm, decode};
use wit_parser::{InterfaceId, Resolve, SizeAlign, World, WorldItem, WorldKey};

/// The interfaces that the components export, by file name.
const EXPORTED: [&str; 5] = ["agents", "calls", "dockets", "bulk", "webhooks"];

/// Returns the packages for WASI 0.2 and for 0.3.
fn wit() -> Resolve {
    let mut resolve = Resolve::new();
    for folder in ["wit", "wit/async"] {
        resolve.push_dir(in_repository(folder)).expect(folder);
    }
    resolve
}

/// Returns the world of the components of this kind.
fn plugin_of(resolve: &Resolve, kind: GuestKind) -> &World {
    let of_package = |world: &World| {
        let package_name = &resolve.packages[world.package.expect("a package")].name;
        format!("{}:{}", package_name.namespace, package_name.name) == package(kind)
    };
    let mut worlds = resolve.worlds.iter().map(|(_, world)| world);
    let world = worlds.find(|world| world.name == "plugin" && of_package(world));
    world.expect("the world")
}

/// Returns the interfaces among a world's items, which must contain nothing else.
fn interfaces<'a>(
    items: impl IntoIterator<Item = (&'a WorldKey, &'a WorldItem)>,
) -> BTreeSet<InterfaceId> {
    let interface = |(key, item): (&WorldKey, &WorldItem)| match (key, item) {
        (WorldKey::Interface(id), WorldItem::Interface { .. }) => *id,
        _ => panic!("a function or type of its own: {key:?}"),
    };
    items.into_iter().map(interface).collect()
}

/// Returns the names of a world's imports, including those that are imported only for their types.
fn imported(resolve: &Resolve, world: &World) -> BTreeSet<String> {
    let name = |id| resolve.id_of(id).expect("a name");
    interfaces(&world.imports).into_iter().map(name).collect()
}

/// Parsing is pure and therefore not async.
#[test]
fn both_packages_have_the_same_functions_which_are_async_for_wasi_0_3_save_one() {
    for name in EXPORTED {
        let text = |folder| read_to_string(in_repository(&format!("{folder}/{name}.wit"))).unwrap();
        let expected = text("wit")
            .replace("voice-calling:client@", "voice-calling:client-async@")
            .replace("use types.", "use voice-calling:client/types@0.2.0.")
            .replace(": func(", ": async func(")
            .replace(
                "parse-docket-completed: async func",
                "parse-docket-completed: func",
            );
        assert_eq!(text("wit/async"), expected, "{name}");
    }
}

#[test]
fn the_component_imports_and_exports_what_the_wit_says_and_nothing_else() {
    let wasm = std::fs::read(component_path()).expect("the component");
    let DecodedWasm::Component(built, world) = decode(&wasm).expect("a component with types")
    else {
        panic!("a WIT package, not a component")
    };
    let built_world = &built.worlds[world];
    let resolve = wit();
    let world = plugin_of(&resolve, plugin().kind());
    assert_eq!(imported(&built, built_world), imported(&resolve, world));
    assert_eq!(interfaces(&built_world.exports).len(), EXPORTED.len());
}

/// The guest has its own list of the places in memory where hosts look for errors.
#[test]
fn the_guest_knows_where_the_error_of_each_function_is_in_memory() {
    let errors = include_str!("../../../component/p2/src/errors.rs");
    let resolve = wit();
    let mut sizes = SizeAlign::default();
    sizes.fill(&resolve);
    let exported = interfaces(&plugin_of(&resolve, GuestKind::V0_2).exports);
    let functions = exported.iter().map(|id| &resolve.interfaces[*id].functions);
    for function in functions.flat_map(|functions| functions.values()) {
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
