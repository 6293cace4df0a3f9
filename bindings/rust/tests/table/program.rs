//! Faults of the caller's own program. A relay between the client and the judge holds the first
//! exchange at a step until the program has acted.

use crate::log::Log;
use crate::machine_form::{error_in_machine_form, in_machine_form};
use crate::relay::Relay;
use crate::{Arguments, builder, call, client, reported};
use futures_util::stream::iter;
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody};
use serde_json::{Value, json};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{spawn_blocking, yield_now};
use voice_calling::transport::{
    Delivery, Limits, RequestBody, ResponseBody, SendError, Sending, Transport,
};
use voice_calling::{Batch, Client};
use voice_calling_cases::{At, Fault, Program, Task};
use voice_calling_net::{Network, Proxies, Trust};

const A_MINUTE: Duration = Duration::from_secs(60);

const BATCH: &str = "bulk.create-dockets-v2";

const RETURNS_AT_ONCE: &str = "a future returns in the poll in which the end of the answer comes";

/// Why the language has no such step.
fn why_not(task: &Task, program: Program) -> Option<&'static str> {
    let is_batch = task.operation == BATCH;
    match (program.does, program.at) {
        (Fault::Close, At::End) => Some(RETURNS_AT_ONCE),
        // The task of a batch goes on without its caller.
        (Fault::Interrupt, At::End | At::Result) if !is_batch => Some(RETURNS_AT_ONCE),
        _ => None,
    }
}

/// The steps that the language has not, as the judge lists them.
pub(crate) fn unsupported_in(tasks: &[Task]) -> Vec<(String, String)> {
    let reasons = tasks.iter().filter_map(|task| {
        let reason = why_not(task, task.program?)?;
        Some((task.name.clone(), reason.to_owned()))
    });
    reasons.collect()
}

/// Plays a case in which the program interferes.
pub(crate) async fn play(task: &Task, program: Program, log: &Log) -> Value {
    if let Some(reason) = why_not(task, program) {
        return json!({ "unsupported": reason });
    }
    log.take_lines();
    let relay = Relay::to(&task.settings["VOICE_CALLING_BASE_URL"], program.at).await;
    let relay = Arc::new(relay);
    let mut outcome = match program.does {
        Fault::ConnectionError => on_a_transport_that_fails(task, relay.clone(), program.at).await,
        Fault::Close => in_a_runtime_that_ends(task, &relay, program.at).await,
        Fault::Interrupt | Fault::Leave if task.operation == BATCH => {
            leave_batch(task, &relay, program.at).await
        }
        Fault::Interrupt | Fault::Leave => drop_operation(task, &relay, program.at).await,
    };
    outcome["log"] = log.take_lines().into();
    outcome
}

fn relayed(task: &Task, relay: &Relay) -> Client {
    client(&task.settings, Some(&relay.base_url)).unwrap()
}

async fn drop_operation(task: &Task, relay: &Relay, at: At) -> Value {
    let client = relayed(task, relay);
    let operation = call(&client, task);
    if at == At::BeforeRequest {
        drop(operation);
        return json!({ "value": null });
    }
    tokio::select! {
        outcome = operation => reported(outcome),
        () = relay.reached(1) => json!({ "value": null }),
    }
}

async fn leave_batch(task: &Task, relay: &Arc<Relay>, at: At) -> Value {
    let given = Arguments::of(task);
    let client = relayed(task, relay);
    let runtime = runtime();
    let until = relay.clone();
    let left = runtime.spawn(async move {
        let mut results = vec![Value::Null; given.requests().len()];
        let mut batch = client
            .create_dockets_v2(given.requests(), given.timeout())
            .unwrap();
        match at {
            At::Result => drop(read_one(&mut batch, &mut results).await),
            _ => {
                batch.start();
                until.reached(results.len()).await;
            }
        }
        results
    });
    let results = left.await.unwrap();
    relay.release();
    // The batch goes on in a task until what it has sent is answered.
    let tasks = runtime.metrics();
    let ended = async {
        while tasks.num_alive_tasks() > 0 {
            yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(A_MINUTE, ended).await;
    in_time.expect("the end of the batch");
    end(runtime).await;
    json!({ "value": results })
}

fn runtime() -> Runtime {
    let mut runtime = Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap()
}

async fn end(runtime: Runtime) {
    let ended = spawn_blocking(move || runtime.shutdown_timeout(A_MINUTE));
    ended.await.unwrap();
}

/// Reads a batch, and keeps what came.
async fn read_all(client: &Client, given: &Arguments, kept: &Mutex<Value>) {
    let mut results = vec![Value::Null; given.requests().len()];
    let batch = client.create_dockets_v2(given.requests(), given.timeout());
    let mut batch = batch.unwrap();
    while read_one(&mut batch, &mut results).await {
        *kept.lock().unwrap() = results.clone().into();
    }
}

/// Reads the next result of a batch; `false` where there is none.
pub(crate) async fn read_one(batch: &mut Batch, results: &mut [Value]) -> bool {
    let Some((index, result)) = batch.next().await else {
        return false;
    };
    results[index] = match result {
        Ok(created) => json!({ "ok": in_machine_form(&created.answer) }),
        Err(error) => json!({ "error": error_in_machine_form(&error) }),
    };
    true
}

async fn in_a_runtime_that_ends(task: &Task, relay: &Relay, at: At) -> Value {
    let client = relayed(task, relay);
    if at == At::BeforeRequest {
        drop(client);
        return json!({ "value": null });
    }
    let runtime = runtime();
    let (operation, had) = (task.clone(), Arc::new(Mutex::new(Value::Null)));
    let kept = had.clone();
    runtime.spawn(async move {
        match operation.operation.as_str() {
            BATCH => read_all(&client, &Arguments::of(&operation), &kept).await,
            _ => *kept.lock().unwrap() = reported(call(&client, &operation).await),
        }
    });
    let requests = match task.operation.as_str() {
        BATCH => Arguments::of(task).requests().len(),
        _ => 1,
    };
    relay.reached(requests).await;
    end(runtime).await;
    json!({ "value": had.lock().unwrap().take() })
}

/// The user's own transport, which reports a connection error for every request.
async fn on_a_transport_that_fails(task: &Task, relay: Arc<Relay>, at: At) -> Value {
    let base_url = relay.base_url.clone();
    let tls = Trust::default().client().unwrap();
    let network = Network::new(tls, Proxies::none());
    let builder = builder(&task.settings).base_url(base_url);
    let client = builder.transport(Failing { network, relay, at }).build();
    reported(call(&client.unwrap(), task).await)
}

struct Failing {
    network: Network<RequestBody>,
    relay: Arc<Relay>,
    at: At,
}

impl Transport for Failing {
    fn send(&self, request: Request<RequestBody>, _: Limits) -> Sending {
        let sending = self.network.send(request, A_MINUTE);
        let (relay, at) = (self.relay.clone(), self.at);
        Box::pin(async move {
            let failed = |()| SendError::new(Delivery::NotSent, "the connection is gone");
            if at == At::BeforeRequest {
                return Err(failed(()));
            }
            let response = tokio::select! {
                () = relay.reached(1), if at == At::RequestBegun => return Err(failed(())),
                response = sending => response.map_err(|_| failed(()))?,
            };
            if at == At::Head {
                return Err(failed(()));
            }
            // The body breaks after its first piece.
            let (head, mut body) = response.into_parts();
            let piece = body.frame().await.unwrap().map_err(io::Error::other);
            let pieces = iter([piece, Err(io::ErrorKind::ConnectionReset.into())]);
            let body = ResponseBody::new(StreamBody::new(pieces));
            Ok(Response::from_parts(head, body))
        })
    }
}
