//! The WIT packages and the built component obey the rules of the engines that run them. (The host
//! checks on loading that the component exports every function with its types.)

use std::collections::BTreeSet;
use voice_calling_core::types::{FailureKind, NextStep};
use voice_calling_host::GuestKind;
use voice_calling_test_guests::plugin;
use voice_calling_test_guests::{component, in_repository};
use wit_parser::decoding::{DecodedWasm, decode};
use wit_parser::{
    FunctionKind, InterfaceId, Resolve, Type, TypeDefKind, World, WorldItem, WorldKey,
};

/// Returns the packages for WASI 0.2 and for 0.3.
fn wit() -> Resolve {
    let mut resolve = Resolve::new();
    for folder in ["wit/types", "wit", "wit/async"] {
        resolve.push_dir(in_repository(folder)).expect(folder);
    }
    resolve
}

/// Returns the world of the components of this kind.
fn plugin_of(resolve: &Resolve, kind: GuestKind) -> &World {
    let of_package = |world: &World| {
        let package_name = &resolve.packages[world.package.expect("a package")].name;
        format!("{}:{}", package_name.namespace, package_name.name) == kind.package()
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

/// Returns a type in the notation of WIT.
fn written(resolve: &Resolve, ty: &Type) -> String {
    let Type::Id(id) = ty else {
        return format!("{ty:?}");
    };
    let definition = &resolve.types[*id];
    let inner = |ty: &Option<Type>| ty.as_ref().map(|ty| written(resolve, ty));
    match (&definition.name, &definition.kind) {
        (Some(name), _) => name.clone(),
        (None, TypeDefKind::Option(ty)) => format!("option<{}>", written(resolve, ty)),
        (None, TypeDefKind::List(ty)) => format!("list<{}>", written(resolve, ty)),
        (None, TypeDefKind::Result(it)) => {
            format!("result<{:?}, {:?}>", inner(&it.ok), inner(&it.err))
        }
        (None, kind) => panic!("no function has a {kind:?}"),
    }
}

/// Returns the exported functions of a world: interface and name, parameters and result, and
/// whether it is async.
fn functions(resolve: &Resolve, kind: GuestKind) -> BTreeSet<(String, String, bool)> {
    let exported = interfaces(&plugin_of(resolve, kind).exports).into_iter();
    let exported = exported.map(|id| &resolve.interfaces[id]);
    let functions = exported.flat_map(|interface| {
        let name = interface.name.as_deref().expect("a name");
        let functions = interface.functions.values();
        functions.map(move |function| {
            let parameters = function.params.iter();
            let parameters = parameters.map(|it| (&*it.name, written(resolve, &it.ty)));
            let result = function.result.as_ref().map(|ty| written(resolve, ty));
            let signature = format!("{:?} -> {result:?}", parameters.collect::<Vec<_>>());
            let is_async = matches!(function.kind, FunctionKind::AsyncFreestanding);
            (format!("{name}.{}", function.name), signature, is_async)
        })
    });
    functions.collect()
}

/// Parsing is pure and therefore not async.
#[test]
fn both_packages_have_the_same_functions_which_are_async_for_wasi_0_3_save_one() {
    let resolve = wit();
    let expected = functions(&resolve, GuestKind::V0_2).into_iter();
    let expected = expected.map(|(name, signature, is_async)| {
        assert!(!is_async, "{name}");
        let is_async = name != "webhooks.parse-docket-completed";
        (name, signature, is_async)
    });
    assert_eq!(functions(&resolve, GuestKind::V0_3), expected.collect());
}

/// Guests pass on enums by their numbers.
#[test]
fn the_kinds_of_failures_and_the_next_steps_are_in_the_order_of_the_wit() {
    let resolve = wit();
    let names = |name: &str| {
        let mut types = resolve.types.iter().map(|(_, definition)| definition);
        let found = types.find(|definition| definition.name.as_deref() == Some(name));
        let TypeDefKind::Enum(found) = &found.expect(name).kind else {
            panic!("{name} is not an enum")
        };
        let cases = found.cases.iter().map(|case| case.name.as_str());
        cases.collect::<Vec<_>>()
    };
    assert_eq!(
        names("failure-kind"),
        FailureKind::ALL.map(FailureKind::name)
    );
    assert_eq!(names("next-step"), NextStep::ALL.map(NextStep::name));
}

#[test]
fn the_component_imports_and_exports_what_the_wit_says_and_nothing_else() {
    let wasm = std::fs::read(component()).expect("the component");
    let DecodedWasm::Component(built, world) = decode(&wasm).expect("a component with types")
    else {
        panic!("a WIT package, not a component")
    };
    let built_world = &built.worlds[world];
    let resolve = wit();
    let world = plugin_of(&resolve, plugin().kind());
    assert_eq!(imported(&built, built_world), imported(&resolve, world));
    let [built, expected] = [built_world, world].map(|world| interfaces(&world.exports).len());
    assert_eq!(built, expected);
}
