//! Components of other worlds, whose memories and tables grow within the same limits.

use voice_calling_check::script::Script;
use voice_calling_host::{Allocation, InstanceSettings, Loading, Sandbox, SandboxInstance};

/// Returns an instance with each allocation that may grow to `limit_bytes`. It has a memory of this
/// kind, one page large, and a table of at most ten elements.
async fn growing(memory: &str, limit_bytes: usize) -> [SandboxInstance; 2] {
    let text = format!(
        r#"(component
            (core module $code
                (memory {memory})
                (table $table 1 10 funcref)
                (func (export "grow") (param i32) (result i32)
                    (memory.grow (local.get 0)))
                (func (export "grow-table") (param i32) (result i32)
                    (table.grow $table (ref.null func) (local.get 0))))
            (core instance $code (instantiate $code))
            (func (export "grow") (param "pages" u32) (result s32)
                (canon lift (core func $code "grow")))
            (func (export "grow-table") (param "elements" u32) (result s32)
                (canon lift (core func $code "grow-table"))))"#
    );
    let wasm = wat::parse_str(text).unwrap();
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

/// Calls a function that grows a memory or a table, and returns WebAssembly's result: the previous
/// size, or -1.
async fn grow(running: &mut SandboxInstance, function: &str, by: u32) -> anyhow::Result<i32> {
    let grown = running.call(async |store, instance| {
        let grow = instance.get_typed_func::<(u32,), (i32,)>(&mut *store, function)?;
        grow.call_async(store, (by,)).await
    });
    Ok(grown.await?.0)
}

const PAGE: usize = 65_536;

#[tokio::test]
async fn growth_beyond_the_maximum_of_a_memory_or_table_does_not_count_and_stops_no_guest() {
    for mut running in growing("1 4", 1 << 30).await {
        for _ in 0..100 {
            // 100 times 1 GiB, and more than exists.
            for pages in [16_000, 65_536] {
                assert_eq!(grow(&mut running, "grow", pages).await.unwrap(), -1);
            }
        }
        assert_eq!(running.memory_bytes(), PAGE);
        assert_eq!(grow(&mut running, "grow", 3).await.unwrap(), 1);
        assert_eq!(running.memory_bytes(), 4 * PAGE);
        let refused = grow(&mut running, "grow-table", 1_000_000).await;
        assert_eq!(refused.unwrap(), -1);
        assert!(running.is_alive());
    }
}

#[tokio::test]
async fn growth_beyond_the_limit_stops_the_guest() {
    for mut running in growing("1", 4 << 20).await {
        assert_eq!(grow(&mut running, "grow", 63).await.unwrap(), 1);
        let error = format!("{:#}", grow(&mut running, "grow", 1).await.unwrap_err());
        assert!(error.contains("the limit is 4194304"), "{error}");
        assert_eq!(running.memory_bytes(), 64 * PAGE);
        assert!(!running.is_alive());
    }
}
