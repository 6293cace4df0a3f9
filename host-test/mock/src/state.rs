//! All that the service knows, and what each step of time does to it. Pure: no clock,
//! no network.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::agent::Agent;
use super::call::{Call, CallFacts, CallRequest, CallStatus, Caller, Scripts};
use super::docket::{Docket, DocketRequest, Version};
use super::ending::{Ending, NotEnded};
use super::endpoint::Endpoint;
use super::entry::{self, EntryDetails};
use super::fault::{DeliveryFault, Fault, FaultQueue};
use super::journal::{Changed, Changes, Counts, Journal};
use super::newest::Newest;
use super::options::{
    DocketCalls, Meanings, NeverAnswered, NotificationOrder, Options, Pace, RepeatedExternalId,
    WebhookOptions,
};
use super::received::ReceivedRequest;
use super::refusal::Refusal;
use super::repeats::Creation;
use super::timeline::{Log, Moment, MomentKind};

/// The service's memory.
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
    /// Whether attempts ring until they are ended by hand.
    pub(super) is_manual: bool,
    /// Whether an attempt rings as soon as the one before it is over.
    rings_at_once: bool,
    /// The base URL of the page that shows dockets.
    dashboard: Option<String>,
    faults: FaultQueue,
    delivery_faults: VecDeque<DeliveryFault>,
    dockets: HashMap<Uuid, Docket>,
    calls: HashMap<String, Call>,
    /// The dockets and direct calls in which no further step is to come.
    over: Newest<Target>,
    /// How many of those were forgotten.
    forgotten: usize,
    /// The number of each docket and direct call, in the order of their start.
    pub(super) started: Newest<String>,
    pub(super) requests: Newest<ReceivedRequest>,
    pub(super) journal: Journal,
}

/// What goes on after it was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Docket(Uuid),
    Call(String),
}

/// The docket's or the task's id.
impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Docket(id) => id.fmt(formatter),
            Self::Call(task_id) => task_id.fmt(formatter),
        }
    }
}

/// What one step of a target did.
#[derive(Debug)]
pub(super) struct Step {
    /// How the call ended.
    pub(super) outcome: CallStatus,
    /// The number of the next attempt; none where no further step is to come.
    pub(super) next: Option<usize>,
    /// What goes to the webhook, in order.
    pub(super) notifications: Vec<Notification>,
}

/// One message for the webhook.
#[derive(Debug)]
pub(super) struct Notification {
    pub(super) kind: NotificationKind,
    pub(super) about: Target,
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
            is_manual: options.manual,
            rings_at_once: !options.manual || options.pace == Pace::Manual,
            dashboard: None,
            faults: FaultQueue::default(),
            delivery_faults: VecDeque::new(),
            dockets: HashMap::new(),
            calls: HashMap::new(),
            over: Newest::new(options.kept_state),
            forgotten: 0,
            started: Newest::new(options.kept_records),
            requests: Newest::new(options.kept_records),
            journal: Journal::new(),
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
    pub(super) fn start_call(
        &mut self,
        request: CallRequest,
        now: SystemTime,
    ) -> Result<String, Refusal> {
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
            script: self.scripts.of_direct_call(&request.to_phone_number),
            to_number: request.to_phone_number,
            call_context: request.call_context.text,
            ended: None,
            log: Log::new(now),
        };
        self.started.push(call.to_number.clone());
        let task_id = call.task_id.clone();
        self.calls.insert(task_id.clone(), call);
        Ok(task_id)
    }

    /// Takes note of what a creation has started, which rings from now on.
    pub(super) fn begin(
        &mut self,
        target: &Target,
        creation: Option<&Creation>,
        earlier: Option<Target>,
        request: u64,
        now: SystemTime,
    ) {
        let repeats = &mut self.journal.repeats;
        let before = creation.map(|creation| repeats.start(creation, target, now));
        let Some(log) = self.log_mut(target) else {
            return;
        };
        for moment in before.into_iter().flatten() {
            log.timeline.push(moment);
        }
        let text = format!("Created by request {request}.");
        let created = Moment::new(now, MomentKind::Created, text).of_request(request);
        log.timeline.push(created);
        log.repeats = earlier.as_ref().map(Target::to_string);
        log.ring(1, now);
        self.touch(target);
        if let Some(earlier) = earlier {
            let text = format!("Request {request} asked for the same again, and started {target}.");
            let moment = Moment::new(now, MomentKind::Request, text).of_request(request);
            self.note(&earlier, Some(moment));
        }
    }

    /// Makes the next call of a docket, or ends a direct call: as the script has it unless
    /// `ending` says otherwise. None where there is no such target or nothing is left to do.
    pub(super) fn step(
        &mut self,
        target: &Target,
        ending: Option<Ending>,
        now: SystemTime,
    ) -> Option<Step> {
        let webhook = self.webhook.as_ref();
        let (step, log) = match target {
            Target::Docket(id) => {
                let docket = self.dockets.get_mut(id)?;
                let dashboard = self.dashboard.as_deref();
                let step = step_docket(docket, ending, webhook, dashboard, &self.meanings, now)?;
                (step, &mut docket.log)
            }
            Target::Call(task_id) => {
                let call = self.calls.get_mut(task_id)?;
                let step = step_call(call, ending, webhook, now)?;
                (step, &mut call.log)
            }
        };
        match step.next {
            Some(attempt) if self.rings_at_once => log.ring(attempt, now),
            _ => {}
        }
        self.touch(target);
        if step.next.is_none() {
            self.end(target.clone());
        }
        Some(step)
    }

    /// What is to happen to `attempt` when its time has come: it rings, or ends by its script.
    pub(super) fn on_time(
        &mut self,
        target: &Target,
        attempt: usize,
        now: SystemTime,
    ) -> Option<Step> {
        if self.next_attempt(target) != Some(attempt) {
            return None;
        }
        let is_manual = self.is_manual;
        let log = self.log_mut(target)?;
        match log.ringing {
            Some(ringing) if is_manual && !ringing.is_left => None,
            Some(_) => self.step(target, None, now),
            None => {
                log.ring(attempt, now);
                self.touch(target);
                None
            }
        }
    }

    /// The target whose attempt with this number rings.
    pub(super) fn ringing(&self, id: &str, attempt: usize) -> Result<Target, NotEnded> {
        let target = self.target(id);
        let target = target.ok_or_else(|| NotEnded::Unknown(id.to_owned()))?;
        let rings = self.next_attempt(&target).filter(|_| {
            self.shown(&target)
                .is_some_and(|one| one.log.ringing.is_some())
        });
        match rings {
            Some(rings) if rings == attempt => Ok(target),
            rings => Err(NotEnded::NotRinging { attempt, rings }),
        }
    }

    /// Leaves an attempt that rings to its script.
    pub(super) fn leave(&mut self, target: &Target) {
        let log = self.log_mut(target);
        if let Some(ringing) = log.and_then(|log| log.ringing.as_mut()) {
            ringing.is_left = true;
        }
    }

    /// The docket or direct call with this id.
    pub(super) fn target(&self, id: &str) -> Option<Target> {
        if self.calls.contains_key(id) {
            return Some(Target::Call(id.to_owned()));
        }
        self.docket(id).map(|docket| Target::Docket(docket.id))
    }

    fn next_attempt(&self, target: &Target) -> Option<usize> {
        match target {
            Target::Docket(id) => self.dockets.get(id)?.next_attempt(),
            Target::Call(task_id) => self.calls.get(task_id)?.ended.is_none().then_some(1),
        }
    }

    fn log_mut(&mut self, target: &Target) -> Option<&mut Log> {
        match target {
            Target::Docket(id) => self.dockets.get_mut(id).map(|docket| &mut docket.log),
            Target::Call(task_id) => self.calls.get_mut(task_id).map(|call| &mut call.log),
        }
    }

    fn shown(&self, target: &Target) -> Option<entry::Facts<'_>> {
        match target {
            Target::Docket(id) => {
                let docket = self.dockets.get(id)?;
                Some(docket.shown(self.meanings.v2_status))
            }
            Target::Call(task_id) => self.calls.get(task_id).map(Call::shown),
        }
    }

    /// A target changed.
    fn touch(&mut self, target: &Target) {
        let Some(before) = self.log_mut(target).map(|log| log.sequence) else {
            return;
        };
        let what = Changed::Entry(target.clone());
        let sequence = self.journal.change_of(what, before);
        if let Some(log) = self.log_mut(target) {
            log.sequence = sequence;
        }
    }

    /// Adds a moment, if there was one, to a target that is still known.
    pub(super) fn note(&mut self, target: &Target, moment: Option<Moment>) {
        if let Some(moment) = moment
            && let Some(log) = self.log_mut(target)
        {
            log.timeline.push(moment);
            self.touch(target);
        }
    }

    /// Takes note of the end of a target, for which the oldest such one may be forgotten.
    fn end(&mut self, target: Target) {
        let forgotten = match self.over.push(target) {
            Some(Target::Docket(id)) => self.dockets.remove(&id).map(|docket| docket.log),
            Some(Target::Call(task_id)) => self.calls.remove(&task_id).map(|call| call.log),
            None => None,
        };
        if let Some(log) = forgotten {
            self.forgotten += 1;
            self.journal.forget(log.sequence);
        }
    }

    /// Completes a docket whose notification has been delivered.
    pub(super) fn close_notified(&mut self, id: Uuid, now: SystemTime) {
        if let Some(docket) = self.dockets.get_mut(&id) {
            docket.close(true, now);
            self.touch(&Target::Docket(id));
        }
    }

    /// Time between the last call and its notification.
    pub(super) fn webhook_delay(&self) -> Duration {
        let webhook = self.webhook.as_ref();
        webhook.map_or(Duration::ZERO, |webhook| webhook.delay)
    }

    pub(super) fn set_dashboard(&mut self, base_url: Option<String>) {
        self.dashboard = base_url;
    }

    /// Changes what is ordered.
    pub(super) fn order<R>(&mut self, change: impl FnOnce(&mut FaultQueue) -> R) -> R {
        let changed = change(&mut self.faults);
        self.journal.change();
        changed
    }

    /// Counts a request and takes its fault.
    pub(super) fn take_fault(&mut self, endpoint: Endpoint) -> Option<Fault> {
        let fault = self.faults.take(endpoint)?;
        self.journal.change();
        Some(fault)
    }

    pub(super) fn order_delivery(&mut self, fault: DeliveryFault) {
        self.delivery_faults.push_back(fault);
        self.journal.change();
    }

    pub(super) fn take_delivery_fault(&mut self) -> Option<DeliveryFault> {
        let fault = self.delivery_faults.pop_front()?;
        self.journal.change();
        Some(fault)
    }

    /// Forgets all faults that are ordered.
    pub(super) fn clear_orders(&mut self) {
        self.faults.clear();
        self.delivery_faults.clear();
        self.journal.change();
    }

    pub(super) fn details(&self, id: &str) -> Option<EntryDetails> {
        let target = self.target(id)?;
        self.shown(&target).map(|shown| shown.details())
    }

    pub(super) fn changes(&self, since: u64) -> Changes {
        let (changed, sequence, is_cut) = self.journal.since(since);
        let mut changes = Changes {
            run: self.journal.run(),
            sequence,
            manual: self.is_manual,
            counts: Counts {
                dockets: self.dockets.len() + self.calls.len(),
                forgotten: self.forgotten,
                requests: self.journal.kept_requests(),
                forgotten_requests: self.journal.forgotten_requests(),
            },
            entries: Vec::new(),
            requests: Vec::new(),
            orders: self.faults.pending(),
            delivery_orders: self.delivery_faults.iter().copied().collect(),
            is_cut,
        };
        for change in changed {
            match change {
                Changed::Entry(target) => {
                    let shown = self.shown(&target);
                    changes.entries.extend(shown.map(|shown| shown.listed()));
                }
                Changed::Request(n) => changes.requests.extend(self.journal.line(n)),
            }
        }
        changes
    }
}

fn step_docket(
    docket: &mut Docket,
    ending: Option<Ending>,
    webhook: Option<&WebhookOptions>,
    dashboard: Option<&str>,
    meanings: &Meanings,
    now: SystemTime,
) -> Option<Step> {
    let outcome = docket.place_next_call(ending, now)?;
    let about = Target::Docket(docket.id);
    let mut notifications = Vec::new();
    if webhook.is_some_and(|webhook| webhook.call_events) {
        let call = docket.last_call();
        notifications.extend(call.map(|call| call_event(&call, about)));
    }
    if docket.is_over() {
        let told = docket.is_answered() || meanings.never_answered == NeverAnswered::Notified;
        let webhook = webhook.filter(|_| told);
        notifications.extend(complete(docket, webhook, dashboard, now));
    }
    Some(Step {
        outcome,
        next: docket.next_attempt(),
        notifications,
    })
}

/// Closes a docket, unless its notification is to do that.
fn complete(
    docket: &mut Docket,
    webhook: Option<&WebhookOptions>,
    dashboard: Option<&str>,
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
        about: Target::Docket(docket.id),
        body: json_text(&docket.completion(dashboard)),
        closes: closed_by_delivery.then_some(docket.id),
    })
}

fn step_call(
    call: &mut Call,
    ending: Option<Ending>,
    webhook: Option<&WebhookOptions>,
    now: SystemTime,
) -> Option<Step> {
    let outcome = call.end(ending, now)?;
    let told = webhook.is_some_and(|webhook| webhook.call_events);
    let about = || Target::Call(call.task_id.clone());
    let notification = told.then(|| call_event(&call.facts(), about()));
    Some(Step {
        outcome,
        next: None,
        notifications: notification.into_iter().collect(),
    })
}

fn call_event(call: &CallFacts, about: Target) -> Notification {
    let docket_id = match &about {
        Target::Docket(id) => Some(id.to_string()),
        Target::Call(_) => None,
    };
    let body = json_text(&CallEvent {
        event: "call.completed",
        task_id: call.call_id,
        docket_id,
        call_status: call.status(),
        to_number: call.to_number,
        call_context: call.call_context,
    });
    Notification {
        kind: NotificationKind::CallCompleted,
        about,
        body,
        closes: None,
    }
}

/// JSON of our own structs, none of which can fail: string keys and raw JSON only.
pub(super) fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the mock's own structs are JSON")
}
