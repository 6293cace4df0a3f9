//! The state of the service, and the effect of each step of time on it. Pure: no clock, no network.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use indexmap::IndexMap;
use serde::Serialize;
use tokio::sync::watch;
use uuid::Uuid;

use super::agent::Agent;
use super::answer::{Refusal, json_text};
use super::call::{CallStatus, Ending, Scripts};
use super::creation::{AgentKey, Creation, Origin, RepeatedExternalId};
use super::delivery::Notification;
use super::fault::FaultQueue;
use super::options::{Options, Pace};
use super::request::{ReceivedRequest, RequestDetails, RequestLine};
use super::task::{Entry, Moment, Task};

/// The memory that requests may take, in bytes.
const MOST_REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// The memory that tasks and agents may take, in bytes.
const MOST_TASK_BYTES: usize = 128 * 1024 * 1024;

/// The time within which an equal creation counts as a repeat.
const REPEAT_WINDOW: Duration = Duration::from_secs(60);

/// The changes since a sequence number.
#[derive(Clone, Debug, Serialize)]
pub struct Changes {
    /// The sequence number from which to continue.
    #[serde(skip)]
    pub sequence: u64,
    /// Whether attempts ring until they are ended by hand.
    pub manual: bool,
    /// The dockets and direct calls that changed, in the order of their creation.
    pub entries: Vec<Entry>,
    /// The requests that changed, in order.
    pub requests: Vec<RequestLine>,
    /// All faults that are ordered, in the order of the orders.
    pub orders: Vec<String>,
}

/// The state of the service.
pub(super) struct State {
    pub(super) token: String,
    repeated_external_id: RepeatedExternalId,
    pub(super) agents: Vec<Agent>,
    scripts: Scripts,
    /// Whether completed dockets are reported.
    has_webhook: bool,
    /// Whether attempts ring until they are ended by hand.
    is_manual: bool,
    /// The base URL of the page that shows dockets.
    pub(super) dashboard: Option<String>,
    faults: FaultQueue,
    /// The dockets and direct calls, in the order of their creation.
    pub(super) tasks: IndexMap<Uuid, Task>,
    /// The memory of tasks and created agents.
    bytes: usize,
    /// The newest requests, in order.
    pub(super) requests: VecDeque<RequestDetails>,
    request_bytes: usize,
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
        Self {
            token: options.token.clone(),
            repeated_external_id: options.repeated_external_id,
            agents: options.agents.clone(),
            scripts: options.scripts.clone(),
            has_webhook: options.webhook.is_some(),
            is_manual: options.pace == Pace::Manual,
            dashboard: None,
            faults: FaultQueue(options.faults.clone()),
            tasks: IndexMap::new(),
            bytes: 0,
            requests: VecDeque::new(),
            request_bytes: 0,
            sequence: watch::Sender::new(0),
        }
    }

    /// Returns the id of the next agent.
    pub(super) fn next_agent_id(&self) -> i64 {
        let ids = self.agents.iter().map(|agent| agent.agent_id);
        ids.max().unwrap_or(0) + 1
    }

    /// Reserves the memory of a task or agent that the request describes.
    pub(super) fn reserve(&mut self, request: &ReceivedRequest) -> Result<(), Refusal> {
        self.bytes += request.size();
        match self.bytes <= MOST_TASK_BYTES {
            true => Ok(()),
            false => Err(Refusal::Full),
        }
    }

    /// Returns the docket or direct call with this id.
    pub(super) fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.get(&id.parse::<Uuid>().ok()?)
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

    /// Starts the docket or call of request number `request`, and returns its id: from now on a
    /// phone rings.
    pub(super) fn start(
        &mut self,
        creation: &Creation,
        request: usize,
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
            Origin::Call => self.scripts.of_direct_call(number),
            _ => self.scripts.of_docket(number),
        };
        let mut task = Task::new(agent, creation, script, now);
        let (id, earlier) = (task.id, self.earlier(creation, now));
        task.repeats = earlier;
        let text = format!("Created by request {request}.");
        task.note(Moment::new(now, text));
        self.tasks.insert(id, task);
        self.change(id, |task| task.ring(now));
        if let Some(earlier) = earlier {
            let text = format!("Request {request} asked for the same again, and started {id}.");
            self.note(earlier, Moment::new(now, text));
        }
        Ok(id)
    }

    /// Returns the newest docket or call that an equal creation started within the last minute.
    pub(super) fn earlier(&self, creation: &Creation, now: SystemTime) -> Option<Uuid> {
        let is_recent = |task: &&Task| {
            let age = now.duration_since(task.created_at);
            age.unwrap_or_default() <= REPEAT_WINDOW
        };
        let mut newest_first = self.tasks.values().rev().take_while(is_recent);
        let equal = newest_first.find(|task| {
            task.to_number == creation.to_phone_number
                && task.call_context.get() == creation.call_context.get()
        });
        Some(equal?.id)
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
        self.change(id, |_| ());
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
    pub(super) fn ringing(&self, id: &str, attempt: usize) -> Result<Uuid> {
        let task = self.task(id);
        let task = task.with_context(|| format!("no docket or direct call has the id {id:?}"))?;
        let does_ring = task.next_attempt() == Some(attempt);
        ensure!(does_ring, "attempt {attempt} does not ring any more");
        Ok(task.id)
    }

    /// Changes a task.
    fn change(&mut self, id: Uuid, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.tasks.get_mut(&id) {
            change(task);
            task.sequence = next(&self.sequence);
        }
    }

    /// Adds a moment to a task.
    pub(super) fn note(&mut self, id: Uuid, moment: Moment) {
        self.change(id, |task| task.note(moment));
    }

    /// Changes the ordered faults.
    pub(super) fn faults<R>(&mut self, change: impl FnOnce(&mut FaultQueue) -> R) -> R {
        next(&self.sequence);
        change(&mut self.faults)
    }

    /// Returns the number of the next request.
    pub(super) fn next_request(&self) -> usize {
        self.requests.back().map_or(1, |newest| newest.line.n + 1)
    }

    /// Stores a request with its answer, and drops the oldest ones that there is no room for.
    pub(super) fn keep(&mut self, mut request: RequestDetails) {
        request.sequence = next(&self.sequence);
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
            manual: self.is_manual,
            entries: tasks.map(Task::listed).collect(),
            requests: requests.map(|request| request.line.clone()).collect(),
            orders: self.faults.pending(),
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
    use crate::Endpoint;

    #[test]
    fn a_creation_repeats_what_was_started_within_a_minute() {
        let mut state = State::new(&Options::default());
        let body = br#"{"agent_id":7,"to_phone_number":"919876543210","extra_config":{"call_context":{}}}"#;
        let creation = Creation::read(Endpoint::CreateDocket, body).unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(state.earlier(&creation, at(0)), None);
        let id = state.start(&creation, 1, at(0)).unwrap();
        assert_eq!(state.earlier(&creation, at(60)), Some(id));
        assert_eq!(state.earlier(&creation, at(61)), None);
    }
}
