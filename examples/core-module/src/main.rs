//! `core-module FILE NUMBER` calls the number: it creates a docket at the service that
//! `VOICE_CALLING_BASE_URL` and `VOICE_CALLING_API_TOKEN` name. FILE is
//! `voice-calling-sans-io.wasm`, a core module, which wasmi, an interpreter, runs. A program in
//! another language with another runtime would be the same: docs/sans-io.md has the rules.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::env;
use std::io::{self, Read};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use ureq::http::{Request, Response};
use ureq::{Agent, Body, Error, Timeout};
use wasmi::{Engine, Instance, Linker, Memory, Module, Store};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, number] = arguments.as_slice() else {
        bail!("usage: core-module FILE NUMBER");
    };
    let mut client = Client::load(&std::fs::read(file).context(file.clone())?)?;
    let environment: Vec<_> = env::vars()
        .filter(|(name, _)| name.starts_with("VOICE_CALLING_"))
        .collect();
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos();
    let settings = json!({ "environment": environment, "seed": seed });
    if let Some(error) = client.call("configure", &settings)?.get("Err") {
        bail!("{error}");
    }
    let call = json!({ "CreateDocketV2": {
        "agent_id": 7,
        "to_phone_number": number,
        "call_context": r#"{"reference":"crm-1001"}"#,
        "external_id": "crm-1001",
    }});
    match run(&mut client, call)? {
        outcome if outcome["Ok"].is_object() => {
            println!("docket {}", outcome["Ok"]["CreateDocketV2"]["docket_id"]);
            Ok(())
        }
        outcome => bail!("{}", outcome["Err"]),
    }
}

/// Runs an operation from its beginning to its end.
fn run(client: &mut Client, call: Value) -> Result<Value> {
    let began = Instant::now();
    let mut events = vec![json!({ "Begin": { "operation": 1, "call": call } })];
    loop {
        let now_ms = began.elapsed().as_millis() as u64;
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let step = json!({ "events": events, "now_ms": now_ms, "unix_s": unix_s });
        let stepped = client.call("step", &step)?["Ok"].take();
        events.clear();
        for effect in stepped["effects"].as_array().into_iter().flatten() {
            if let Some(done) = effect.get("Done") {
                return Ok(done["outcome"].clone());
            } else if let Some(line) = effect["Log"].as_str() {
                eprintln!("{line}");
            } else if let Some(send) = effect.get("Send") {
                // No other exchange is open, so its events are passed on before the next step.
                events = exchange(send)?;
            }
        }
        if events.is_empty() {
            let wake_at_ms = stepped["wake_at_ms"]
                .as_u64()
                .context("nothing is left to do")?;
            sleep(Duration::from_millis(wake_at_ms).saturating_sub(began.elapsed()));
        }
    }
}

/// Sends a request once, and returns the resulting events.
fn exchange(send: &Value) -> Result<Vec<Value>> {
    let exchange = &send["exchange"];
    let request = &send["request"];
    let ms = |name: &str| request[name].as_u64().map(Duration::from_millis);
    // A new connection for each request: a kept one may be closed during a request.
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections(0)
        .timeout_connect(ms("connect_ms"))
        .timeout_global(ms("attempt_ms"))
        .build()
        .into();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut builder = Request::builder()
        .method(text(&request["method"]).as_str())
        .uri(text(&request["url"]));
    for header in request["headers"].as_array().into_iter().flatten() {
        builder = builder.header(text(&header[0]), text(&header[1]));
    }
    let most = request["max_response_bytes"].as_u64().unwrap_or(0) + 1;
    match agent.run(builder.body(text(&request["body"]))?) {
        Ok(response) => Ok(answer(exchange, response, most)),
        Err(error) => {
            let delivery = if was_not_sent(&error) {
                "NotSent"
            } else {
                "Unknown"
            };
            let message = error.to_string();
            let failed = json!({ "exchange": exchange, "delivery": delivery, "message": message });
            Ok(vec![json!({ "Failed": failed })])
        }
    }
}

/// Returns `true` for errors that ureq documents as before the first byte. All others are unknown.
fn was_not_sent(error: &Error) -> bool {
    match error {
        Error::HostNotFound | Error::ConnectionFailed => true,
        Error::Timeout(timeout) => matches!(timeout, Timeout::Resolve | Timeout::Connect),
        Error::Io(error) => error.kind() == io::ErrorKind::ConnectionRefused,
        _ => false,
    }
}

/// Returns the events of an answer, even if it ends early: its head alone may decide.
fn answer(exchange: &Value, response: Response<Body>, most: u64) -> Vec<Value> {
    let (head, body) = response.into_parts();
    let headers: Vec<_> = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())))
        .collect();
    let mut bytes = Vec::new();
    let read = body.into_reader().take(most).read_to_end(&mut bytes);
    let error = read.err().map(|error| error.to_string());
    let status = head.status.as_u16();
    vec![
        json!({ "Head": { "exchange": exchange, "status": status, "headers": headers } }),
        json!({ "Chunk": { "exchange": exchange, "bytes": { "Bytes": bytes } } }),
        json!({ "Ended": { "exchange": exchange, "error": error } }),
    ]
}

/// The core module: JSON in, JSON out.
struct Client {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
    /// The address of the mailbox.
    mailbox: usize,
}

impl Client {
    fn load(wasm: &[u8]) -> Result<Self> {
        let engine = Engine::default();
        let module = Module::new(&engine, wasm)?;
        let mut store = Store::new(&engine, ());
        // The module has no imports.
        let instance = Linker::new(&engine).instantiate_and_start(&mut store, &module)?;
        let memory = instance.get_memory(&store, "memory").context("no memory")?;
        let mailbox = instance.get_typed_func::<(), u32>(&store, "mailbox")?;
        Ok(Self {
            mailbox: mailbox.call(&mut store, ())? as usize,
            store,
            instance,
            memory,
        })
    }

    fn call(&mut self, function: &str, input: &Value) -> Result<Value> {
        let reserve = self
            .instance
            .get_typed_func::<u32, ()>(&self.store, "reserve")?;
        let called = self
            .instance
            .get_typed_func::<(), ()>(&self.store, function)?;
        let input = input.to_string();
        let length = u32::try_from(input.len())?;
        reserve.call(&mut self.store, length)?;
        let [at, ..] = self.mailbox()?;
        let store = &mut self.store;
        self.memory.write(&mut *store, at, input.as_bytes())?;
        self.memory
            .write(&mut *store, self.mailbox + 4, &length.to_le_bytes())?;
        called.call(&mut *store, ())?;
        let [_, _, at, length] = self.mailbox()?;
        let mut output = vec![0; length];
        self.memory.read(&self.store, at, &mut output)?;
        let output: Value = serde_json::from_slice(&output)?;
        match output.get("misuse") {
            Some(misuse) => bail!("{function}: {misuse}"),
            None => Ok(output),
        }
    }

    /// Returns the numbers in the mailbox.
    fn mailbox(&self) -> Result<[usize; 4]> {
        let mut numbers = [[0; 4]; 4];
        self.memory
            .read(&self.store, self.mailbox, numbers.as_flattened_mut())?;
        Ok(numbers.map(|number| u32::from_le_bytes(number) as usize))
    }
}
