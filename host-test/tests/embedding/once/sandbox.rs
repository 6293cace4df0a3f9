//! Components of other worlds than ours: they get what ours gets, within the same limits.

use std::time::Duration;
use voice_calling_check::script::Script;
use voice_calling_host::{Allocation, InstanceSettings, Loading, Running, Sandbox};

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

/// Of each allocation an instance with a memory of one page, and a table of one element, with
/// these limits of their own. It may grow to so many bytes.
async fn growing(memory: &str, table: &str, limit_bytes: usize) -> [Running; 2] {
    let text = format!(
        r#"(component
            (core module $code
                (memory {memory})
                (table $table {table} funcref)
                (func (export "grow") (param i64) (result i64)
                    MEMORY_GROW)
                (func (export "grow-table") (param i32) (result i32)
                    (table.grow $table (ref.null func) (local.get 0))))
            (core instance $code (instantiate $code))
            (func (export "grow") (param "pages" u64) (result s64)
                (canon lift (core func $code "grow")))
            (func (export "grow-table") (param "elements" u32) (result s32)
                (canon lift (core func $code "grow-table"))))"#
    );
    let grow = match memory.starts_with("i64") {
        true => "(memory.grow (local.get 0))",
        false => "(i64.extend_i32_s (memory.grow (i32.wrap_i64 (local.get 0))))",
    };
    let wasm = wat::parse_str(text.replace("MEMORY_GROW", grow)).unwrap();
    let pooling = Allocation::Pooling { instances: 1 };
    let running = async |allocation| {
        let loading = Loading {
            allocation,
            ..Loading::default()
        };
        let no_environment: [(&str, &str); 0] = [];
        let mut settings = InstanceSettings::new(no_environment, Script::new([]).outgoing());
        settings.limits.memory_bytes = limit_bytes;
        let sandbox = Sandbox::compile(&wasm, &loading).unwrap();
        sandbox.instantiate(settings).await.unwrap()
    };
    [running(Allocation::OnDemand).await, running(pooling).await]
}

/// What `memory.grow` gives.
async fn grow(running: &mut Running, pages: u64) -> anyhow::Result<i64> {
    let grown = running.call(async |store, instance| {
        let grow = instance.get_typed_func::<(u64,), (i64,)>(&mut *store, "grow")?;
        grow.call_async(store, (pages,)).await
    });
    Ok(grown.await?.0)
}

const PAGE: usize = 65_536;
const GIB: usize = 1 << 30;

#[tokio::test]
async fn growth_beyond_the_maximum_of_a_memory_does_not_count_and_stops_nobody() {
    for mut running in growing("1 4", "1", GIB).await {
        for _ in 0..100 {
            // 100 times 1 GiB, and more than there is.
            for pages in [16_000, 65_536] {
                assert_eq!(grow(&mut running, pages).await.unwrap(), -1);
            }
        }
        assert_eq!(running.memory_bytes(), PAGE);
        for pages in 1..4 {
            assert_eq!(grow(&mut running, 1).await.unwrap(), pages);
            assert_eq!(grow(&mut running, 4).await.unwrap(), -1);
        }
        assert_eq!(running.memory_bytes(), 4 * PAGE);
        assert!(running.is_sound());
    }
}

/// No machine has 1 PiB; a pool has 4 GiB for each memory.
#[tokio::test]
async fn growth_that_the_engine_refuses_does_not_count_and_stops_nobody() {
    const PIB: usize = 1 << 50;
    for mut running in growing("i64 1", "1", PIB + GIB).await {
        for _ in 0..3 {
            let refused = grow(&mut running, (PIB / PAGE) as u64).await;
            assert_eq!(refused.unwrap(), -1);
            assert_eq!(running.memory_bytes(), PAGE);
        }
        assert_eq!(grow(&mut running, 1).await.unwrap(), 1);
        assert_eq!(running.memory_bytes(), 2 * PAGE);
    }
}

#[tokio::test]
async fn growth_that_was_refused_is_no_credit_for_growth_beyond_the_limit() {
    for mut running in growing("1", "1", 64 * PAGE).await {
        for pages in 1..64 {
            assert_eq!(grow(&mut running, 1).await.unwrap(), pages);
            assert_eq!(grow(&mut running, 65_536).await.unwrap(), -1);
        }
        let error = format!("{:#}", grow(&mut running, 1).await.unwrap_err());
        assert!(error.contains("the limit is 4194304"), "{error}");
        assert_eq!(running.memory_bytes(), 64 * PAGE);
    }
}

#[tokio::test]
async fn growth_beyond_the_maximum_of_a_table_stops_nobody() {
    for mut running in growing("1", "1 10", GIB).await {
        let grown = running.call(async |store, instance| {
            let grow = instance.get_typed_func::<(u32,), (i32,)>(&mut *store, "grow-table")?;
            grow.call_async(store, (1_000_000,)).await
        });
        assert_eq!(grown.await.unwrap(), (-1,));
    }
}
