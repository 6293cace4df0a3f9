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

const BOTH: [GuestKind; 2] = [GuestKind::V0_2, GuestKind::V0_3];

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

/// Returns a world of the package that components of this kind export.
fn world<'a>(resolve: &'a Resolve, kind: GuestKind, name: &str) -> &'a World {
    let of_package = |world: &World| {
        let package_name = &resolve.packages[world.package.expect("a package")].name;
        format!("{}:{}", package_name.namespace, package_name.name) == package(kind)
    };
    let mut worlds = resolve.worlds.iter().map(|(_, world)| world);
    let world = worlds.find(|world| world.name == name && of_package(world));
    world.expect("the world")
}

fn plugin_of(resolve: &Resolve, kind: GuestKind) -> &World {
    world(resolve, kind, "plugin")
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

#[test]
fn no_type_and_no_package_is_one_that_engines_refuse() {
    let files = EXPORTED.iter().chain(&["types"]);
    for file in files.map(|name| format!("wit/{name}.wit")) {
        let text = read_to_string(in_repository(&file)).expect(&file);
        let code = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default());
        let is_name = |one: char| one.is_ascii_alphanumeric() || one == '-';
        for word in code.flat_map(|line| line.split(|one| !is_name(one))) {
            let refused = [
                "char", "resource", "own", "borrow", "stream", "future", "map",
            ];
            assert!(!refused.contains(&word), "{file}: {word}");
        }
    }
    for (_, package) in &wit().packages {
        for end in ["-obelisk-ext", "-obelisk-schedule", "-obelisk-stub"] {
            assert!(!package.name.name.ends_with(end), "{}", package.name);
            assert!(!package.name.namespace.ends_with(end), "{}", package.name);
        }
    }
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

/// Returns the lines of WIT that begin an item without documentation.
fn undocumented(text: &str) -> Vec<&str> {
    const NO_ITEMS: [&str; 6] = ["//", "}", "package ", "use ", "import ", "export "];
    let (mut is_documented, mut is_continued) = (false, false);
    let begins_undocumented = |line: &&str| {
        let is_item = !line.is_empty() && !NO_ITEMS.iter().any(|it| line.starts_with(it));
        let is_missing = is_item && !is_documented && !is_continued;
        // Parameters and imported names continue to the end of their statement.
        let goes_on = is_continued || line.starts_with("use ") || line.ends_with('(');
        is_continued = goes_on && !line.ends_with(';');
        is_documented = line.starts_with("///");
        is_missing
    };
    let lines = text.lines().map(str::trim);
    lines.filter(begins_undocumented).collect()
}

#[test]
fn every_item_is_documented() {
    // The interfaces for WASI 0.3 are the same.
    let files = EXPORTED.iter().chain(&["types"]);
    for file in files.map(|name| format!("wit/{name}.wit")) {
        let text = read_to_string(in_repository(&file)).expect(&file);
        assert_eq!(undocumented(&text), [""; 0], "{file}");
    }
    for file in ["wit/world.wit", "wit/async/world.wit"] {
        let text = read_to_string(in_repository(file)).expect(file);
        assert_eq!(undocumented(&text), [""; 0], "{file}");
        assert!(text.starts_with("///"), "{file}: the package");
    }
    assert_eq!(
        undocumented("/// A.\ninterface a {\n  f: func();\n}"),
        ["f: func();"]
    );
}

#[test]
fn the_world_of_consumers_imports_what_the_plugin_exports() {
    let resolve = wit();
    for kind in BOTH {
        let consumer = world(&resolve, kind, "consumer");
        let exported = interfaces(&plugin_of(&resolve, kind).exports);
        assert_eq!(exported.len(), EXPORTED.len());
        assert!(interfaces(&consumer.imports).is_superset(&exported));
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
