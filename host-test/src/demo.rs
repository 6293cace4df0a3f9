//! The demo: a docket from its creation through an unanswered and an answered call to its
//! completion webhook, and every other function of the component, on the built-in mock service. No
//! real phone can ring.

use crate::command::component::{Component, loading};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::mem;
use std::time::Duration;
use tokio::time::timeout;
use voice_calling_host::{
    InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach, Secrets, Trust,
};
use voice_calling_mock::{MockService, Options, Pace};
use voice_calling_peer::{Behaviour, Peer};

/// The duration of a call of the mock.
const CALL: Duration = Duration::from_millis(700);

const WEBHOOK_LIMIT: Duration = Duration::from_secs(20);

const STORY_NUMBER: &str = "910000000001";
/// A test number of the mock, which is busy twice.
const VERSION_1_NUMBER: &str = "447700900002";
const DIRECT_NUMBER: &str = "+91 00000 00003";
const BATCH: usize = 20;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    component: Component,
}

/// Runs the demo. Fails if a step does not have the expected result.
pub(crate) async fn run_demo(arguments: Arguments, secrets: Secrets) -> Result<()> {
    let plugin = Plugin::load_with(&arguments.component.path, &loading())?;
    let receiver = Peer::start([Behaviour::Keep("")]).await?;
    let mock = MockService::start(service(&receiver)?).await?;
    let outgoing = Outgoing {
        secrets,
        ..Outgoing::over(PooledNetwork::new(&Trust::default(), Reach::Loopback)?)
    };
    let mut demo = Demo {
        plugin,
        receiver,
        webhooks: 0,
        mock,
        outgoing,
        called: Vec::new(),
        shown: 0,
    };
    demo.line(&format!(
        "The mock service is at {}, its webhook goes to {}.",
        demo.mock.base_url(),
        demo.receiver.base_url()
    ));

    let agent_id = demo.agents().await?;
    demo.docket_to_webhook(agent_id).await?;
    demo.docket_version_1(agent_id).await?;
    demo.direct_call().await?;
    demo.batch(agent_id).await?;
    demo.check_phones()
}

/// Returns the options of a service that places calls by itself and fails twice.
fn service(receiver: &Peer) -> Result<Options> {
    Ok(Options {
        pace: Pace::Every(CALL),
        webhook: Some(receiver.base_url()),
        faults: vec![
            "create-docket-v2:503".parse()?,
            "make-call:429:retry-after=1".parse()?,
        ],
        ..Options::default()
    })
}

struct Demo {
    plugin: Plugin,
    receiver: Peer,
    /// The number of webhooks that were read.
    webhooks: usize,
    mock: MockService,
    outgoing: Outgoing,
    /// The functions of the current step.
    called: Vec<&'static str>,
    /// The number of requests that have been searched for failures.
    shown: usize,
}

impl Demo {
    /// Prints a line with the secrets masked.
    fn line(&self, line: &str) {
        println!("{}", self.outgoing.secrets.mask(line));
    }

    /// Prints an event of the step.
    fn detail(&self, detail: &str) {
        self.line(&format!("      {detail}"));
    }

    fn done(&mut self, outcome: &str) {
        let called = mem::take(&mut self.called).join(", ");
        self.line(&format!("  ok  {called}: {outcome}"));
    }

    /// Calls a function in a fresh instance, as an engine would create for every call.
    async fn call(&mut self, function: &'static str, arguments: Value) -> Result<Value> {
        if self.called.last() != Some(&function) {
            self.called.push(function);
        }
        let (base_url, token) = (self.mock.base_url(), self.mock.token());
        let environment = [
            ("VOICE_CALLING_BASE_URL", base_url.as_str()),
            ("VOICE_CALLING_API_TOKEN", token.as_str()),
            // The mock's calls are short.
            ("VOICE_CALLING_BACKOFF_MS", "250"),
        ];
        let settings = InstanceSettings::new(environment, self.outgoing.clone());
        let mut instance = self.plugin.instantiate(settings).await?;
        let arguments = to_raw_value(&arguments)?;
        match instance.invoke(function, &arguments).await? {
            Ok(value) => Ok(value),
            Err(error) => bail!("{function} answered {error}"),
        }
    }

    async fn next_webhook(&mut self) -> Result<String> {
        let received = self.receiver.received(self.webhooks + 1);
        let received = timeout(WEBHOOK_LIMIT, received).await;
        let mut received = received.context("no webhook came in time")?;
        let body = received.swap_remove(self.webhooks).body;
        self.webhooks += 1;
        Ok(String::from_utf8(body)?)
    }

    async fn agents(&mut self) -> Result<i64> {
        let config = json!({
            "agent_name": "appointments",
            "agent_phone_number": "+911140000009",
            "voice_id": "asha",
            "version": 1,
            "prompt": { "default_text": "Ask when to call again." },
            "welcome_text": { "default_text": "Namaste!" },
            "enabled": true,
            "save_stats": true,
        });
        self.call("agents.create-agent", config).await?;
        let organization = json!({ "organization_id": "org-1" });
        let listed = self.call("agents.list-agents", organization).await?;
        let agents = listed["agents"].as_array().context("no agents")?;
        let created = agents
            .iter()
            .find(|agent| agent["agent_name"] == "appointments");
        let agent_id = created.and_then(|agent| agent["agent_id"].as_i64());
        let agent_id = agent_id.context("the new agent is not listed")?;
        self.done(&format!("agent {agent_id} is one of {}", agents.len()));
        Ok(agent_id)
    }

    async fn docket_to_webhook(&mut self, agent_id: i64) -> Result<()> {
        let request = docket_request(agent_id, STORY_NUMBER, "crm-1001");
        let created = self.call("dockets.create-docket-v2", request).await?;
        self.show_bad_moments();
        if created["may_be_duplicate"] == true {
            let why = "the first attempt may have created one as well: may-be-duplicate";
            self.detail(why);
        }
        let id = json!({ "docket_id": created["docket_id"] });
        self.done(&format!("docket {} was created", text(&id["docket_id"])));

        let body = json!({ "body": self.next_webhook().await? });
        let verification = self.call("webhooks.verify-docket-completed", body).await?;
        let completed = &verification["confirmed"]["delivered"];
        ensure!(
            completed["docket_id"] == id["docket_id"],
            "the service does not confirm the webhook of this docket: {verification}"
        );
        let docket = self.call("dockets.get-docket", id).await?;
        ensure!(
            docket["outbound_call_count"] == 2,
            "the docket has not had two calls"
        );
        let attempts: Vec<Value> = serde_json::from_str(text(&completed["attempts"]))?;
        for (call, attempt) in (1..).zip(&attempts) {
            let status = text(&attempt["call_status"]);
            self.detail(&format!("the webhook: call {call} was {status}"));
        }
        let disposition = text(&completed["call_insights"]["call_disposition"]);
        self.done(&format!("confirmed, with the disposition {disposition}"));
        Ok(())
    }

    async fn docket_version_1(&mut self, agent_id: i64) -> Result<()> {
        let request = json!({
            "agent_id": agent_id,
            "to_phone_number": VERSION_1_NUMBER,
            "call_context": { "reference": "crm-1002" },
        });
        let created = self.call("dockets.create-docket", request).await?;
        let wait = json!({ "docket_id": created["docket_id"], "wait": { "timeout_ms": 20_000 } });
        let waited = self.call("dockets.wait-for-docket", wait).await?;
        ensure!(
            waited["outcome"]["completed"].is_object(),
            "the docket of version 1 was not completed in time"
        );
        let body = json!({ "body": self.next_webhook().await? });
        let completed = self.call("webhooks.parse-docket-completed", body).await?;
        ensure!(
            completed["docket_id"] == created["docket_id"] && completed["call_insights"].is_null(),
            "the webhook is not of this docket, or has insights although no one answered"
        );
        let polls = &waited["polls"];
        self.done(&format!("completed, no one answered ({polls} polls)"));
        Ok(())
    }

    async fn direct_call(&mut self) -> Result<()> {
        let request = json!({
            "from_agent_name": "appointments",
            "to_phone_number": DIRECT_NUMBER,
            "call_context": { "name": "Asha" },
        });
        let started = self.call("calls.make-call", request).await?;
        self.show_bad_moments();
        let id = text(&started["task_id"]);
        let wait = json!({ "task_id": id, "wait": { "timeout_ms": 20_000 } });
        let waited = self.call("calls.wait-for-call-details", wait).await?;
        let duration_s = &waited["outcome"]["completed"]["calls"][0]["call_duration_s"];
        ensure!(
            duration_s.is_number(),
            "the call's details were not ready in time"
        );
        self.done(&format!("task {id} took {duration_s} s"));
        Ok(())
    }

    async fn batch(&mut self, agent_id: i64) -> Result<()> {
        let request = |index| {
            let number = format!("9100000{:05}", 10_000 + index);
            docket_request(agent_id, &number, &format!("crm-{}", 2_000 + index))
        };
        let requests: Vec<_> = (0..BATCH).map(request).collect();
        let batch = json!({ "requests": requests, "timeout_ms": 30_000 });
        let results = self.call("bulk.create-dockets-v2", batch).await?;
        let results = results.as_array().context("no results")?.iter();
        let created = results.map(|result| text(&result["ok"]["docket_id"]));
        let mut open: BTreeSet<_> = created.collect();
        ensure!(
            open.len() == BATCH && !open.contains(""),
            "only {} dockets are created",
            open.len()
        );
        self.done(&format!("{BATCH} dockets are created"));

        while !open.is_empty() {
            let body = json!({ "body": self.next_webhook().await? });
            let completed = self.call("webhooks.parse-docket-completed", body).await?;
            ensure!(
                open.remove(text(&completed["docket_id"])),
                "a webhook of an unknown docket"
            );
        }
        self.done(&format!("all {BATCH} dockets are completed"));
        Ok(())
    }

    /// Checks the purpose of it all: every person was called for once.
    fn check_phones(&mut self) -> Result<()> {
        let rung = self.mock.phones_rung();
        let (started, people) = (rung.len(), BTreeSet::from_iter(&rung).len());
        ensure!(
            started == 3 + BATCH && started == people,
            "{started} tasks were started, for {people} numbers, not {}",
            3 + BATCH
        );
        self.called.push("every phone");
        self.done(&format!("{started} tasks were started, none twice"));
        Ok(())
    }

    /// Shows the failures that the component has survived since the last call.
    fn show_bad_moments(&mut self) {
        let requests = self.mock.changes(0).requests;
        for request in &requests[self.shown..] {
            if let Some(status) = request.status.filter(|status| *status != 200) {
                self.detail(&format!(
                    "{} {} was answered {status}, and sent again",
                    request.method, request.path
                ));
            }
        }
        self.shown = requests.len();
    }
}

fn docket_request(agent_id: i64, number: &str, external_id: &str) -> Value {
    json!({
        "agent_id": agent_id,
        "to_phone_number": number,
        "call_context": { "reference": external_id },
        "external_id": external_id,
    })
}

/// Returns a string, or an empty one for another value.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
