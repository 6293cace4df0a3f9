//! The table of cases, which judges clients in all languages.

#[path = "../log.rs"]
mod log;
mod machine_form;
mod program;
mod relay;

use futures_util::stream::{StreamExt, iter};
use machine_form::{error_in_machine_form, in_machine_form};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use voice_calling::{
    AgentConfig, Builder, CallRequest, Client, DocketRequest, DocketRequestV2, Error, Ledger,
    Recorded, Wait, webhooks,
};
use voice_calling_cases::{Json, Judge, Once, Table, Task};

/// The number of cases that are played concurrently.
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn the_client_does_what_every_case_says() {
    let log = log::Log::default();
    tracing::subscriber::set_global_default(log.subscriber()).unwrap();
    let table = Table::read(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../host-test/cases/table"
    )));
    let judge = Judge::start(table.unwrap(), 0).await.unwrap();
    let tasks = judge.tasks("rust");
    // The log of a program is its own.
    let (programs, calls): (Vec<_>, Vec<_>) = tasks.iter().partition(|it| it.program.is_some());
    for task in programs {
        let program = task.program.expect("a program");
        judged(&judge, task, program::play(task, program, &log).await).await;
    }
    iter(calls)
        .for_each_concurrent(AT_ONCE, async |task| {
            let outcome = match &task.once {
                Some(once) => play_once(task, once).await,
                None => play(task).await,
            };
            judged(&judge, task, outcome).await;
        })
        .await;
    let summary = judge.summary("rust");
    assert_eq!(summary.failed, []);
    assert_eq!(summary.not_judged, [""; 0]);
    assert_eq!(summary.judged, tasks.len());
    assert_eq!(summary.unsupported, program::unsupported_in(&tasks));
}

async fn judged(judge: &Judge, task: &Task, outcome: Value) {
    let report = serde_json::from_str(&outcome.to_string()).unwrap();
    // The summary has the differences of all.
    judge.judge("rust", task.id, report).await.unwrap();
}

async fn play(task: &Task) -> Value {
    reported(match client(&task.settings, None) {
        _ if task.operation == PARSE => parse(task),
        Ok(client) => call(&client, task).await,
        Err(error) => Err(error),
    })
}

/// The same for a create with a key, after the earlier calls with it, each by a client of its own.
async fn play_once(task: &Task, once: &Once) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut outcome = Ok(Value::Null);
    for arguments in once.earlier.iter().chain([&task.arguments]) {
        let task = Task {
            arguments: arguments.clone(),
            ..task.clone()
        };
        let ledger = Ledger::open(folder.path().join("calls.db")).unwrap();
        let client = builder(&task.settings).ledger(ledger).build().unwrap();
        outcome = call(&client.with_key(&*once.key), &task).await;
    }
    reported(outcome)
}

fn recorded(recorded: Recorded<impl Serialize>) -> Value {
    let mut value = in_machine_form(&recorded.answer);
    if recorded.from_ledger {
        value["from_ledger"] = true.into();
    }
    value
}

/// An outcome as the judge takes it.
pub fn reported(outcome: Result<Value, Error>) -> Value {
    match outcome {
        Ok(value) => json!({ "value": value }),
        Err(error) => json!({ "error": error_in_machine_form(&error) }),
    }
}

/// A client with these variables, and perhaps another base URL.
pub fn client(
    settings: &BTreeMap<String, String>,
    base_url: Option<&str>,
) -> Result<Client, Error> {
    match base_url {
        Some(base_url) => builder(settings).base_url(base_url).build(),
        None => builder(settings).build(),
    }
}

fn builder(settings: &BTreeMap<String, String>) -> Builder {
    settings
        .iter()
        .fold(Client::builder(), |builder, (name, value)| {
            builder.setting(name.trim_start_matches("VOICE_CALLING_"), value)
        })
}

/// The one function that needs no client.
const PARSE: &str = "webhooks.parse-docket-completed";

fn parse(task: &Task) -> Result<Value, Error> {
    let body = Arguments::of(task).body;
    Ok(in_machine_form(&webhooks::parse_docket_completed(&body)?))
}

/// Calls the operation of a case.
pub async fn call(client: &Client, task: &Task) -> Result<Value, Error> {
    let given = Arguments::of(task);
    let client = given.options(client.clone());
    Ok(match task.operation.as_str() {
        "agents.create-agent" => {
            let config: AgentConfig = record(task, "config");
            recorded(client.create_agent(&config).await?)
        }
        "agents.list-agents" => in_machine_form(&client.list_agents(&given.organization_id).await?),
        "calls.make-call" => {
            let request: CallRequest = record(task, "request");
            recorded(client.make_call(&request).await?)
        }
        "calls.get-call-details" => {
            in_machine_form(&client.get_call_details(&given.task_id).await?)
        }
        "calls.wait-for-call-details" => {
            let waited = client.wait_for_call_details(&given.task_id, given.wait());
            in_machine_form(&waited.await?)
        }
        "dockets.create-docket" => {
            let request: DocketRequest = record(task, "request");
            recorded(client.create_docket(&request).await?)
        }
        "dockets.create-docket-v2" => {
            let request: DocketRequestV2 = record(task, "request");
            recorded(client.create_docket_v2(&request).await?)
        }
        "dockets.get-docket" => in_machine_form(&client.get_docket(&given.docket_id).await?),
        "dockets.wait-for-docket" => {
            let waited = client.wait_for_docket(&given.docket_id, given.wait());
            in_machine_form(&waited.await?)
        }
        "bulk.create-dockets-v2" => {
            let mut results = vec![Value::Null; given.requests.len()];
            let mut batch = client.create_dockets_v2(given.requests(), given.timeout())?;
            while program::read_one(&mut batch, &mut results).await {}
            results.into()
        }
        "webhooks.verify-docket-completed" => {
            in_machine_form(&client.verify_docket_completed(&given.body).await?)
        }
        other => panic!("unknown operation {other}"),
    })
}

/// The arguments of a case, of which each function has its own.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    organization_id: String,
    task_id: String,
    docket_id: String,
    body: String,
    requests: Vec<Json>,
    timeout_ms: u64,
    wait: Waiting,
    options: Options,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Waiting {
    timeout_ms: u64,
    not_found_is_pending: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Options {
    account: Option<String>,
    deadline_ms: Option<u64>,
    max_attempts: Option<u32>,
}

impl Arguments {
    /// Reads the arguments of a case.
    fn of(task: &Task) -> Self {
        serde_json::from_str(task.arguments.get()).unwrap()
    }

    /// The requests of a batch.
    fn requests(&self) -> Vec<DocketRequestV2> {
        self.requests.iter().map(read).collect()
    }

    /// The time of a batch.
    fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    fn wait(&self) -> Wait {
        let wait = Wait::within(Duration::from_millis(self.wait.timeout_ms));
        match self.wait.not_found_is_pending {
            Some(is_pending) => wait.not_found_is_pending(is_pending),
            None => wait,
        }
    }

    fn options(&self, mut client: Client) -> Client {
        if let Some(account) = &self.options.account {
            client = client.with_account(account.clone());
        }
        if let Some(deadline_ms) = self.options.deadline_ms {
            client = client.with_deadline(Duration::from_millis(deadline_ms));
        }
        if let Some(max_attempts) = self.options.max_attempts {
            client = client.with_max_attempts(max_attempts);
        }
        client
    }
}

/// The record of that name among the arguments, or all of them in its place.
fn record<R: DeserializeOwned>(task: &Task, name: &str) -> R {
    let arguments = Json::parse(task.arguments.get()).unwrap();
    read(arguments.get(name).unwrap_or(&arguments))
}

/// A record of the client, with free-form JSON as the text that it takes.
fn read<R: DeserializeOwned>(record: &Json) -> R {
    let text = as_the_client_takes_it(record).to_string();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn as_the_client_takes_it(record: &Json) -> Json {
    let Json::Object(members) = record else {
        panic!("{record}")
    };
    let is_docket = record.get("agent_id").is_some();
    let members = members.iter().map(|(name, value)| {
        let value = match (name.as_str(), value) {
            // The pairs of a call.
            ("call_context", Json::Object(texts)) if !is_docket => {
                let pair = |(name, text): &(String, Json)| {
                    Json::Array(vec![Json::Text(name.clone()), text.clone()])
                };
                Json::Array(texts.iter().map(pair).collect())
            }
            ("prompt" | "welcome_text", Json::Object(_)) => as_the_client_takes_it(value),
            ("call_context" | "tools" | "extra", Json::Object(_) | Json::Array(_)) => {
                Json::Text(value.to_string())
            }
            (_, value) => value.clone(),
        };
        (name.clone(), value)
    });
    Json::Object(members.collect())
}
