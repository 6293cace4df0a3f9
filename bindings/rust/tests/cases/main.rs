//! The table of cases, which judges clients in all languages.

mod log;
mod machine_form;
mod program;
mod relay;

use machine_form::{error_in_machine_form, in_machine_form};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use voice_calling::{
    Builder, CallRequest, Client, DocketRequest, DocketRequestV2, Error, Wait, webhooks,
};
use voice_calling_cases::{Json, Judge, Program, Table};

/// A case as the judge hands it out.
#[derive(Clone, serde::Deserialize)]
pub struct Task {
    id: usize,
    name: String,
    operation: String,
    arguments: Box<RawValue>,
    settings: BTreeMap<String, String>,
    program: Option<Program>,
}

/// A run of the table.
pub struct Run {
    url: String,
    http: reqwest::Client,
}

impl Run {
    async fn ask(&self, path: &str) -> Value {
        let answer = self
            .http
            .get(format!("{}{path}", self.url))
            .send()
            .await
            .unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }

    /// Reports the outcome of a case.
    async fn report(&self, task: &Task, outcome: &Value) {
        let url = format!("{}/cases/{}/outcome", self.url, task.id);
        let body = serde_json::to_vec(outcome).unwrap();
        let answer = self.http.post(url).body(body).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_does_what_every_case_says() {
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().expect("no other provider");
    let log = log::Log::of_process();
    let table = Table::read(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../host-test/cases/table"
    )));
    let judge = Judge::start(table.unwrap(), 0).await.unwrap();
    let run = Run {
        url: format!("{}/runs/rust", judge.base_url()),
        http: reqwest::Client::builder().no_proxy().build().unwrap(),
    };
    let tasks: Vec<Task> = serde_json::from_value(run.ask("").await).unwrap();
    for task in &tasks {
        match &task.program {
            Some(program) => program::play(&run, task, *program, &log).await,
            None => play(&run, task).await,
        }
    }
    let summary = run.ask("/summary").await;
    assert_eq!(summary["failed"], json!([]));
    assert_eq!(summary["not_judged"], json!([]));
    assert_eq!(summary["judged"], json!(tasks.len()));
    assert_eq!(summary["not_had"], program::not_had_in(&tasks));
}

async fn play(run: &Run, task: &Task) {
    let outcome = match client(&task.settings, None) {
        _ if task.operation == PARSE => parse(task),
        Ok(client) => call(&client, task).await,
        Err(error) => Err(error),
    };
    let outcome = match outcome {
        Ok(value) => json!({ "value": value }),
        Err(error) => json!({ "error": error_in_machine_form(&error) }),
    };
    run.report(task, &outcome).await;
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

/// The same on the user's own HTTP client.
pub fn client_on(
    settings: &BTreeMap<String, String>,
    http: reqwest::Client,
) -> Result<Client, Error> {
    builder(settings).http_client(http).build()
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
    let body = Arguments::of(task).text("body");
    Ok(in_machine_form(&webhooks::parse_docket_completed(&body)?))
}

/// Calls the operation of a case.
pub async fn call(client: &Client, task: &Task) -> Result<Value, Error> {
    let given = Arguments::of(task);
    let client = given.options(client.clone());
    Ok(match task.operation.as_str() {
        "agents.create-agent" => {
            let config = given.record("config");
            in_machine_form(&client.create_agent(&config).await?)
        }
        "agents.list-agents" => {
            in_machine_form(&client.list_agents(&given.text("organization_id")).await?)
        }
        "calls.make-call" => {
            let request: CallRequest = given.record("request");
            in_machine_form(&client.make_call(&request).await?)
        }
        "calls.get-call-details" => {
            in_machine_form(&client.get_call_details(&given.text("task_id")).await?)
        }
        "calls.wait-for-call-details" => {
            let task_id = given.text("task_id");
            in_machine_form(&client.wait_for_call_details(&task_id, given.wait()).await?)
        }
        "dockets.create-docket" => {
            let request: DocketRequest = given.record("request");
            in_machine_form(&client.create_docket(&request).await?)
        }
        "dockets.create-docket-v2" => {
            let request: DocketRequestV2 = given.record("request");
            in_machine_form(&client.create_docket_v2(&request).await?)
        }
        "dockets.get-docket" => {
            in_machine_form(&client.get_docket(&given.text("docket_id")).await?)
        }
        "dockets.wait-for-docket" => {
            let docket_id = given.text("docket_id");
            in_machine_form(&client.wait_for_docket(&docket_id, given.wait()).await?)
        }
        "bulk.create-dockets-v2" => {
            let requests = given.requests();
            let mut results = vec![Value::Null; requests.len()];
            let mut batch = client.create_dockets_v2(requests, given.timeout())?;
            while let Some((index, result)) = batch.next().await {
                results[index] = match result {
                    Ok(created) => json!({ "ok": in_machine_form(&created) }),
                    Err(error) => json!({ "error": error_in_machine_form(&error) }),
                };
            }
            Value::Array(results)
        }
        "webhooks.verify-docket-completed" => {
            in_machine_form(&client.verify_docket_completed(&given.text("body")).await?)
        }
        other => panic!("unknown operation {other}"),
    })
}

/// The arguments of a case, digit for digit.
pub struct Arguments(Json);

impl Arguments {
    /// Reads the arguments of a case.
    pub fn of(task: &Task) -> Self {
        Self(Json::parse(task.arguments.get()).unwrap())
    }

    fn text(&self, name: &str) -> String {
        match member(&self.0, name) {
            Some(Json::Text(text)) => text.clone(),
            other => panic!("{name}: {other:?}"),
        }
    }

    /// The record of that name, or all arguments in its place.
    fn record<R: DeserializeOwned>(&self, name: &str) -> R {
        read(member(&self.0, name).unwrap_or(&self.0))
    }

    /// The requests of a batch.
    pub fn requests(&self) -> Vec<DocketRequestV2> {
        let Some(Json::Array(requests)) = member(&self.0, "requests") else {
            panic!("no requests")
        };
        requests.iter().map(read).collect()
    }

    /// The time of a batch.
    pub fn timeout(&self) -> Duration {
        milliseconds(&self.0, "timeout_ms").unwrap()
    }

    fn wait(&self) -> Wait {
        let wait = member(&self.0, "wait").unwrap();
        let waiting = Wait::within(milliseconds(wait, "timeout_ms").unwrap());
        match member(wait, "not_found_is_pending") {
            Some(Json::Boolean(is_pending)) => waiting.not_found_is_pending(*is_pending),
            _ => waiting,
        }
    }

    fn options(&self, mut client: Client) -> Client {
        let Some(options) = member(&self.0, "options") else {
            return client;
        };
        if let Some(Json::Text(account)) = member(options, "account") {
            client = client.with_account(account.clone());
        }
        if let Some(deadline) = milliseconds(options, "deadline_ms") {
            client = client.with_deadline(deadline);
        }
        if let Some(Json::Number(max_attempts)) = member(options, "max_attempts") {
            client = client.with_max_attempts(max_attempts.parse().unwrap());
        }
        client
    }
}

fn member<'a>(json: &'a Json, name: &str) -> Option<&'a Json> {
    let Json::Object(members) = json else {
        return None;
    };
    let named = members.iter().find(|(other, _)| other == name);
    named.map(|(_, value)| value)
}

fn milliseconds(json: &Json, name: &str) -> Option<Duration> {
    match member(json, name)? {
        Json::Number(number) => Some(Duration::from_millis(number.parse().unwrap())),
        _ => None,
    }
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
    let is_docket = record.has("agent_id");
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
