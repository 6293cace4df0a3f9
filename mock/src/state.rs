//! The state of the service, and the effect of each step of time on it. Pure: no clock, no network.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use indexmap::IndexMap;
use serde::Serialize;
use tokio::sync::watch;
use uuid::Uuid;

use super::agent::Agent;
use super::answer::{Refusal, json_text};
use super::call::{CallStatus, Ending};
use super::creation::{AgentKey, Creation, Origin, RepeatedExternalId};
use super::delivery::Notification;
use super::fault::{Fault, FaultOrder};
use super::number;
use super::options::{Options, Pace};
use super::rate::Usage;
use super::request::{Endpoint, RequestDetails, RequestLine};
use super::task::{Entry, Moment, Task};

/// The memory that requests may take, in bytes.
const MOST_REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// The memory that tasks may take, in bytes. When they exceed it, the oldest are forgotten until an
/// eighth is free.
const MOST_TASK_BYTES: usize = 128 * 1024 * 1024;

/// The number of agents that are kept, those of the beginning included.
const MOST_AGENTS: usize = 1000;

/// The time within which an equal creation counts as a repeat.
const REPEAT_WINDOW: Duration = Duration::from_secs(60);

/// The changes since a sequence number.
#[derive(Clone, Debug, Serialize)]
pub struct Changes {
    /// The sequence number from which to continue.
    pub sequence: u64,
    /// How often the mock was reset. What was listed before the last reset is gone.
    pub resets: u64,
    /// Whether attempts ring until they are ended by hand.
    pub manual: bool,
    /// The dockets and direct calls that changed, in the order of their creation.
    pub entries: Vec<Entry>,
    /// The requests that changed, in order.
    pub requests: Vec<RequestLine>,
    /// All faults that are ordered, in the order of the orders.
    pub orders: Vec<String>,
}

pub(super) struct State {
    pub(super) options: Options,
    /// The use of each token.
    usages: Vec<Usage>,
    /// The agents of the options, and those that were created.
    pub(super) agents: Vec<Agent>,
    /// The base URL of the page that shows dockets.
    pub(super) dashboard: Option<String>,
    /// The faults that have not been executed yet, in the order in which they were ordered.
    orders: Vec<FaultOrder>,
    /// The dockets and direct calls, in the order of their creation.
    pub(super) tasks: IndexMap<Uuid, Task>,
    /// The newest task of each [`fingerprint`].
    newest: HashMap<u64, Uuid>,
    /// The memory of tasks.
    bytes: usize,
    /// The tasks whose attempts end by themselves, by the time at which they do.
    due: watch::Sender<BTreeSet<(SystemTime, Uuid)>>,
    /// The newest requests, in order.
    pub(super) requests: VecDeque<RequestDetails>,
    request_bytes: usize,
    /// The number of requests so far.
    request_count: usize,
    resets: watch::Sender<u64>,
    sequence: watch::Sender<u64>,
}

/// The effect of one step of a task.
#[derive(Debug)]
pub(super) struct Step {
    /// How the call ended.
    pub(super) outcome: CallStatus,
    /// The notification for the webhook, if the docket is completed.
    pub(super) notification: Option<Notification>,
}

impl State {
    pub(super) fn new(options: Options) -> Self {
        Self {
            usages: vec![Usage::default(); options.tokens.len()],
            agents: options.agents.clone(),
            dashboard: None,
            orders: options.faults.clone(),
            options,
            tasks: IndexMap::new(),
            newest: HashMap::new(),
            bytes: 0,
            due: watch::Sender::default(),
            requests: VecDeque::new(),
            request_bytes: 0,
            request_count: 0,
            resets: watch::Sender::new(0),
            sequence: watch::Sender::new(0),
        }
    }

    /// Forgets what happened, and the faults that are ordered. Numbers continue.
    pub(super) fn reset(&mut self) {
        self.usages.fill(Usage::default());
        self.agents.truncate(self.options.agents.len());
        self.orders.clear();
        self.tasks.clear();
        self.newest.clear();
        self.bytes = 0;
        self.due.send_modify(BTreeSet::clear);
        self.requests.clear();
        self.request_bytes = 0;
        next(&self.resets);
        next(&self.sequence);
    }

    /// Records a change of something that [`Changes`] do not list.
    pub(super) fn changed(&self) {
        next(&self.sequence);
    }

    /// Counts a request of an organization.
    pub(super) fn count(&mut self, organization: usize, now: SystemTime) -> Result<(), Refusal> {
        let limit = self.options.rate_limit;
        let counted = limit.map_or(Ok(()), |limit| self.usages[organization].count(limit, now));
        counted.map_err(Refusal::RateLimited)
    }

    pub(super) fn next_agent_id(&self) -> i64 {
        let ids = self.agents.iter().map(|agent| agent.agent_id);
        ids.max().unwrap_or(0) + 1
    }

    /// Adds an agent. The oldest that was created is forgotten if there are too many.
    pub(super) fn add_agent(&mut self, agent: Agent) {
        self.agents.push(agent);
        if self.agents.len() > MOST_AGENTS {
            self.agents.remove(self.options.agents.len());
        }
    }

    pub(super) fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.get(&id.parse::<Uuid>().ok()?)
    }

    pub(super) fn docket_with_context(&self, text: &str) -> Option<String> {
        let mut tasks = self.tasks.values();
        let docket = tasks
            .find(|task| task.is_docket() && task.creation.call_context.get().contains(text))?;
        Some(docket.id.to_string())
    }

    /// Returns the docket or direct call with this id, if this organization owns it.
    pub(super) fn task_of(&self, organization: usize, id: &str) -> Option<&Task> {
        self.task(id).filter(|it| it.organization == organization)
    }

    /// Returns the docket that was created for the same external id, if repeats are recognised.
    pub(super) fn same_docket(&self, organization: usize, creation: &Creation) -> Option<&Task> {
        if self.options.repeated_external_id == RepeatedExternalId::NewDocket {
            return None;
        }
        let external_id = creation.external_id.as_ref()?;
        let mut tasks = self.tasks.values();
        tasks.find(|task| {
            task.organization == organization
                && task.creation.external_id.as_ref() == Some(external_id)
        })
    }

    /// Starts the docket or call that a request of `size` bytes asks for, and returns its id: from
    /// now on a phone rings.
    pub(super) fn start(
        &mut self,
        organization: usize,
        creation: &Creation,
        size: usize,
        now: SystemTime,
    ) -> Result<Uuid, Refusal> {
        let is_meant = |agent: &&Agent| match &creation.agent {
            AgentKey::Id(id) => agent.agent_id == *id,
            AgentKey::Name(name) => agent.agent_name == *name,
        };
        let agent = self.agents.iter().find(is_meant);
        let agent = agent.ok_or(Refusal::NotFound("Agent"))?;
        let number = &creation.to_phone_number;
        let script = match creation.origin {
            Origin::Call => self.options.scripts.of_direct_call(number),
            _ => self.options.scripts.of_docket(number),
        };
        let size = size + agent.size();
        let mut task = Task::new(agent, creation, script, organization, now);
        let (id, earlier) = (task.id, self.earlier(creation, now));
        let request = self.request_count + 1;
        task.repeats = earlier;
        let text = format!("Created by request {request}.");
        task.note(Moment::new(now, text));
        self.tasks.insert(id, task);
        self.newest.insert(fingerprint(creation), id);
        self.change(id, |task| task.ring(now));
        self.plan(id, now);
        self.grow(id, size);
        if let Some(earlier) = earlier {
            let text = format!("Request {request} asked for the same again, and started {id}.");
            self.note(earlier, Moment::new(now, text));
        }
        Ok(id)
    }

    /// Counts further memory of a task, and forgets the oldest ones if there is no room.
    fn grow(&mut self, id: Uuid, bytes: usize) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.size += bytes;
            self.bytes += bytes;
        }
        if self.bytes <= MOST_TASK_BYTES {
            return;
        }
        let mut count = 0;
        while self.bytes > MOST_TASK_BYTES / 8 * 7 && count + 1 < self.tasks.len() {
            self.bytes -= self.tasks[count].size;
            count += 1;
        }
        let forgotten = self.tasks.drain(..count);
        self.due.send_modify(|due| {
            for (id, time) in forgotten.filter_map(|(id, task)| Some((id, task.rings_until?))) {
                due.remove(&(time, id));
            }
        });
        self.newest.retain(|_, id| self.tasks.contains_key(id));
    }

    /// Plans the end of the attempt that rings since `now`, if there is one that ends by itself.
    fn plan(&mut self, id: Uuid, now: SystemTime) {
        let Some(task) = self.tasks.get_mut(&id) else {
            return;
        };
        let until = match self.options.pace {
            Pace::Every(interval) if task.next_attempt().is_some() => now.checked_add(interval),
            _ => None,
        };
        let until = until.filter(|_| !number::rings_on(&task.creation.to_phone_number));
        let before = std::mem::replace(&mut task.rings_until, until);
        self.due.send_modify(|due| {
            if let Some(time) = before {
                due.remove(&(time, id));
            }
            due.extend(until.map(|time| (time, id)));
        });
    }

    /// Ends every attempt whose time has come by `now`, and returns the notifications.
    pub(super) fn pass_time(&mut self, now: SystemTime) -> Vec<Notification> {
        let mut notifications = Vec::new();
        let first = |due: &watch::Sender<BTreeSet<_>>| due.borrow().first().copied();
        while let Some((time, id)) = first(&self.due).filter(|(time, _)| *time <= now) {
            let step = self.step(id, None, time);
            notifications.extend(step.and_then(|step| step.notification));
        }
        notifications
    }

    /// Returns the tasks whose attempts end by themselves, by the time at which they do.
    pub(super) fn due(&self) -> watch::Receiver<BTreeSet<(SystemTime, Uuid)>> {
        self.due.subscribe()
    }

    /// Returns the newest docket or call that an equal creation started within the last minute.
    pub(super) fn earlier(&self, creation: &Creation, now: SystemTime) -> Option<Uuid> {
        let newest = self.newest.get(&fingerprint(creation))?;
        let task = self.tasks.get(newest)?;
        let age = now.duration_since(task.created_at).unwrap_or_default();
        (age <= REPEAT_WINDOW).then_some(task.id)
    }

    /// Makes the next call of a task, which ends as `ending` says or by its script. Returns `None`
    /// if the task does not exist or has no further step.
    pub(super) fn step(
        &mut self,
        id: Uuid,
        ending: Option<Ending>,
        now: SystemTime,
    ) -> Option<Step> {
        let has_webhook = self.options.webhook.is_some();
        let size = ending.as_ref().map_or(0, Ending::size);
        let task = self.tasks.get_mut(&id)?;
        let outcome = task.place_next_call(ending, now)?;
        let is_completed = task.is_docket() && task.is_over();
        if is_completed {
            task.close(has_webhook, now);
        }
        let order = number::order_of(&task.creation.to_phone_number);
        let order = order.filter(|order| order.endpoint.is_none());
        let notification = (is_completed && has_webhook).then(|| Notification {
            about: id,
            body: json_text(&task.completion(self.dashboard.as_deref())),
            at: now,
            fault: order.map(|order| order.fault),
            resets: self.resets.subscribe(),
        });
        self.change(id, |_| ());
        self.plan(id, now);
        self.grow(id, size);
        Some(Step {
            outcome,
            notification,
        })
    }

    /// Returns the task whose attempt with this number, or any attempt, is ringing.
    pub(super) fn ringing(&self, id: &str, attempt: Option<usize>) -> Result<Uuid> {
        let task = self.task(id);
        let task = task.with_context(|| format!("no docket or direct call has the id {id:?}"))?;
        let ringing = task.next_attempt();
        match attempt {
            None => ensure!(ringing.is_some(), "no attempt rings any more"),
            Some(attempt) => ensure!(
                ringing == Some(attempt),
                "attempt {attempt} does not ring any more"
            ),
        }
        Ok(task.id)
    }

    fn change(&mut self, id: Uuid, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.tasks.get_mut(&id) {
            change(task);
            task.sequence = next(&self.sequence);
        }
    }

    pub(super) fn note(&mut self, id: Uuid, moment: Moment) {
        self.change(id, |task| task.note(moment));
    }

    pub(super) fn orders(&mut self) -> &mut Vec<FaultOrder> {
        next(&self.sequence);
        &mut self.orders
    }

    /// Removes and returns the fault of a request to `endpoint`, or of a notification.
    pub(super) fn take_fault(&mut self, endpoint: Option<Endpoint>) -> Option<Fault> {
        let mut orders = self.orders.iter();
        let index = orders.position(|order| order.endpoint == endpoint)?;
        Some(self.orders().remove(index).fault)
    }

    pub(super) fn next_request(&self) -> usize {
        self.request_count + 1
    }

    /// Stores a request with its answer, and drops the oldest ones that there is no room for.
    pub(super) fn keep(&mut self, mut request: RequestDetails) {
        request.sequence = next(&self.sequence);
        self.request_count = request.line.n;
        self.request_bytes += request.size();
        self.requests.push_back(request);
        while self.request_bytes > MOST_REQUEST_BYTES && self.requests.len() > 1 {
            let oldest = self.requests.pop_front();
            self.request_bytes -= oldest.map_or(0, |oldest| oldest.size());
        }
    }

    /// Returns request `n`, if it is kept.
    pub(super) fn request(&self, n: usize) -> Option<&RequestDetails> {
        self.requests.get(self.index(n)?)
    }

    fn index(&self, n: usize) -> Option<usize> {
        n.checked_sub(self.requests.front()?.line.n)
    }

    /// Records that the answer to request `n`, which was held back, was sent.
    pub(super) fn sent(&mut self, n: usize, after: Duration) {
        let index = self.index(n);
        if let Some(request) = index.and_then(|index| self.requests.get_mut(index)) {
            request.sent(after);
            request.sequence = next(&self.sequence);
        }
    }

    pub(super) fn sequence(&self) -> watch::Receiver<u64> {
        self.sequence.subscribe()
    }

    pub(super) fn changes(&self, since: u64) -> Changes {
        let tasks = self.tasks.values();
        let tasks = tasks.filter(|task| task.sequence > since);
        let requests = self.requests.iter();
        let requests = requests.filter(|request| request.sequence > since);
        Changes {
            sequence: *self.sequence.borrow(),
            resets: *self.resets.borrow(),
            manual: self.options.pace == Pace::Manual,
            entries: tasks.map(Task::listed).collect(),
            requests: requests.map(|request| request.line.clone()).collect(),
            orders: self.orders.iter().map(FaultOrder::to_string).collect(),
        }
    }
}

/// Returns a digest of what makes two creations equal: the number and the context.
fn fingerprint(creation: &Creation) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&creation.to_phone_number, creation.call_context.get()).hash(&mut hasher);
    hasher.finish()
}

/// Counts a change or a reset, and returns its number.
fn next(count: &watch::Sender<u64>) -> u64 {
    count.send_modify(|count| *count += 1);
    *count.borrow()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_creation_repeats_what_was_started_within_a_minute() {
        let mut state = State::new(Options::default());
        let body = br#"{"agent_id":7,"to_phone_number":"919876543210","extra_config":{"call_context":{}}}"#;
        let creation = Creation::read(Endpoint::CreateDocket, body).unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(state.earlier(&creation, at(0)), None);
        let id = state.start(0, &creation, 1000, at(0)).unwrap();
        assert_eq!(state.earlier(&creation, at(60)), Some(id));
        assert_eq!(state.earlier(&creation, at(61)), None);
    }

    #[test]
    fn the_oldest_are_forgotten_for_a_long_name_of_an_agent_and_for_long_metadata() {
        const LENGTH: usize = MOST_TASK_BYTES / 8 * 5;
        let body = br#"{"agent_id":7,"to_phone_number":"919876543210","extra_config":{"call_context":{}}}"#;
        let creation = Creation::read(Endpoint::CreateDocket, body).unwrap();
        let now = SystemTime::UNIX_EPOCH;
        for is_of_agent in [true, false] {
            let mut options = Options::default();
            if is_of_agent {
                options.agents = vec![Agent::new(7, &"a".repeat(LENGTH), "")];
            }
            let mut state = State::new(options);
            for _ in 0..2 {
                let id = state.start(0, &creation, 1000, now).unwrap();
                let mut ending = Ending::scripted(CallStatus::Answered);
                if !is_of_agent {
                    let metadata = format!(r#"{{"a":"{}"}}"#, "a".repeat(LENGTH));
                    ending.metadata = serde_json::from_str(&metadata).unwrap();
                }
                assert!(state.step(id, Some(ending), now).is_some());
                assert!(state.tasks.len() == 1 && state.tasks.contains_key(&id));
            }
        }
    }
}
