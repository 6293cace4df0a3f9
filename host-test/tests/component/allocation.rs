//! Instances whose memory is from a pool: as many as there is room for.

use crate::compiled::{component_path, loading};
use crate::stage::{SATISFYING, Script, Step, create, settings};
use voice_calling_host::{Allocation, Loading, Plugin};

#[tokio::test(start_paused = true)]
async fn one_more_than_there_is_room_for_is_an_error_that_says_so() {
    let loading = Loading {
        allocation: Allocation::Pooling { instances: 2 },
        ..loading()
    };
    let plugin = Plugin::load_with(&component_path(), &loading).expect("the component");
    let script = Script::new([Step::ok(SATISFYING)]);
    let instance = async || plugin.instantiate(settings(&[], script.outgoing())).await;
    let mut first = instance().await.unwrap();
    let second = instance().await.unwrap();
    let error = format!("{:#}", instance().await.err().expect("no room"));
    let expected = "limit of 2 for component instances reached";
    assert!(error.contains(expected), "{error}");

    // Nothing happened to the others, and one that goes makes room.
    create(&mut first, 0).await.unwrap();
    drop(second);
    create(&mut instance().await.unwrap(), 0).await.unwrap();
}
