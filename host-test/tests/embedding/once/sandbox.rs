//! Components of other worlds than ours: they get what ours gets, within the same limits.

use std::time::Duration;
use voice_calling_check::script::Script;
use voice_calling_host::{InstanceSettings, Loading, Running, Sandbox};

/// Exports a function that doubles, and one that never returns.
const OTHER_WORLD: &str = r#"(component
    (core module $code
        (func (export "double") (param i32) (result i32)
            (i32.mul (local.get 0) (i32.const 2)))
        (func (export "endless") (loop (br 0))))
    (core instance $code (instantiate $code))
    (func (export "double") (param "number" u32) (result u32)
        (canon lift (core func $code "double")))
    (func (export "endless")
        (canon lift (core func $code "endless"))))"#;

fn sandbox(text: &str) -> anyhow::Result<Sandbox> {
    let wasm = wat::parse_str(text).unwrap();
    Sandbox::compile(&wasm, &Loading::default())
}

async fn running() -> Running {
    let no_environment: [(&str, &str); 0] = [];
    let mut settings = InstanceSettings::new(no_environment, Script::new([]).outgoing());
    settings.limits.computing = Duration::from_millis(50);
    let sandbox = sandbox(OTHER_WORLD).unwrap();
    assert!(sandbox.imports().is_empty());
    sandbox.instantiate(settings).await.unwrap()
}

#[tokio::test]
async fn a_component_of_another_world_is_called_by_bindings_of_the_caller() {
    let mut running = running().await;
    for (number, expected) in [(21, 42), (4, 8)] {
        let doubled = running
            .call(async |store, instance| {
                let double = instance.get_typed_func::<(u32,), (u32,)>(&mut *store, "double")?;
                double.call_async(store, (number,)).await
            })
            .await;
        assert_eq!(doubled.unwrap(), (expected,));
    }
    assert_eq!(running.calls(), 2);
    assert!(running.is_sound());
}

#[tokio::test]
async fn a_component_of_another_world_that_loops_is_stopped_as_ours_is() {
    let mut running = running().await;
    let looped = running
        .call(async |store, instance| {
            let endless = instance.get_typed_func::<(), ()>(&mut *store, "endless")?;
            endless.call_async(store, ()).await
        })
        .await;
    let error = format!("{:#}", looped.unwrap_err());
    assert!(error.contains("computed for longer than 50 ms"), "{error}");
    assert!(!running.is_sound());
}

#[test]
fn a_component_that_wants_more_than_ours_is_refused_with_the_name_of_it() {
    let exit = r#"(component (import "wasi:cli/exit@0.2.0" (instance
        (export "exit" (func (param "status" (result)))))))"#;
    let sandbox = sandbox(exit);
    let error = format!("{:#}", sandbox.err().expect("it is refused"));
    assert!(
        error.contains("imports what the harness does not give") && error.contains("wasi:cli/exit"),
        "{error}"
    );
}
