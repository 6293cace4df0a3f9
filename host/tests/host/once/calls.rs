//! The functions of its host that the component for WASI 0.2 calls. Each call costs both some CPU:
//! what calls more of them is noticed here.

use std::fmt;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Subscriber, subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use voice_calling_test_guests::{
    Operation, SATISFYING, Script, Step, both_plugins, run_in, settings,
};

/// The names of the functions that were called, in their order. Wasmtime begins a span for each,
/// except for those that drop a resource.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Calls {
    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        if span.metadata().name() == "wit-bindgen import" {
            span.record(&mut self.clone());
        }
    }
}

impl Visit for Calls {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "function" {
            let name = format!("{value:?}").replace('"', "");
            self.0.lock().unwrap().push(name);
        }
    }
}

/// The calls of a read. Those that are in no line of their own are in both.
const READ: &str = "
    now
    [static]fields.from-list [constructor]outgoing-request
    [method]outgoing-request.set-scheme [method]outgoing-request.set-authority
    [method]outgoing-request.set-path-with-query
    [constructor]request-options [method]request-options.set-connect-timeout
    [method]request-options.set-first-byte-timeout
    handle [method]future-incoming-response.subscribe subscribe-duration poll
    [method]future-incoming-response.get
    [method]incoming-response.consume [method]incoming-response.headers [method]fields.entries
    [method]incoming-body.stream [method]incoming-response.status
    [method]input-stream.read [method]input-stream.read
    now";

/// Those of a create.
const CREATE: &str = "
    now
    [static]fields.from-list [constructor]outgoing-request [method]outgoing-request.set-method
    [method]outgoing-request.set-scheme [method]outgoing-request.set-authority
    [method]outgoing-request.set-path-with-query
    [method]outgoing-request.body [method]outgoing-body.write
    [method]output-stream.check-write [method]output-stream.write [method]output-stream.flush
    [method]output-stream.check-write [static]outgoing-body.finish
    [constructor]request-options [method]request-options.set-connect-timeout
    [method]request-options.set-first-byte-timeout
    handle [method]future-incoming-response.subscribe subscribe-duration poll
    [method]future-incoming-response.get
    [method]incoming-response.consume [method]incoming-response.headers [method]fields.entries
    [method]incoming-body.stream [method]incoming-response.status
    [method]input-stream.read [method]input-stream.read
    now";

#[tokio::test(start_paused = true)]
async fn an_operation_of_an_instance_that_has_run_one_before_makes_these_calls() {
    let [plugin, _] = both_plugins();
    for (operation, expected) in [
        (Operation::GetDocket, READ),
        (Operation::CreateDocketV2, CREATE),
    ] {
        let script = Script::new([Step::ok(SATISFYING)]);
        let settings = settings(&[], script.outgoing());
        let mut instance = plugin.instantiate(settings).await.expect("an instance");
        run_in(&mut instance, operation).await.unwrap();

        let calls = Calls::default();
        let guard = subscriber::set_default(Registry::default().with(calls.clone()));
        run_in(&mut instance, operation).await.unwrap();
        drop(guard);
        let called = calls.0.lock().unwrap();
        let expected: Vec<_> = expected.split_whitespace().collect();
        assert_eq!(*called, expected, "{operation}");
    }
}
