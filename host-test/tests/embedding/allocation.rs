//! Instances whose memory is from a pool: as many as there is room for, each as clean as
//! if it were the first.

use crate::stage::{create, creating_after_ms, large, pooling, settings};
use voice_calling_check::script::{Script, Sent};
use voice_calling_host::types::{CreatedDocketV2, RequestError};
use voice_calling_host::{Instance, Plugin};

/// Creates a docket: the result, and the requests.
async fn run(plugin: &Plugin) -> (Result<CreatedDocketV2, RequestError>, Vec<String>) {
    let script = creating_after_ms(0);
    let mut instance = instance(plugin, &script).await;
    let created = create(&mut instance, 0).await;
    let as_text = |sent: &Sent| {
        let body = String::from_utf8_lossy(&sent.body);
        format!("{} {}\n{:?}\n{body}", sent.method, sent.uri, sent.headers)
    };
    let sent = script.sent().iter().map(as_text).collect();
    (created, sent)
}

async fn instance(plugin: &Plugin, script: &Script) -> Instance {
    let instance = plugin.instantiate(settings(script.outgoing())).await;
    instance.expect("an instance")
}

#[tokio::test(start_paused = true)]
async fn one_more_than_there_is_room_for_is_an_error_that_says_so() {
    let script = creating_after_ms(0);
    let plugin = pooling(2);
    let mut first = instance(&plugin, &script).await;
    let second = instance(&plugin, &script).await;
    let one_more = plugin.instantiate(settings(script.outgoing())).await;
    let error = format!("{:#}", one_more.err().expect("no room"));
    let expected = "limit of 2 for component instances reached";
    assert!(error.contains(expected), "{error}");

    // Nothing happened to the others, and one that goes makes room.
    create(&mut first, 0).await.unwrap();
    drop(second);
    let mut third = instance(&plugin, &script).await;
    create(&mut third, 0).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_instance_has_nothing_of_the_one_that_was_in_its_place_even_if_it_was_stopped() {
    let script = creating_after_ms(0);
    let plugin = pooling(1);
    let untouched = run(&plugin).await;
    let initial_bytes = instance(&plugin, &script).await.memory_bytes();
    for (limit_bytes, is_stopped) in [(64 << 20, false), (4 << 20, true)] {
        let mut limited = settings(script.outgoing());
        limited.limits.memory_bytes = limit_bytes;
        let mut instance = plugin.instantiate(limited).await.unwrap();
        assert_eq!(instance.memory_bytes(), initial_bytes);
        let batch = vec![large(); 4];
        let created = instance.create_dockets_v2(&batch, 60_000, None).await;
        assert_eq!(created.is_err(), is_stopped);
        drop(instance);
        assert_eq!(run(&plugin).await, untouched);
    }
}
