//! All that the service knows, and what each step of time does to it. Pure: no clock,
//! no network.

use std::collections::HashMap;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::agent::Agent;
use super::call::{Call, CallFacts, CallRequest, CallStatus, Caller, Scripts};
use super::docket::{Docket, DocketRequest, Version};
use super::newest::Newest;
use super::options::{
    DocketCalls, Meanings, NeverAnswered, NotificationOrder, Options, RepeatedExternalId,
    WebhookOptions,
};
use super::refusal::Refusal;

/// The service's memory.
#[derive(Debug)]
pub(super) struct State {
    pub(super) token: String,
    pub(super) organization_id: String,
    pub(super) meanings: Meanings,
    /// The ones there were from the beginning.
    first_agents: Vec<Agent>,
    created_agents: Newest<Agent>,
    next_agent_id: i64,
    scripts: Scripts,
    webhook: Option<WebhookOptions>,
    dockets: HashMap<Uuid, Docket>,
    calls: HashMap<String, Call>,
    /// The dockets and direct calls in which no further step is to come.
    over: Newest<Target>,
    /// The number of each docket and direct call, in the order of their start.
    pub(super) started: Newest<String>,
}

/// What goes on after it was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Docket(Uuid),
    Call(String),
}

/// What one step of a target did.
#[derive(Debug)]
pub(super) struct Step {
    /// How the call ended.
    pub(super) outcome: CallStatus,
    /// Whether a further step is to come.
    pub(super) goes_on: bool,
    /// What the webhook is to be told, in order.
    pub(super) notifications: Vec<Notification>,
}

/// One message for the webhook.
#[derive(Debug)]
pub(super) struct Notification {
    pub(super) kind: NotificationKind,
    pub(super) body: String,
    /// The docket that is completed by the delivery.
    pub(super) closes: Option<Uuid>,
}

/// What a webhook delivery is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationKind {
    /// The completion of a docket: the only kind that is specified.
    DocketCompleted,
    /// The end of one call: mentioned in the specification, its shape is invented.
    CallCompleted,
}

/// The body of a call-level webhook (invented): a docket id, and no attempts.
#[derive(Serialize)]
struct CallEvent<'a> {
    event: &'static str,
    task_id: &'a str,
    docket_id: Option<String>,
    call_status: &'static str,
    to_number: &'a str,
    call_context: &'a RawValue,
}

impl State {
    pub(super) fn new(options: &Options) -> Self {
        let highest = options.agents.iter().map(|agent| agent.agent_id).max();
        Self {
            token: options.token.clone(),
            organization_id: options.organization_id.clone(),
            meanings: options.meanings.clone(),
            first_agents: options.agents.clone(),
            created_agents: Newest::new(options.kept_state),
            next_agent_id: highest.unwrap_or(0) + 1,
            scripts: options.scripts.clone(),
            webhook: options.webhook.clone(),
            dockets: HashMap::new(),
            calls: HashMap::new(),
            over: Newest::new(options.kept_state),
            started: Newest::new(options.kept_records),
        }
    }

    /// All agents that are known, in the order of their creation.
    pub(super) fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.first_agents.iter().chain(self.created_agents.iter())
    }

    /// The id of the agent that is added next.
    pub(super) fn next_agent_id(&self) -> i64 {
        self.next_agent_id
    }

    /// Adds an agent with the next id.
    pub(super) fn add_agent(&mut self, agent: Agent) {
        self.created_agents.push(agent);
        self.next_agent_id += 1;
    }

    pub(super) fn docket(&self, docket_id: &str) -> Option<&Docket> {
        self.dockets.get(&docket_id.parse().ok()?)
    }

    /// The docket whose call context has `text` in it.
    pub(super) fn docket_with_context(&self, text: &str) -> Option<String> {
        let mut dockets = self.dockets.values();
        let docket = dockets.find(|docket| docket.call_context.get().contains(text))?;
        Some(docket.id.to_string())
    }

    /// The call that `task_id` names.
    pub(super) fn call(&self, task_id: &str) -> Option<CallFacts<'_>> {
        let direct = self.calls.get(task_id).map(Call::facts);
        direct.or_else(|| match self.meanings.docket_calls {
            DocketCalls::NotTasks => None,
            DocketCalls::Tasks => self
                .dockets
                .values()
                .find_map(|docket| docket.call(task_id)),
        })
    }

    /// The docket that was created for the same external id, where that counts.
    pub(super) fn same_docket(&self, request: &DocketRequest) -> Option<&Docket> {
        if self.meanings.repeated_external_id == RepeatedExternalId::NewDocket {
            return None;
        }
        let external_id = request.external_id.as_ref()?;
        let mut dockets = self.dockets.values();
        dockets.find(|docket| docket.external_id.as_ref() == Some(external_id))
    }

    /// Starts a docket: from now on a phone rings.
    pub(super) fn start_docket(
        &mut self,
        version: Version,
        request: DocketRequest,
        now: SystemTime,
    ) -> Result<&Docket, Refusal> {
        let agent = self
            .agents()
            .find(|agent| agent.agent_id == request.agent_id)
            .ok_or(Refusal::NotFound("Agent"))?;
        let script = self.scripts.of_docket(&request.to_phone_number);
        let number = request.to_phone_number.clone();
        let docket = Docket::new(version, agent, request, script, now);
        self.started.push(number);
        Ok(self.dockets.entry(docket.id).or_insert(docket))
    }

    /// Starts a direct call: from now on a phone rings.
    pub(super) fn start_call(&mut self, request: CallRequest) -> Result<String, Refusal> {
        let called_by = |agent: &&Agent| match &request.caller {
            Caller::Name(name) => agent.agent_name == *name,
            Caller::PhoneNumber(number) => agent.agent_phone_number == *number,
        };
        let agent = self.agents().find(called_by);
        let agent = agent.ok_or(Refusal::NotFound("Agent"))?;
        let call = Call {
            task_id: Uuid::new_v4().to_string(),
            agent_name: agent.agent_name.clone(),
            from_number: agent.calling_number(),
            outcome: self.scripts.of_direct_call(&request.to_phone_number),
            to_number: request.to_phone_number,
            call_context: request.call_context.text,
            completed: false,
        };
        self.started.push(call.to_number.clone());
        let task_id = call.task_id.clone();
        self.calls.insert(task_id.clone(), call);
        Ok(task_id)
    }

    /// Makes the next call of a docket, or ends a direct call. None where there is no
    /// such target or nothing is left to do.
    pub(super) fn step(&mut self, target: &Target, now: SystemTime) -> Option<Step> {
        let step = match target {
            Target::Docket(id) => {
                let docket = self.dockets.get_mut(id)?;
                step_docket(docket, self.webhook.as_ref(), &self.meanings, now)
            }
            Target::Call(task_id) => {
                let call = self.calls.get_mut(task_id)?;
                step_call(call, self.webhook.as_ref())
            }
        }?;
        if !step.goes_on {
            self.end(target.clone());
        }
        Some(step)
    }

    /// Takes note of the end of a target, for which the oldest such one may be forgotten.
    fn end(&mut self, target: Target) {
        match self.over.push(target) {
            Some(Target::Docket(id)) => _ = self.dockets.remove(&id),
            Some(Target::Call(task_id)) => _ = self.calls.remove(&task_id),
            None => {}
        }
    }

    /// Completes a docket whose notification has been delivered.
    pub(super) fn close_notified(&mut self, id: Uuid, now: SystemTime) {
        if let Some(docket) = self.dockets.get_mut(&id) {
            docket.close(true, now);
        }
    }
}

fn step_docket(
    docket: &mut Docket,
    webhook: Option<&WebhookOptions>,
    meanings: &Meanings,
    now: SystemTime,
) -> Option<Step> {
    let outcome = docket.place_next_call(now)?;
    let mut notifications = Vec::new();
    if webhook.is_some_and(|webhook| webhook.call_events) {
        let call = docket.last_call();
        notifications.extend(call.map(|call| call_event(&call, Some(docket.id))));
    }
    if docket.is_over() {
        let told = docket.is_answered() || meanings.never_answered == NeverAnswered::Notified;
        notifications.extend(complete(docket, webhook.filter(|_| told), now));
    }
    Some(Step {
        outcome,
        goes_on: !docket.is_over(),
        notifications,
    })
}

/// Closes a docket, unless its notification is to do that.
fn complete(
    docket: &mut Docket,
    webhook: Option<&WebhookOptions>,
    now: SystemTime,
) -> Option<Notification> {
    let closed_by_delivery =
        webhook.is_some_and(|webhook| webhook.order == NotificationOrder::BeforeCompletion);
    if !closed_by_delivery {
        docket.close(webhook.is_some(), now);
    }
    webhook?;
    Some(Notification {
        kind: NotificationKind::DocketCompleted,
        body: json_text(&docket.completion()),
        closes: closed_by_delivery.then_some(docket.id),
    })
}

fn step_call(call: &mut Call, webhook: Option<&WebhookOptions>) -> Option<Step> {
    if call.completed {
        return None;
    }
    call.completed = true;
    let told = webhook.is_some_and(|webhook| webhook.call_events);
    let notification = told.then(|| call_event(&call.facts(), None));
    Some(Step {
        outcome: call.outcome,
        goes_on: false,
        notifications: notification.into_iter().collect(),
    })
}

fn call_event(call: &CallFacts, docket_id: Option<Uuid>) -> Notification {
    let body = json_text(&CallEvent {
        event: "call.completed",
        task_id: call.call_id,
        docket_id: docket_id.map(|id| id.to_string()),
        call_status: call.ended.map_or("IN_PROGRESS", CallStatus::as_str),
        to_number: call.to_number,
        call_context: call.call_context,
    });
    Notification {
        kind: NotificationKind::CallCompleted,
        body,
        closes: None,
    }
}

/// JSON of our own structs, none of which can fail: string keys and raw JSON only.
pub(super) fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the mock's own structs are JSON")
}
