//! The demo: a docket from its creation through an unanswered and an answered call to its
//! completion webhook, and every other function of the component, on the built-in mock service. No
//! real phone can ring.

use crate::command::component::{Component, loading};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::timeout;
use voice_calling_host::types::*;
use voice_calling_host::{
    Instance, InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach, Secrets, Trust,
};
use voice_calling_mock::{MockService, Options, Pace};
use voice_calling_peer::{Behaviour, Peer};

/// The duration of a call of the mock.
const CALL: Duration = Duration::from_millis(700);

const WEBHOOK_LIMIT: Duration = Duration::from_secs(20);

const WAIT: WaitOptions = WaitOptions {
    timeout_ms: 20_000,
    not_found_is_pending: None,
};

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
        step: "",
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
    /// The functions that are being called.
    step: &'static str,
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

    fn done(&self, outcome: &str) {
        self.line(&format!("  ok  {}: {outcome}", self.step));
    }

    /// Returns a fresh instance, as an engine would create for every call.
    async fn instance(&self) -> Result<Instance> {
        let (base_url, token) = (self.mock.base_url(), self.mock.token());
        let environment = [
            ("VOICE_CALLING_BASE_URL", base_url.as_str()),
            ("VOICE_CALLING_API_TOKEN", token.as_str()),
            // The mock's calls are short.
            ("VOICE_CALLING_BACKOFF_MS", "250"),
        ];
        self.plugin
            .instantiate(InstanceSettings::new(environment, self.outgoing.clone()))
            .await
    }

    /// Calls a function in a fresh instance.
    async fn call<R>(
        &self,
        function: impl AsyncFnOnce(&mut Instance) -> Result<Result<R, RequestError>>,
    ) -> Result<R> {
        succeeded(function(&mut self.instance().await?).await?)
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
        self.step = "agents.create-agent, agents.list-agents";
        let config: AgentConfig = serde_json::from_value(json!({
            "agent_name": "appointments",
            "agent_phone_number": "+911140000009",
            "voice_id": "asha",
            "version": 1,
            "prompt": { "default_text": "Ask when to call again." },
            "welcome_text": { "default_text": "Namaste!" },
            "enabled": true,
            "save_stats": true,
        }))?;
        self.call(async |it| it.create_agent(&config, None).await)
            .await?;
        let listed = self.call(async |it| it.list_agents("org-1", None).await);
        let agents = listed.await?.agents;
        let created = agents
            .iter()
            .find(|agent| agent.agent_name.as_deref() == Some("appointments"));
        let agent_id = created
            .and_then(|agent| agent.agent_id)
            .context("the new agent is not listed")?;
        self.done(&format!("agent {agent_id} is one of {}", agents.len()));
        Ok(agent_id)
    }

    async fn docket_to_webhook(&mut self, agent_id: i64) -> Result<()> {
        self.step = "dockets.create-docket-v2";
        let request = docket_request(agent_id, STORY_NUMBER, "crm-1001");
        let created = self.call(async |it| it.create_docket_v2(&request, None).await);
        let created = created.await?;
        self.show_bad_moments();
        if created.may_be_duplicate {
            let why = "the first attempt may have created one as well: may-be-duplicate";
            self.detail(why);
        }
        self.done(&format!("docket {} was created", created.docket_id));

        self.step = "webhooks.verify-docket-completed, dockets.get-docket";
        let body = self.next_webhook().await?;
        let verification = self.call(async |it| it.verify_docket_completed(&body, None).await);
        let verification = verification.await?;
        let Verification::Confirmed(verified) = verification else {
            bail!("the service does not confirm the webhook: {verification:?}");
        };
        let completed = verified.delivered;
        ensure!(
            completed.docket_id == created.docket_id,
            "the webhook is of another docket"
        );
        let docket = self.call(async |it| it.get_docket(&created.docket_id, None).await);
        let docket = docket.await?;
        ensure!(
            docket.outbound_call_count == Some(2),
            "the docket has not had two calls"
        );
        let attempts = completed.attempts.context("the webhook has no attempts")?;
        let attempts: Vec<serde_json::Value> = serde_json::from_str(&attempts)?;
        for (call, attempt) in (1..).zip(&attempts) {
            let status = attempt["call_status"].as_str().unwrap_or("of no status");
            self.detail(&format!("the webhook: call {call} was {status}"));
        }
        let insights = completed.call_insights;
        let disposition = insights.and_then(|insights| insights.call_disposition);
        self.done(&format!(
            "confirmed, with the disposition {}",
            disposition.context("the webhook has no disposition")?
        ));
        Ok(())
    }

    async fn docket_version_1(&mut self, agent_id: i64) -> Result<()> {
        self.step = "dockets.create-docket, dockets.wait-for-docket";
        let request = DocketRequest {
            agent_id,
            to_phone_number: VERSION_1_NUMBER.into(),
            call_context: r#"{"reference":"crm-1002"}"#.into(),
            extra: None,
        };
        let created = self.call(async |it| it.create_docket(&request, None).await);
        let id = created.await?.docket_id;
        let waited = self.call(async |it| it.wait_for_docket(&id, WAIT, None).await);
        let waited = waited.await?;
        ensure!(
            matches!(waited.outcome, DocketOutcome::Completed(_)),
            "the docket of version 1 was not completed in time"
        );
        let body = self.next_webhook().await?;
        let parsed = self.call(async |it| it.parse_docket_completed(&body).await);
        let completed = parsed
            .await?
            .context("the webhook is not of a completed docket")?;
        ensure!(
            completed.call_insights.is_none(),
            "there are insights although no one answered"
        );
        self.done(&format!(
            "completed, no one answered ({} polls)",
            waited.polls
        ));
        Ok(())
    }

    async fn direct_call(&mut self) -> Result<()> {
        self.step = "calls.make-call, calls.wait-for-call-details";
        let request = CallRequest {
            from_agent_name: Some("appointments".into()),
            to_phone_number: DIRECT_NUMBER.into(),
            call_context: vec![("name".into(), "Asha".into())],
            extra: None,
        };
        let started = self.call(async |it| it.make_call(&request, None).await);
        let id = started.await?.task_id;
        self.show_bad_moments();
        let waited = self.call(async |it| it.wait_for_call_details(&id, WAIT, None).await);
        let waited = waited.await?;
        let CallDetailsOutcome::Completed(details) = waited.outcome else {
            bail!("the call's details were not ready in time");
        };
        let details = details.calls.first().context("the call has no details")?;
        let duration_s = details.call_duration_s.unwrap_or_default();
        self.done(&format!("task {id} took {duration_s} s"));
        Ok(())
    }

    async fn batch(&mut self, agent_id: i64) -> Result<()> {
        self.step = "bulk.create-dockets-v2";
        let request = |index| {
            let external_id = format!("crm-{}", 2_000 + index);
            docket_request(agent_id, &batch_number(index), &external_id)
        };
        let requests: Vec<_> = (0..BATCH).map(request).collect();
        let results = self.call(async |it| it.create_dockets_v2(&requests, 30_000, None).await);
        let created = results
            .await?
            .into_iter()
            .map(succeeded)
            .collect::<Result<Vec<_>>>()?;
        self.done(&format!("{} dockets are created", created.len()));

        self.step = "webhooks.parse-docket-completed";
        let mut instance = self.instance().await?;
        let created = created.iter().map(|docket| docket.docket_id.clone());
        let mut open: BTreeSet<_> = created.collect();
        while !open.is_empty() {
            let body = self.next_webhook().await?;
            let parsed = succeeded(instance.parse_docket_completed(&body).await?)?;
            let completed = parsed.context("the webhook is not of a completed docket")?;
            ensure!(
                open.remove(&completed.docket_id),
                "a webhook of an unknown docket"
            );
        }
        self.done(&format!("all {BATCH} dockets are completed"));
        Ok(())
    }

    /// Checks the purpose of it all: every person was called for once.
    fn check_phones(&mut self) -> Result<()> {
        self.step = "every phone";
        let rung = self.mock.phones_rung();
        let (started, people) = (rung.len(), BTreeSet::from_iter(&rung).len());
        ensure!(
            started == 3 + BATCH && started == people,
            "{started} tasks were started, for {people} numbers, not {}",
            3 + BATCH
        );
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

fn batch_number(index: usize) -> String {
    format!("9100000{:05}", 10_000 + index)
}

fn docket_request(agent_id: i64, number: &str, external_id: &str) -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id,
        to_phone_number: number.into(),
        call_context: format!(r#"{{"reference":"{external_id}"}}"#),
        external_id: Some(external_id.into()),
        extra: None,
    }
}

fn succeeded<T>(result: Result<T, RequestError>) -> Result<T> {
    result.map_err(|error| anyhow!("the component answered {error:?}"))
}
