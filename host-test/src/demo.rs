//! The demo: a docket from its creation through an unanswered and an answered call to its
//! completion webhook, and every other function of the component, on the built-in mock service. No
//! real phone can ring.

use crate::progress::Progress;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use voice_calling_host::record::exchange::Ending;
use voice_calling_host::types::*;
use voice_calling_host::{Instance, InstanceSettings, Outgoing, Plugin, Reach, Recorder, Trust};
use voice_calling_mock::{
    CallStatus, Endpoint, Fault, FaultOrder, MockService, Options, Pace, WebhookOptions,
    WebhookReceiver,
};
use voice_calling_mock_server::PageArguments;
use voice_calling_page::Page;

/// The duration of a call of the mock.
const CALL: Duration = Duration::from_millis(700);

/// The time limit for a webhook.
const WEBHOOK_LIMIT: Duration = Duration::from_secs(20);

/// The interval at which the demo fetches a docket to show its calls.
const LOOK: Duration = Duration::from_millis(150);

const WAIT: WaitOptions = WaitOptions {
    timeout_ms: 20_000,
    not_found_is_pending: None,
};

const STORY_NUMBER: &str = "910000000001";
const VERSION_1_NUMBER: &str = "910000000002";
const DIRECT_NUMBER: &str = "+91 00000 00003";
const BATCH: usize = 20;

/// Runs the demo and records its exchanges. Fails if a step does not have the expected result. The
/// page, if requested, and the mock run until they are stopped.
pub async fn run(
    plugin: &Plugin,
    recorder: Recorder,
    page: &PageArguments,
) -> Result<(Option<Page>, Arc<MockService>)> {
    let receiver = WebhookReceiver::start().await;
    let mock = Arc::new(MockService::start(service(&receiver)).await?);
    let page = page.serve(&mock).await?;
    let progress = Progress::start(recorder.secrets().clone());
    let outgoing = Outgoing {
        recorder,
        ..Outgoing::within(Reach::Loopback, &Trust::Public)?
    };
    let mut demo = Demo {
        plugin,
        receiver,
        mock,
        outgoing,
        progress,
        shown: 0,
    };
    demo.progress.line(&format!(
        "The mock service is at {}, its webhook goes to {}.",
        demo.mock.base_url(),
        demo.receiver.url()
    ));
    if let Some(page) = &page {
        demo.progress.line(&format!("The page: {}", page.url()));
    }

    let agent_id = demo.agents().await?;
    demo.docket_to_webhook(agent_id).await?;
    demo.docket_version_1(agent_id).await?;
    demo.direct_call().await?;
    demo.batch(agent_id).await?;
    demo.check_phones()?;

    demo.progress.finish();
    Ok((page, demo.mock))
}

/// Returns the options of a service that places calls by itself and fails twice.
fn service(receiver: &WebhookReceiver) -> Options {
    use CallStatus::{Answered, Busy, NoAnswer};
    let mut options = Options {
        pace: Pace::Every(CALL),
        webhook: Some(WebhookOptions::to(receiver.url())),
        faults: vec![
            FaultOrder {
                endpoint: Endpoint::CreateDocketV2,
                nth: None,
                fault: Fault::status(503),
            },
            FaultOrder {
                endpoint: Endpoint::MakeCall,
                nth: None,
                fault: Fault::rate_limited(Some("1")),
            },
        ],
        ..Options::default()
    };
    options.scripts.by_number = BTreeMap::from([
        (STORY_NUMBER.to_owned(), vec![NoAnswer, Answered]),
        (VERSION_1_NUMBER.to_owned(), vec![Busy, NoAnswer]),
        (DIRECT_NUMBER.to_owned(), vec![Answered]),
    ]);
    options.scripts.seed = Some(7);
    options
}

struct Demo<'a> {
    plugin: &'a Plugin,
    receiver: WebhookReceiver,
    mock: Arc<MockService>,
    outgoing: Outgoing,
    progress: Progress,
    /// The number of exchanges that have been searched for failures.
    shown: u64,
}

impl Demo<'_> {
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

    async fn agents(&mut self) -> Result<i64> {
        self.progress
            .begin("agents.create-agent, agents.list-agents");
        let config = AgentConfig {
            prompt: Some(AgentText {
                default_text: "Ask when to call again.".into(),
                extra: None,
            }),
            agent_name: "appointments".into(),
            agent_phone_number: Some("+911140000009".into()),
            voice_id: Some("asha".into()),
            version: Some(1),
            welcome_text: Some(AgentText {
                default_text: "Namaste!".into(),
                extra: None,
            }),
            tools: None,
            enabled: Some(true),
            save_stats: Some(true),
            server_type: None,
            call_type: None,
            created_at: None,
            updated_at: None,
            extra: None,
        };
        succeeded(self.instance().await?.create_agent(&config, None).await?)?;
        let listed = succeeded(self.instance().await?.list_agents("org-1", None).await?)?;
        let agents = listed.agents;
        let created = agents
            .iter()
            .find(|agent| agent.agent_name.as_deref() == Some("appointments"));
        let agent_id = created
            .and_then(|agent| agent.agent_id)
            .context("the new agent is not listed")?;
        self.progress
            .done(&format!("agent {agent_id} is one of {}", agents.len()));
        Ok(agent_id)
    }

    async fn docket_to_webhook(&mut self, agent_id: i64) -> Result<()> {
        self.progress.begin("dockets.create-docket-v2");
        let request = docket_request(agent_id, STORY_NUMBER, "crm-1001");
        let created = succeeded(
            self.instance()
                .await?
                .create_docket_v2(&request, None)
                .await?,
        )?;
        self.show_bad_moments();
        if created.may_be_duplicate {
            let why = "the first attempt may have created one as well: may-be-duplicate";
            self.progress.detail(why);
        }
        self.progress
            .done(&format!("docket {} was created", created.docket_id));

        self.progress
            .begin("dockets.get-docket, until the webhook comes");
        let body = self.watch_until_webhook(&created.docket_id).await?;
        self.progress.done("a webhook came");

        self.progress.begin("webhooks.verify-docket-completed");
        let mut instance = self.instance().await?;
        let verification = succeeded(instance.verify_docket_completed(&body, None).await?)?;
        let Verification::Confirmed(verified) = verification else {
            bail!("the service does not confirm the webhook: {verification:?}");
        };
        let (completed, docket) = (verified.delivered, verified.docket);
        ensure!(
            completed.docket_id == created.docket_id,
            "the webhook is of another docket"
        );
        ensure!(
            docket.outbound_call_count == Some(2),
            "the docket has not had two calls"
        );
        self.show_attempts(completed.attempts.as_deref())?;
        let insights = completed
            .call_insights
            .context("the webhook has no insights")?;
        let disposition = insights
            .call_disposition
            .context("the webhook has no disposition")?;
        self.progress.done(&format!(
            "confirmed: completed after {} calls, closed by {}, with the disposition {disposition}",
            docket.outbound_call_count.unwrap_or_default(),
            docket.closure_reason.as_deref().unwrap_or("nothing")
        ));
        Ok(())
    }

    /// Shows a docket's calls as they are made, until its webhook is delivered.
    async fn watch_until_webhook(&mut self, docket_id: &str) -> Result<String> {
        let begun = Instant::now();
        let mut seen = 0;
        while begun.elapsed() < WEBHOOK_LIMIT {
            let docket = succeeded(self.instance().await?.get_docket(docket_id, None).await?)?;
            for call in seen + 1..=docket.outbound_call_count.unwrap_or_default() {
                self.progress.detail(&format!("call {call} is made"));
                seen = call;
            }
            if let Ok(body) = self.receiver.next(LOOK).await {
                return Ok(body);
            }
        }
        bail!("no webhook came within {WEBHOOK_LIMIT:?}")
    }

    /// Shows how a docket's calls ended, as its webhook reports it.
    fn show_attempts(&self, attempts: Option<&str>) -> Result<()> {
        let attempts = attempts.context("the webhook has no attempts")?;
        let attempts: Vec<serde_json::Value> = serde_json::from_str(attempts)?;
        for (call, attempt) in (1..).zip(&attempts) {
            let status = attempt["call_status"].as_str().unwrap_or("of no status");
            self.progress
                .detail(&format!("the webhook: call {call} was {status}"));
        }
        Ok(())
    }

    async fn docket_version_1(&mut self, agent_id: i64) -> Result<()> {
        self.progress
            .begin("dockets.create-docket, dockets.wait-for-docket");
        let request = DocketRequest {
            agent_id,
            to_phone_number: VERSION_1_NUMBER.into(),
            call_context: r#"{"reference":"crm-1002"}"#.into(),
            extra: None,
        };
        let created = succeeded(self.instance().await?.create_docket(&request, None).await?)?;
        let mut instance = self.instance().await?;
        let waited = succeeded(
            instance
                .wait_for_docket(&created.docket_id, WAIT, None)
                .await?,
        )?;
        ensure!(
            matches!(waited.outcome, DocketOutcome::Completed(_)),
            "the docket of version 1 was not completed in time"
        );
        let body = self.receiver.next(WEBHOOK_LIMIT).await?;
        let parsed = succeeded(self.instance().await?.parse_docket_completed(&body).await?)?;
        let completed = parsed.context("the webhook is not of a completed docket")?;
        self.show_attempts(completed.attempts.as_deref())?;
        ensure!(
            completed.call_insights.is_none(),
            "there are insights although no one answered"
        );
        self.progress.done(&format!(
            "completed, no one answered ({} polls)",
            waited.polls
        ));
        Ok(())
    }

    async fn direct_call(&mut self) -> Result<()> {
        self.progress
            .begin("calls.make-call, calls.wait-for-call-details");
        let request = CallRequest {
            from_agent_name: Some("appointments".into()),
            to_phone_number: DIRECT_NUMBER.into(),
            call_context: vec![("name".into(), "Asha".into())],
            extra: None,
        };
        let started = succeeded(self.instance().await?.make_call(&request, None).await?)?;
        self.show_bad_moments();
        let mut instance = self.instance().await?;
        let waited = succeeded(
            instance
                .wait_for_call_details(&started.task_id, WAIT, None)
                .await?,
        )?;
        let CallDetailsOutcome::Completed(details) = waited.outcome else {
            bail!("the call's details were not ready in time");
        };
        let details = details.calls.first().context("the call has no details")?;
        let insights = details.call_insights.as_ref();
        let interest = insights.and_then(|insights| insights.user_interest.as_ref());
        let interest = interest.and_then(|interest| interest.status.as_deref());
        self.progress.done(&format!(
            "task {} took {} s, interest: {}",
            started.task_id,
            details.call_duration_s.unwrap_or_default(),
            interest.unwrap_or("none")
        ));
        Ok(())
    }

    async fn batch(&mut self, agent_id: i64) -> Result<()> {
        self.progress.begin("bulk.create-dockets-v2");
        let request = |index| {
            let number = format!("9100000{:05}", 10_000 + index);
            docket_request(agent_id, &number, &format!("crm-{}", 2_000 + index))
        };
        let requests: Vec<_> = (0..BATCH).map(request).collect();
        let results = succeeded(
            self.instance()
                .await?
                .create_dockets_v2(&requests, 30_000, None)
                .await?,
        )?;
        let created = results
            .into_iter()
            .map(succeeded)
            .collect::<Result<Vec<_>>>()?;
        self.progress
            .done(&format!("{} dockets are created", created.len()));

        self.progress.begin("webhooks.parse-docket-completed");
        let mut instance = self.instance().await?;
        let created = created.iter().map(|docket| docket.docket_id.clone());
        let mut open: BTreeSet<_> = created.collect();
        let mut dispositions = BTreeMap::<String, usize>::new();
        while !open.is_empty() {
            let body = self.receiver.next(WEBHOOK_LIMIT).await?;
            let parsed = succeeded(instance.parse_docket_completed(&body).await?)?;
            let completed = parsed.context("the webhook is not of a completed docket")?;
            ensure!(
                open.remove(&completed.docket_id),
                "a webhook of an unknown docket"
            );
            let disposition = completed
                .call_insights
                .and_then(|insights| insights.call_disposition);
            *dispositions
                .entry(disposition.unwrap_or_else(|| "no one answered".into()))
                .or_default() += 1;
            self.progress
                .update(&format!("{} of {BATCH} completed", BATCH - open.len()));
        }
        self.progress.done(&format!(
            "all {BATCH} dockets are completed: {dispositions:?}"
        ));
        Ok(())
    }

    /// Checks the purpose of it all: every person was called for once.
    fn check_phones(&mut self) -> Result<()> {
        self.progress.begin("every phone");
        let rung = self.mock.phones_rung();
        ensure!(
            rung.len() == 3 + BATCH,
            "{} tasks were started, not {}",
            rung.len(),
            3 + BATCH
        );
        for number in &rung {
            ensure!(
                self.mock.times_rung(number) == 1,
                "{number} was called for twice"
            );
        }
        self.progress
            .done(&format!("{} tasks were started, none twice", rung.len()));
        Ok(())
    }

    /// Shows the failures that the component has survived since the last call.
    fn show_bad_moments(&mut self) {
        for exchange in self.outgoing.recorder.exchanges() {
            if exchange.id < self.shown {
                continue;
            }
            self.shown = exchange.id + 1;
            if exchange.ending != Ending::Status(200) {
                self.progress.detail(&format!(
                    "{} {} was answered {}, and sent again",
                    exchange.method, exchange.path_and_query, exchange.ending
                ));
            }
        }
    }
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
