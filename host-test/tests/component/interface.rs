//! The WIT package and the built component by the rules of the engines that run them.

use crate::stage::component_path;
use crate::stage::plugin;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use voice_calling_host::GuestKind;
use voice_calling_host::load::interface::package;
use wit_parser::decoding::{DecodedWasm, decode};
use wit_parser::{
    Docs, Function, FunctionKind, InterfaceId, PackageId, Resolve, Type, TypeDefKind, World,
    WorldItem, WorldKey,
};

const BOTH: [GuestKind; 2] = [GuestKind::V0_2, GuestKind::V0_3];

/// The packages for WASI 0.2 and for 0.3.
fn wit() -> Resolve {
    let wit = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../wit"));
    let mut resolve = Resolve::new();
    for folder in [wit.to_owned(), wit.join("async")] {
        resolve.push_dir(folder).expect("a WIT package");
    }
    resolve
}

fn component() -> (Resolve, World) {
    decoded(&component_path())
}

fn decoded(component: &Path) -> (Resolve, World) {
    let wasm = std::fs::read(component).expect("the component");
    match decode(&wasm).expect("a component with types") {
        DecodedWasm::Component(resolve, world) => {
            let world = resolve.worlds[world].clone();
            (resolve, world)
        }
        DecodedWasm::WitPackage(..) => panic!("a WIT package, not a component"),
    }
}

fn world<'a>(resolve: &'a Resolve, kind: GuestKind, name: &str) -> &'a World {
    let of_package = |world: &World| {
        let package = &resolve.packages[world.package.expect("a package")].name;
        format!("{}:{}", package.namespace, package.name) == self::package(kind)
    };
    let mut worlds = resolve.worlds.iter().map(|(_, world)| world);
    let world = worlds.find(|world| world.name == name && of_package(world));
    world.expect("the world")
}

/// The interfaces among the items of a world; whether there is anything else.
fn interfaces<'a>(
    items: impl IntoIterator<Item = (&'a WorldKey, &'a WorldItem)>,
) -> (Vec<InterfaceId>, bool) {
    let (mut interfaces, mut others) = (Vec::new(), false);
    for (key, item) in items {
        match (key, item) {
            (WorldKey::Interface(id), WorldItem::Interface { .. }) => interfaces.push(*id),
            _ => others = true,
        }
    }
    (interfaces, others)
}

/// What a world imports, by name, with what is there for its types alone.
fn imported(resolve: &Resolve, world: &World) -> BTreeSet<String> {
    let (interfaces, others) = interfaces(&world.imports);
    assert!(!others, "a function or type of its own");
    let name = |id| resolve.id_of(id).expect("a name");
    interfaces.into_iter().map(name).collect()
}

/// All functions that a world exports, by interface and name.
fn exported<'a>(resolve: &'a Resolve, world: &World) -> BTreeMap<String, &'a Function> {
    let (interfaces, _) = interfaces(&world.exports);
    interfaces
        .into_iter()
        .flat_map(|id| {
            let interface = resolve.id_of(id).expect("a name");
            let functions = resolve.interfaces[id].functions.values();
            functions.map(move |function| (format!("{interface}#{}", function.name), function))
        })
        .collect()
}

/// A type, written out down to the primitive ones. What engines refuse begins with
/// an exclamation mark.
fn shape(resolve: &Resolve, ty: &Type) -> String {
    let of = |ty: &Type| shape(resolve, ty);
    let optional = |ty: &Option<Type>| ty.as_ref().map_or("_".into(), of);
    let id = match ty {
        Type::Id(id) => *id,
        Type::Char | Type::ErrorContext => return format!("!{ty:?}"),
        Type::Bool
        | Type::U8
        | Type::U16
        | Type::U32
        | Type::U64
        | Type::S8
        | Type::S16
        | Type::S32
        | Type::S64
        | Type::F32
        | Type::F64
        | Type::String => return format!("{ty:?}"),
    };
    let joined = |parts: Vec<String>| parts.join(", ");
    match &resolve.types[id].kind {
        TypeDefKind::Type(ty) => of(ty),
        TypeDefKind::Option(ty) => format!("option<{}>", of(ty)),
        TypeDefKind::List(ty) => format!("list<{}>", of(ty)),
        TypeDefKind::Stream(ty) => format!("!stream<{}>", optional(ty)),
        TypeDefKind::Result(result) => {
            format!(
                "result<{}, {}>",
                optional(&result.ok),
                optional(&result.err)
            )
        }
        TypeDefKind::Tuple(tuple) => {
            format!("tuple<{}>", joined(tuple.types.iter().map(of).collect()))
        }
        TypeDefKind::Record(record) => {
            let field = |field: &wit_parser::Field| format!("{}: {}", field.name, of(&field.ty));
            format!(
                "record {{{}}}",
                joined(record.fields.iter().map(field).collect())
            )
        }
        TypeDefKind::Variant(variant) => {
            let case = |case: &wit_parser::Case| format!("{}({})", case.name, optional(&case.ty));
            format!(
                "variant {{{}}}",
                joined(variant.cases.iter().map(case).collect())
            )
        }
        TypeDefKind::Enum(cases) => {
            let names = cases.cases.iter().map(|case| case.name.clone());
            format!("enum {{{}}}", joined(names.collect()))
        }
        TypeDefKind::Flags(flags) => {
            let names = flags.flags.iter().map(|flag| flag.name.clone());
            format!("flags {{{}}}", joined(names.collect()))
        }
        refused @ (TypeDefKind::Resource
        | TypeDefKind::Handle(_)
        | TypeDefKind::Map(..)
        | TypeDefKind::FixedLengthList(..)
        | TypeDefKind::Future(_)
        | TypeDefKind::Unknown) => format!("!{}", refused.as_str()),
    }
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let parameters: Vec<_> = function
        .params
        .iter()
        .map(|parameter| format!("{}: {}", parameter.name, shape(resolve, &parameter.ty)))
        .collect();
    let result = function.result.as_ref();
    let result = result.map_or("nothing".into(), |ty| shape(resolve, ty));
    format!("({}) -> {result}", parameters.join(", "))
}

fn signatures(resolve: &Resolve, world: &World) -> BTreeMap<String, String> {
    exported(resolve, world)
        .into_iter()
        .map(|(name, function)| (name, signature(resolve, function)))
        .collect()
}

/// The shape of `request-error`.
fn request_error(resolve: &Resolve) -> String {
    let mut types = resolve.types.iter();
    let (id, _) = types
        .find(|(_, ty)| ty.name.as_deref() == Some("request-error"))
        .expect("request-error");
    shape(resolve, &Type::Id(id))
}

#[test]
fn every_function_returns_a_result_with_request_error() {
    let resolve = wit();
    let error = request_error(&resolve);
    let functions = signatures(&resolve, world(&resolve, GuestKind::V0_2, "plugin"));
    assert_eq!(functions.len(), 12);
    for (name, signature) in functions {
        let (_, result) = signature.rsplit_once(") -> ").expect("a result");
        assert!(result.starts_with("result<"), "{name} returns {result}");
        assert!(
            result.ends_with(&format!(", {error}>")),
            "{name} returns {result}"
        );
    }
}

/// So that whoever reads errors needs no table of their cases.
#[test]
fn every_error_of_the_component_has_the_same_record() {
    let resolve = wit();
    let mut types = resolve.types.iter().map(|(_, ty)| ty);
    let error = types.find(|ty| ty.name.as_deref() == Some("request-error"));
    let TypeDefKind::Variant(error) = &error.unwrap().kind else {
        panic!("no variant")
    };
    for case in &error.cases[1..] {
        let Some(Type::Id(id)) = case.ty else {
            panic!("{} without a payload", case.name)
        };
        let name = resolve.types[id].name.as_deref();
        assert_eq!(name, Some("failure"), "{}", case.name);
    }
}

#[test]
fn the_first_error_is_execution_failed_without_payload() {
    let error = request_error(&wit());
    assert!(
        error.starts_with("variant {execution-failed(_), "),
        "{error}"
    );
}

#[test]
fn the_errors_that_engines_must_not_replay_have_permanent_in_their_names() {
    let resolve = wit();
    let mut types = resolve.types.iter().map(|(_, ty)| ty);
    let error = types.find(|ty| ty.name.as_deref() == Some("request-error"));
    let TypeDefKind::Variant(error) = &error.unwrap().kind else {
        panic!("no variant")
    };
    let names: Vec<_> = error.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "execution-failed",
            "permanent-configuration",
            "permanent-invalid-input",
            "permanent-unauthorized",
            "permanent-not-found",
            "permanent-rejected",
            "permanent-unexpected-response",
            "permanent-outcome-unknown",
            "rate-limited",
            "unavailable",
            "unreachable",
            "timed-out",
        ]
    );
}

#[test]
fn no_function_has_a_type_that_engines_refuse() {
    let resolve = wit();
    for (name, signature) in signatures(&resolve, world(&resolve, GuestKind::V0_2, "plugin")) {
        assert!(!signature.contains('!'), "{name}{signature}");
    }
}

#[test]
fn no_package_has_a_name_that_an_engine_keeps_for_itself() {
    for (_, package) in &wit().packages {
        for end in ["-obelisk-ext", "-obelisk-schedule", "-obelisk-stub"] {
            assert!(!package.name.name.ends_with(end), "{}", package.name);
            assert!(!package.name.namespace.ends_with(end), "{}", package.name);
        }
    }
}

/// What has no documentation is put into `missing` by its name.
fn check_docs(missing: &mut Vec<String>, docs: &Docs, name: &str) {
    let text = docs.contents.as_deref().unwrap_or_default();
    if text.trim().is_empty() {
        missing.push(name.to_owned());
    }
}

#[test]
fn every_item_is_documented() {
    assert_eq!(undocumented(&wit()), Vec::<String>::new());
}

fn undocumented(resolve: &Resolve) -> Vec<String> {
    let mut missing = Vec::new();
    let is_ours = |id: Option<PackageId>| {
        id.is_some_and(|id| resolve.packages[id].name.namespace == "voice-calling")
    };
    for (id, package) in &resolve.packages {
        if is_ours(Some(id)) {
            check_docs(&mut missing, &package.docs, &package.name.to_string());
        }
    }
    for (_, world) in &resolve.worlds {
        check_docs(&mut missing, &world.docs, &world.name);
    }
    for (id, interface) in &resolve.interfaces {
        if !is_ours(interface.package) {
            continue;
        }
        let name = resolve.id_of(id).expect("a name");
        check_docs(&mut missing, &interface.docs, &name);
        for function in interface.functions.values() {
            let name = format!("{name}#{}", function.name);
            check_docs(&mut missing, &function.docs, &name);
        }
        for (ty, id) in &interface.types {
            let ty_name = format!("{name}#{ty}");
            let definition = &resolve.types[*id];
            let members: Vec<(&str, &Docs)> = match &definition.kind {
                // A name that was brought in with `use`.
                TypeDefKind::Type(Type::Id(_)) => continue,
                TypeDefKind::Record(record) => {
                    let fields = record.fields.iter();
                    fields.map(|field| (&*field.name, &field.docs)).collect()
                }
                TypeDefKind::Variant(variant) => {
                    let cases = variant.cases.iter();
                    cases.map(|case| (&*case.name, &case.docs)).collect()
                }
                _ => Vec::new(),
            };
            check_docs(&mut missing, &definition.docs, &ty_name);
            for (member, docs) in members {
                check_docs(&mut missing, docs, &format!("{ty_name}.{member}"));
            }
        }
    }
    missing
}

/// Parsing is pure: there is nothing to wait for.
#[test]
fn both_packages_have_the_same_functions_which_are_async_for_wasi_0_3_save_one() {
    let resolve = wit();
    let [functions, async_functions] = BOTH.map(|kind| {
        let functions = exported(&resolve, world(&resolve, kind, "plugin")).into_iter();
        let by_name = functions.map(|(name, function)| {
            let name = name.replace(&format!("{}/", package(kind)), "");
            let is_async = matches!(function.kind, FunctionKind::AsyncFreestanding);
            let is_pure = name.ends_with("#parse-docket-completed");
            assert_eq!(is_async, kind == GuestKind::V0_3 && !is_pure, "{name}");
            (name, signature(&resolve, function))
        });
        by_name.collect::<BTreeMap<_, _>>()
    });
    assert_eq!(functions, async_functions);
}

#[test]
fn the_world_of_consumers_imports_what_the_plugin_exports() {
    let resolve = wit();
    for kind in BOTH {
        let (imported, _) = interfaces(&world(&resolve, kind, "consumer").imports);
        let (exported, _) = interfaces(&world(&resolve, kind, "plugin").exports);
        let imported: BTreeSet<_> = imported.into_iter().collect();
        for interface in exported {
            assert!(imported.contains(&interface));
        }
    }
}

#[test]
fn the_component_holds_no_path_of_a_machine() {
    assert_holds_no_path(&component_path());
}

fn assert_holds_no_path(wasm: &Path) {
    let wasm = std::fs::read(wasm).expect("the component");
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let workspace = std::fs::canonicalize(workspace).expect("the workspace");
    let workspace = workspace.to_str().expect("a path that is text");
    for path in [
        workspace,
        "/home/",
        "/root/",
        "/Users/",
        "/usr/",
        "/tmp/",
        ".cargo/registry",
        ".rustup",
    ] {
        let mut windows = wasm.windows(path.len());
        assert!(!windows.any(|window| window == path.as_bytes()), "{path}");
    }
}

#[test]
fn the_component_exports_interfaces_only() {
    let resolve = wit();
    for kind in BOTH {
        let (exports, others) = interfaces(&world(&resolve, kind, "plugin").exports);
        assert_eq!((exports.len(), others), (5, false));
    }
    let (_, built) = component();
    let (exports, others) = interfaces(&built.exports);
    assert_eq!((exports.len(), others), (5, false));
}

#[test]
fn the_component_imports_what_the_wit_says() {
    let resolve = wit();
    let (built, built_world) = component();
    assert_eq!(
        imported(&built, &built_world),
        imported(&resolve, world(&resolve, plugin().kind(), "plugin"))
    );
}

#[test]
fn the_component_exports_what_the_wit_says() {
    let resolve = wit();
    let (built, built_world) = component();
    assert_eq!(
        signatures(&built, &built_world),
        signatures(&resolve, world(&resolve, plugin().kind(), "plugin"))
    );
}
