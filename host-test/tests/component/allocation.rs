//! Instances with pooled memory: as many as fit, each as clean as the first.

use crate::compiled::{component_path, loading};
use crate::stage::{SATISFYING, Script, Step, create, settings};
use voice_calling_check::operation::item;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{Allocation, Loading, Plugin};

fn pooling(instances: u32) -> Plugin {
    let loading = Loading {
        allocation: Allocation::Pooling { instances },
        ..loading()
    };
    Plugin::load_with(&component_path(), &loading).expect("the component")
}

#[tokio::test(start_paused = true)]
async fn one_more_than_there_is_room_for_is_an_error_that_says_so() {
    let plugin = pooling(2);
    let script = Script::new([Step::ok(SATISFYING)]);
    let instance = async || plugin.instantiate(settings(&[], script.outgoing())).await;
    let mut first = instance().await.unwrap();
    let second = instance().await.unwrap();
    let error = format!("{:#}", instance().await.err().expect("no room"));
    let expected = "limit of 2 for component instances reached";
    assert!(error.contains(expected), "{error}");

    // The other instances are unaffected, and dropping one makes room.
    create(&mut first, 0).await.unwrap();
    drop(second);
    create(&mut instance().await.unwrap(), 0).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_instance_has_nothing_of_the_one_that_was_in_its_place_even_if_it_was_stopped() {
    let plugin = pooling(1);
    let script = Script::new([Step::ok(SATISFYING)]);
    let start = async |memory_bytes| {
        let mut limited = settings(&[], script.outgoing());
        limited.limits.memory_bytes = memory_bytes;
        plugin.instantiate(limited).await.unwrap()
    };
    let mut first = start(64 << 20).await;
    let initial_bytes = first.memory_bytes();
    let untouched = create(&mut first, 0).await;
    drop(first);
    let large = DocketRequestV2 {
        call_context: format!(r#"{{"note":"{}"}}"#, "x".repeat(1_000_000)),
        ..item(0)
    };
    for (limit_bytes, is_stopped) in [(64 << 20, false), (4 << 20, true)] {
        let mut instance = start(limit_bytes).await;
        assert_eq!(instance.memory_bytes(), initial_bytes);
        let batch = vec![large.clone(); 4];
        let created = instance.create_dockets_v2(&batch, 60_000, None).await;
        assert_eq!(created.is_err(), is_stopped);
        drop(instance);
        assert_eq!(create(&mut start(64 << 20).await, 0).await, untouched);
    }
}
