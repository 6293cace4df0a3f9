//! The same of the client without I/O, in both of its forms.

use super::{
    assert_holds_no_path, decoded, exported, imported, interfaces, shape, signatures, undocumented,
};
use crate::stage::component_path;
use serde_json::{Value, json};
use std::path::PathBuf;
use wasmtime::{Engine, Instance, Memory, Module, Store, TypedFunc};
use wit_parser::{Resolve, Type, World};

fn steps_component() -> PathBuf {
    component_path().with_file_name("voice-calling-steps.wasm")
}

fn text_module() -> PathBuf {
    component_path().with_file_name("voice-calling-sans-io.wasm")
}

fn wit() -> (Resolve, World) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut resolve = Resolve::new();
    resolve
        .push_dir(format!("{root}/wit"))
        .expect("the WIT package");
    let (package, _) = resolve
        .push_dir(format!("{root}/wit-steps"))
        .expect("the WIT package of steps");
    let world = resolve.select_world(&[package], Some("plugin"));
    let world = resolve.worlds[world.expect("a world")].clone();
    (resolve, world)
}

#[test]
fn the_component_imports_nothing_and_exports_what_the_wit_says() {
    let (resolve, world) = wit();
    let (built, built_world) = decoded(&steps_component());
    assert!(
        imported(&built, &built_world).is_empty(),
        "{:?}",
        built_world.imports
    );
    assert_eq!(
        signatures(&built, &built_world),
        signatures(&resolve, &world)
    );
    let functions: Vec<_> = exported(&built, &built_world).into_keys().collect();
    let steps = "voice-calling:client-steps/steps@0.2.0";
    let expected = ["configure", "parse-docket-completed", "step"];
    assert_eq!(functions, expected.map(|name| format!("{steps}#{name}")));
    let names = |resolve: &Resolve, world: &World| {
        let (interfaces, others) = interfaces(&world.exports);
        assert!(!others, "a function or type of its own");
        let names = interfaces.into_iter().map(|id| resolve.id_of(id));
        names.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names(&built, &built_world), names(&resolve, &world));
}

/// Its types are those of the WIT, named where the WIT names them.
#[test]
fn the_component_exports_all_types_of_the_wit() {
    let all = |resolve: &Resolve, world: &World| {
        let (exported, _) = interfaces(&world.exports);
        let mut all = Vec::new();
        for id in exported {
            let interface = resolve.id_of(id).unwrap();
            for (name, id) in &resolve.interfaces[id].types {
                all.push((
                    interface.clone(),
                    name.clone(),
                    shape(resolve, &Type::Id(*id)),
                ));
            }
        }
        all.sort();
        all
    };
    let (resolve, world) = wit();
    let (built, built_world) = decoded(&steps_component());
    assert_eq!(all(&built, &built_world), all(&resolve, &world));
}

#[test]
fn every_item_is_documented() {
    let (resolve, _) = wit();
    assert_eq!(undocumented(&resolve), Vec::<String>::new());
}

#[test]
fn neither_of_them_holds_a_path_of_a_machine() {
    assert_holds_no_path(&steps_component());
    assert_holds_no_path(&text_module());
}

#[test]
fn the_text_module_imports_nothing_and_exports_its_functions_only() {
    let module = Module::from_file(&Engine::default(), text_module()).expect("a core module");
    assert_eq!(module.imports().len(), 0);
    let exports: Vec<_> = module.exports().map(|export| export.name()).collect();
    let expected = [
        "memory",
        "input",
        "configure",
        "step",
        "parse_docket_completed",
        "mask",
    ];
    assert_eq!(exports, expected);
}

/// The text module in an engine that gives it nothing.
struct Text {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
}

impl Text {
    fn load() -> Self {
        let engine = Engine::default();
        let module = Module::from_file(&engine, text_module()).expect("a core module");
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("an instance");
        let memory = instance.get_memory(&mut store, "memory").expect("a memory");
        Self {
            store,
            instance,
            memory,
        }
    }

    fn function(&mut self, name: &str) -> TypedFunc<i32, i32> {
        let function = self.instance.get_typed_func(&mut self.store, name);
        function.expect("a function of one integer")
    }

    fn call(&mut self, name: &str, input: &Value) -> Value {
        let input = input.to_string();
        let (length, function) = (input.len() as i32, self.function(name));
        let buffer = self
            .function("input")
            .call(&mut self.store, length)
            .expect("a buffer");
        let written = self
            .memory
            .write(&mut self.store, buffer as usize, input.as_bytes());
        written.expect("room for it");
        let output = function.call(&mut self.store, length).expect("no trap") as usize;
        let memory = self.memory.data(&self.store);
        let length: [u8; 4] = memory[output..output + 4].try_into().unwrap();
        let length = u32::from_le_bytes(length) as usize;
        serde_json::from_slice(&memory[output + 4..][..length]).expect("JSON")
    }
}

#[test]
fn the_text_module_creates_a_docket_and_is_given_nothing_but_texts() {
    let mut text = Text::load();
    let environment = [
        ["VOICE_CALLING_BASE_URL", "https://api.example"],
        ["VOICE_CALLING_API_TOKEN", "token-of-a-test"],
    ];
    let configure = json!({"environment": environment, "random": {"Seed": 7}});
    assert_eq!(text.call("configure", &configure), json!({"Ok": null}));
    let request = json!({"agent_id": 7, "to_phone_number": "911234567890", "call_context": "{}"});
    let begin = json!({"Begin": {"operation": 1, "call": {"CreateDocketV2": request}}});
    let step = json!({"events": [begin], "now_ms": 0, "unix_s": 0});
    let begun = text.call("step", &step);
    let send = &begun["Ok"]["effects"][0]["Send"];
    assert_eq!(send["request"]["url"], "https://api.example/api/v2/dockets");
    let body = r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11"}"#;
    let answered = json!({"Answered": {
        "exchange": send["exchange"], "status": 200, "headers": [], "body": {"Text": body},
    }});
    let step = json!({"events": [answered], "now_ms": 5, "unix_s": 0});
    let stepped = text.call("step", &step);
    assert_eq!(stepped["Ok"]["wake_at_ms"], Value::Null);
    let created = &stepped["Ok"]["effects"][0]["Done"]["outcome"]["Ok"]["CreateDocketV2"];
    assert_eq!(created["docket_id"], "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11");
    assert_eq!(created["attempts"][0]["duration_ms"], 5);
}

#[test]
fn the_text_module_traps_where_its_host_writes_more_than_it_asked_for() {
    let mut text = Text::load();
    let (input, step) = (text.function("input"), text.function("step"));
    input.call(&mut text.store, 10).expect("a buffer");
    assert!(step.call(&mut text.store, 11).is_err());
}

#[test]
fn an_operation_under_way_takes_two_kilobytes_and_its_request() {
    let mut text = Text::load();
    let environment = [
        ["VOICE_CALLING_BASE_URL", "https://api.example"],
        ["VOICE_CALLING_API_TOKEN", "token-of-a-test"],
        ["VOICE_CALLING_MAX_IN_FLIGHT", "10000"],
    ];
    let configure = json!({"environment": environment, "random": {"Seed": 7}});
    text.call("configure", &configure);
    let request = json!({"agent_id": 7, "to_phone_number": "911234567890", "call_context": "{}"});
    let mut begin = |operations: std::ops::Range<u64>| {
        let begin = |operation| {
            let call = json!({"CreateDocketV2": request});
            json!({"Begin": {"operation": operation, "call": call}})
        };
        let events: Vec<_> = operations.map(begin).collect();
        let stepped = text.call("step", &json!({"events": events, "now_ms": 0, "unix_s": 0}));
        let sends = stepped["Ok"]["effects"].as_array().unwrap().len();
        assert_eq!(sends, events.len());
        text.memory.data_size(&text.store)
    };
    // What all of them need together is there after some.
    let before = begin(0..100);
    let mut after = before;
    for first in (100..10_000).step_by(100) {
        after = begin(first..first + 100);
    }
    let bytes = (after - before) / 9_900;
    assert!((1_000..2_500).contains(&bytes), "{bytes}");
}
