//! Shared instances whose memory is from a pool.

use crate::compiled::loading;
use crate::stage::{WASI_0_3, naming_each_docket_after_ms, thousands};
use futures_util::future::join_all;
use voice_calling_check::operation::{external_id, item};
use voice_calling_check::script::Script;
use voice_calling_host::{Allocation, Loading, Plugin, SharedInstance};

/// The component for WASI 0.3 with room for so many instances.
fn pooling_v0_3(instances: u32) -> Plugin {
    let loading = Loading {
        allocation: Allocation::Pooling { instances },
        ..loading()
    };
    Plugin::load_with(WASI_0_3.as_ref(), &loading).expect("the component for WASI 0.3")
}

async fn share(plugin: &Plugin, script: &Script) -> anyhow::Result<SharedInstance> {
    plugin.share(thousands(script)).await
}

/// A hundred calls at once, each of which gets its own answer.
async fn create_a_hundred(instance: &SharedInstance) {
    let created = join_all((0..100).map(async |number| {
        let created = instance.create_docket_v2(&item(number), None).await;
        (number, created.unwrap().unwrap())
    }));
    for (number, created) in created.await {
        assert_eq!(created.docket_id, external_id(number));
    }
}

#[tokio::test(start_paused = true)]
async fn shared_instances_from_a_pool_have_a_hundred_calls_in_flight_each() {
    let script = naming_each_docket_after_ms(50);
    let plugin = pooling_v0_3(3);
    let mut instances = Vec::new();
    for _ in 0..3 {
        instances.push(share(&plugin, &script).await.unwrap());
    }
    for round in 1..=3 {
        join_all(instances.iter().map(create_a_hundred)).await;
        assert_eq!(script.sent().len(), 300 * round);
    }
    assert_eq!(script.most_open(), 300);
    assert!(instances.iter().all(SharedInstance::is_sound));
}

#[tokio::test(start_paused = true)]
async fn one_shared_instance_more_than_there_is_room_for_is_an_error_that_says_so() {
    let script = naming_each_docket_after_ms(50);
    for room in [1, 3] {
        let plugin = pooling_v0_3(room);
        let mut instances = Vec::new();
        for _ in 0..room {
            instances.push(share(&plugin, &script).await.unwrap());
        }
        let one_more = share(&plugin, &script).await;
        let error = format!("{:#}", one_more.err().expect("no room"));
        let expected = format!("limit of {room} for component instances reached");
        assert!(error.contains(&expected), "{error}");

        // Nothing happened to the others, and one that goes makes room.
        join_all(instances.iter().map(create_a_hundred)).await;
        instances.pop();
        // It ends as a task of its own.
        tokio::task::yield_now().await;
        instances.push(share(&plugin, &script).await.unwrap());
        join_all(instances.iter().map(create_a_hundred)).await;
    }
}
