//! One request under one lock: what it does, its answer, and the record of both, so that
//! what a request started is never seen without the request.

use std::time::{Duration, Instant, SystemTime};

use super::answer::{Answer, answer};
use super::endpoint::{Endpoint, Route, route};
use super::fault::Fault;
use super::journal::{RequestDetails, RequestLine, whole_milliseconds};
use super::received::ReceivedRequest;
use super::repeats::Creation;
use super::state::{Notification, State, Target};
use super::timeline::{Moment, MomentKind};

/// Time for a notification that is to be delivered before its answer. What sends the answer can
/// wait for a time only, not for an event.
const COMPLETED_FIRST: Duration = Duration::from_secs(1);

/// What is left to be done for a request.
pub(super) struct Exchange {
    pub(super) number: u64,
    pub(super) answer: Answer,
    /// How long the answer is held back; none: for good.
    pub(super) hold: Option<Duration>,
    /// What was started and goes on by itself.
    pub(super) started: Option<Target>,
    pub(super) notifications: Vec<Notification>,
}

/// Meets a request that came at `now`.
pub(super) fn exchange(
    state: &mut State,
    mut received: ReceivedRequest,
    now: SystemTime,
    answer_delay: Duration,
) -> Exchange {
    let begun = Instant::now();
    let fault = received
        .endpoint
        .and_then(|endpoint| state.take_fault(endpoint));
    let (number, sequence) = state.journal.arrive();
    let mut line = RequestLine::new(number, &received, now);
    line.fault = fault.as_ref().map(Fault::to_string);

    let creation = received
        .endpoint
        .and_then(|endpoint| Creation::read(endpoint, &received.body));
    let earlier = creation
        .as_ref()
        .and_then(|creation| state.journal.repeats.started_by(creation, now))
        .cloned();
    let is_processed = fault.as_ref().is_none_or(Fault::is_processed);
    let reply = is_processed.then(|| answer(state, &received, now));
    let (proper, about, is_new) = match reply {
        Some(reply) => (Some(reply.answer), reply.about, reply.is_new),
        None => (None, None, false),
    };
    let about = about.or_else(|| read_by(state, &received));
    let (answer, hold) = match (&fault, proper) {
        (Some(fault), proper) => (fault.answer(proper), fault.hold()),
        (None, proper) => (proper.expect("processed"), Some(Duration::ZERO)),
    };
    line.entry = about.as_ref().map(Target::to_string);
    line.repeats = earlier.is_some() && (is_new || fault.is_some());

    let moment = line.fault.as_ref().map(|fault| {
        let text = format!("Request {number} met the fault {fault}.");
        Moment::new(now, MomentKind::Request, text)
            .with_status(hold.map(|_| answer.status))
            .of_request(number)
    });
    let started = about.clone().filter(|_| is_new);
    if let Some(target) = &started {
        state.begin(target, creation.as_ref(), earlier, number, now);
        state.note(target, moment);
    } else if let Some(target) = about.as_ref().or(earlier.as_ref()) {
        state.note(target, moment);
    } else if let (Some(creation), Some(moment)) = (&creation, moment) {
        state.journal.repeats.refuse(creation, moment, now);
    }

    let mut notifications = Vec::new();
    let mut hold = hold.map(|hold| hold + answer_delay);
    let completes_first = fault.as_ref().is_some_and(Fault::completes_first);
    if completes_first && let Some(target) = &started {
        while let Some(step) = state.step(target, None, now) {
            notifications.extend(step.notifications);
        }
        hold = hold.map(|hold| hold + state.webhook_delay() + COMPLETED_FIRST);
    }
    if hold.is_some_and(|hold| hold.is_zero()) {
        line.status = Some(answer.status.as_u16());
        line.duration_ms = Some(whole_milliseconds(begun.elapsed()));
    }
    received.answered = answer.status;
    let details = RequestDetails::new(line, &received, now, &answer);
    let status = answer.status.as_u16();
    state.journal.push(details, status, sequence);
    state.requests.push(received);
    Exchange {
        number,
        answer,
        hold,
        started: started.filter(|_| !completes_first),
        notifications,
    }
}

/// What a request reads.
fn read_by(state: &State, received: &ReceivedRequest) -> Option<Target> {
    match route(&received.method, received.path()) {
        Route::Found {
            endpoint: Endpoint::GetDocket | Endpoint::GetCallDetails,
            id,
        } => state.target(id),
        _ => None,
    }
}
