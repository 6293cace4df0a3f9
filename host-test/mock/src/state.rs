//! The state of the service, and the effect of each step of time on it. Pure: no clock, no network.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::sync::watch;
use uuid::Uuid;

use super::agent::Agent;
use super::answer::{Refusal, json_text};
use super::call::{CallStatus, Ending, NotEnded, Scripts};
use super::creation::{AgentKey, Creation, RepeatedExternalId};
use super::delivery::Notification;
use super::fault::{DeliveryFault, FaultQueue, PendingFault};
use super::newest::Newest;
use super::options::{Options, Pace};
use super::request::{Endpoint, RequestDetails, RequestLine};
use super::task::{Entry, EntryDetails, Moment, MomentKind, Task};

/// The limit of open tasks, as a multiple of the ended ones that are kept.
const MOST_OPEN: usize = 20;

/// The time within which an equal creation counts as a repeat.
const REPEAT_WINDOW: Duration = Duration::from_secs(60);

/// The changes since a sequence number.
#[derive(Clone, Debug, Serialize)]
pub struct Changes {
    /// An id of this run of the mock: sequence numbers of other runs have no meaning.
    pub run: Uuid,
    /// The sequence number from which to continue.
    pub sequence: u64,
    /// Whether attempts ring until they are ended by hand.
    pub manual: bool,
    /// The numbers of known and dropped entries and requests.
    pub counts: Counts,
    /// The dockets and direct calls that changed, in the order of their last changes.
    pub entries: Vec<Entry>,
    /// The requests that changed, in order.
    pub requests: Vec<RequestLine>,
    /// All faults that are ordered, in the order of the orders.
    pub orders: Vec<PendingFault>,
    /// All faults of deliveries that are ordered, in order.
    pub delivery_orders: Vec<DeliveryFault>,
}

/// The numbers of known and dropped entries and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The number of dockets and direct calls that are known.
    pub dockets: usize,
    /// The number of dockets and direct calls that were dropped.
    pub forgotten: usize,
    /// The number of requests that are kept.
    pub requests: usize,
    /// The number of requests that were dropped.
    pub forgotten_requests: usize,
}

/// The state of the service.
pub(super) struct State {
    pub(super) token: String,
    repeated_external_id: RepeatedExternalId,
    /// The agents that exist from the beginning.
    first_agents: Vec<Agent>,
    created_agents: Newest<Agent>,
    next_agent_id: i64,
    scripts: Scripts,
    /// Whether completed dockets are reported.
    has_webhook: bool,
    /// Whether attempts ring until they are ended by hand.
    is_manual: bool,
    /// The base URL of the page that shows dockets.
    pub(super) dashboard: Option<String>,
    faults: FaultQueue,
    tasks: HashMap<Uuid, Task>,
    /// The tasks that have no further step.
    over: Newest<Uuid>,
    most_open: usize,
    /// The number of each docket and direct call, in the order of their start.
    pub(super) started: Newest<String>,
    pub(super) requests: Newest<RequestDetails>,
    run: Uuid,
    sequence: watch::Sender<u64>,
}

/// The effect of one step of a task.
#[derive(Debug)]
pub(super) struct Step {
    /// How the call ended.
    pub(super) outcome: CallStatus,
    /// The number of the next attempt; `None` if no further step follows.
    pub(super) next: Option<usize>,
    /// The notification for the webhook, if the docket is completed.
    pub(super) notification: Option<Notification>,
}

impl State {
    pub(super) fn new(options: &Options) -> Self {
        let highest = options.agents.iter().map(|agent| agent.agent_id).max();
        Self {
            token: options.token.clone(),
            repeated_external_id: options.repeated_external_id,
            first_agents: options.agents.clone(),
            created_agents: Newest::new(options.kept),
            next_agent_id: highest.unwrap_or(0) + 1,
            scripts: options.scripts.clone(),
            has_webhook: options.webhook.is_some(),
            is_manual: options.pace == Pace::Manual,
            dashboard: None,
            faults: FaultQueue::default(),
            tasks: HashMap::new(),
            over: Newest::new(options.kept),
            most_open: options
                .kept
                .map_or(usize::MAX, |kept| kept.max(1) * MOST_OPEN),
            started: Newest::new(options.kept),
            requests: Newest::new(options.kept),
            run: Uuid::new_v4(),
            sequence: watch::Sender::new(0),
        }
    }

    /// Returns all known agents, in the order of their creation.
    pub(super) fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.first_agents.iter().chain(self.created_agents.iter())
    }

    /// Returns the id of the next agent.
    pub(super) fn next_agent_id(&self) -> i64 {
        self.next_agent_id
    }

    /// Adds an agent with the next id.
    pub(super) fn add_agent(&mut self, agent: Agent) {
        let bytes = agent.agent_name.len() + agent.agent_phone_number.len();
        self.created_agents.push(agent, bytes);
        self.next_agent_id += 1;
    }

    /// Returns the docket or direct call with this id.
    pub(super) fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.get(&id.parse().ok()?)
    }

    /// Returns the docket whose call context contains `text`.
    pub(super) fn docket_with_context(&self, text: &str) -> Option<String> {
        let mut tasks = self.tasks.values();
        let docket =
            tasks.find(|task| task.is_docket() && task.call_context.get().contains(text))?;
        Some(docket.id.to_string())
    }

    /// Returns the docket that was created for the same external id, if repeats are recognised.
    pub(super) fn same_docket(&self, creation: &Creation) -> Option<&Task> {
        if self.repeated_external_id == RepeatedExternalId::NewDocket {
            return None;
        }
        let external_id = creation.external_id.as_ref()?;
        let mut tasks = self.tasks.values();
        tasks.find(|task| task.external_id.as_ref() == Some(external_id))
    }

    /// Starts the docket or call of request number `request` to `endpoint`: from now on a phone
    /// rings.
    pub(super) fn start(
        &mut self,
        endpoint: Endpoint,
        creation: &Creation,
        request: usize,
        now: SystemTime,
    ) -> Result<&Task, Refusal> {
        if self.tasks.len() - self.over.len() >= self.most_open {
            return Err(Refusal::Full);
        }
        let is_meant = |agent: &&Agent| match &creation.agent {
            AgentKey::Id(id) => agent.agent_id == *id,
            AgentKey::Name(name) => agent.agent_name == *name,
        };
        let agent = self.agents().find(is_meant);
        let agent = agent.ok_or(Refusal::NotFound("Agent"))?;
        let number = &creation.to_phone_number;
        let script = match endpoint {
            Endpoint::MakeCall => self.scripts.of_direct_call(number),
            _ => self.scripts.of_docket(number),
        };
        let mut task = Task::new(endpoint, agent, creation, script, now);
        let (id, earlier) = (task.id, self.earlier(creation, now));
        task.repeats = earlier;
        let text = format!("Created by request {request}.");
        task.note(Moment::new(now, MomentKind::Created, text).of_request(request));
        self.started.push(number.clone(), number.len());
        self.tasks.insert(id, task);
        self.change(id, |task| task.ring(now));
        if let Some(earlier) = earlier {
            self.note(earlier, Moment::repeated(now, request, id));
        }
        Ok(&self.tasks[&id])
    }

    /// Returns the newest docket or call that an equal creation started within the last minute.
    pub(super) fn earlier(&self, creation: &Creation, now: SystemTime) -> Option<Uuid> {
        let is_recent = |task: &&Task| {
            let age = now.duration_since(task.created_at);
            age.unwrap_or_default() <= REPEAT_WINDOW
        };
        let tasks = self.tasks.values().filter(is_recent);
        let equal = tasks.filter(|task| {
            task.to_number == creation.to_phone_number
                && task.call_context.get() == creation.call_context.get()
        });
        let newest = equal.max_by_key(|task| task.created_at)?;
        Some(newest.id)
    }

    /// Makes the next call of a task, which ends as `ending` says or by its script. Returns `None`
    /// if the task does not exist or has no further step.
    pub(super) fn step(
        &mut self,
        id: Uuid,
        ending: Option<Ending>,
        now: SystemTime,
    ) -> Option<Step> {
        let task = self.tasks.get_mut(&id)?;
        let outcome = task.place_next_call(ending, now)?;
        let is_completed = task.is_docket() && task.is_over();
        if is_completed {
            task.close(self.has_webhook, now);
        }
        let notification = (is_completed && self.has_webhook).then(|| Notification {
            about: id,
            body: json_text(&task.completion(self.dashboard.as_deref())),
        });
        let next = task.next_attempt();
        let bytes = task.call_context.get().len();
        self.change(id, |_| ());
        if next.is_none() {
            for forgotten in self.over.push(id, bytes) {
                self.tasks.remove(&forgotten);
            }
        }
        Some(Step {
            outcome,
            next,
            notification,
        })
    }

    /// Ends `attempt` by its script when its time has come, unless it was ended by hand.
    pub(super) fn on_time(&mut self, id: Uuid, attempt: usize, now: SystemTime) -> Option<Step> {
        let task = self.tasks.get(&id)?;
        let is_ringing = task.next_attempt() == Some(attempt);
        is_ringing.then(|| self.step(id, None, now))?
    }

    /// Returns the task whose attempt with this number is ringing.
    pub(super) fn ringing(&self, id: &str, attempt: usize) -> Result<Uuid, NotEnded> {
        let task = self.task(id);
        let task = task.ok_or_else(|| NotEnded::Unknown(id.to_owned()))?;
        match task.next_attempt() {
            Some(rings) if rings == attempt => Ok(task.id),
            rings => Err(NotEnded::NotRinging { attempt, rings }),
        }
    }

    /// Changes a task, if it is still known.
    fn change(&mut self, id: Uuid, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.tasks.get_mut(&id) {
            change(task);
            task.sequence = next(&self.sequence);
        }
    }

    /// Adds a moment to a task, if it is still known.
    pub(super) fn note(&mut self, id: Uuid, moment: Moment) {
        self.change(id, |task| task.note(moment));
    }

    /// Changes the ordered faults.
    pub(super) fn order<R>(&mut self, change: impl FnOnce(&mut FaultQueue) -> R) -> R {
        next(&self.sequence);
        change(&mut self.faults)
    }

    /// Stores a request with its answer.
    pub(super) fn keep(&mut self, mut request: RequestDetails) {
        request.sequence = next(&self.sequence);
        let size = request.size();
        self.requests.push(request, size);
    }

    /// Records that the answer to request `n`, which was held back, was sent.
    pub(super) fn sent(&mut self, n: usize, after: Duration) {
        if let Some(request) = self.requests.numbered_mut(n) {
            request.sent(after);
            request.sequence = next(&self.sequence);
        }
    }

    pub(super) fn details(&self, id: &str) -> Option<EntryDetails> {
        self.task(id).map(Task::details)
    }

    pub(super) fn sequence(&self) -> watch::Receiver<u64> {
        self.sequence.subscribe()
    }

    pub(super) fn changes(&self, since: u64) -> Changes {
        let sequence = *self.sequence.borrow();
        // A number that was never assigned belongs to another run.
        let since = if since > sequence { 0 } else { since };
        let tasks = self.tasks.values();
        let mut changed: Vec<_> = tasks.filter(|task| task.sequence > since).collect();
        changed.sort_by_key(|task| task.sequence);
        let requests = self.requests.iter();
        let requests = requests.filter(|request| request.sequence > since);
        Changes {
            run: self.run,
            sequence,
            manual: self.is_manual,
            counts: Counts {
                dockets: self.tasks.len(),
                forgotten: self.over.came() - self.over.len(),
                requests: self.requests.len(),
                forgotten_requests: self.requests.came() - self.requests.len(),
            },
            entries: changed.into_iter().map(Task::listed).collect(),
            requests: requests.map(|request| request.line.clone()).collect(),
            orders: self.faults.pending(),
            delivery_orders: self.faults.deliveries.iter().copied().collect(),
        }
    }
}

/// Records a change, and returns its sequence number.
fn next(sequence: &watch::Sender<u64>) -> u64 {
    sequence.send_modify(|sequence| *sequence += 1);
    *sequence.borrow()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_creation_repeats_what_was_started_within_a_minute() {
        let mut state = State::new(&Options::default());
        let body = br#"{"agent_id":7,"to_phone_number":"919876543210","extra_config":{"call_context":{}}}"#;
        let creation = Creation::read(Endpoint::CreateDocket, body).unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(state.earlier(&creation, at(0)), None);
        let started = state.start(Endpoint::CreateDocket, &creation, 1, at(0));
        let id = started.unwrap().id;
        assert_eq!(state.earlier(&creation, at(60)), Some(id));
        assert_eq!(state.earlier(&creation, at(61)), None);
    }
}
