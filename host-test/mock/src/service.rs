//! The service as it runs: answers requests, lets time pass, delivers notifications.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use wiremock::{Request, Respond, ResponseTemplate};

use super::answer::{Answer, Reply, answer};
use super::call::CallStatus;
use super::endpoint::route;
use super::fault::{Fault, FaultQueue};
use super::newest::Newest;
use super::options::{Options, Pace, WebhookOptions};
use super::received::ReceivedRequest;
use super::state::{Notification, State, Target};
use super::webhook::{Delivery, Webhook};

/// What the HTTP server, the worker and the tests share.
pub(super) struct Service {
    state: Mutex<State>,
    faults: Mutex<FaultQueue>,
    requests: Mutex<Newest<ReceivedRequest>>,
    deliveries: watch::Sender<Newest<Delivery>>,
    receiver: Option<Receiver>,
    work: UnboundedSender<Work>,
    pace: Pace,
    answer_delay: Duration,
    started_at: Instant,
}

/// Who is notified, and how.
pub(super) struct Receiver {
    pub(super) webhook: Webhook,
    pub(super) options: WebhookOptions,
}

/// What the worker is given to do.
pub(super) enum Work {
    /// Take the target's next step when its time has come.
    GoOn(Target),
    /// Deliver what one step has to tell, in order.
    Notify(Vec<Notification>),
}

impl Service {
    pub(super) fn new(
        options: &Options,
        receiver: Option<Receiver>,
        work: UnboundedSender<Work>,
    ) -> Self {
        Self {
            state: Mutex::new(State::new(options)),
            faults: Mutex::default(),
            requests: Mutex::new(Newest::new(options.kept_records)),
            deliveries: watch::Sender::new(Newest::new(options.kept_records)),
            receiver,
            work,
            pace: options.pace,
            answer_delay: options.answer_delay,
            started_at: Instant::now(),
        }
    }

    pub(super) fn uptime(&self) -> Duration {
        self.started_at.elapsed()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, FaultQueue> {
        locked(&self.faults)
    }

    pub(super) fn requests(&self) -> MutexGuard<'_, Newest<ReceivedRequest>> {
        locked(&self.requests)
    }

    pub(super) fn deliveries(&self) -> watch::Receiver<Newest<Delivery>> {
        self.deliveries.subscribe()
    }

    /// Takes the next step of `target`; none where there is none left.
    pub(super) fn step(&self, target: &Target) -> Option<CallStatus> {
        let step = self.state().step(target, SystemTime::now())?;
        tracing::debug!(?target, outcome = step.outcome.as_str(), "call over");
        if !step.notifications.is_empty() {
            self.hand_over(Work::Notify(step.notifications));
        }
        if step.goes_on {
            self.hand_over(Work::GoOn(target.clone()));
        }
        Some(step.outcome)
    }

    /// Once the mock is being stopped nobody takes work any more, and that is meant.
    fn hand_over(&self, work: Work) {
        let _stopped = self.work.send(work);
    }

    fn process(&self, request: &ReceivedRequest) -> Answer {
        let Reply { answer, started } = answer(&mut self.state(), request, SystemTime::now());
        if let Some(target) = started {
            self.hand_over(Work::GoOn(target));
        }
        answer
    }

    fn answer(&self, request: &ReceivedRequest, fault: Option<&Fault>) -> Answer {
        match fault {
            None => self.process(request),
            Some(fault) => {
                let proper = fault.is_processed().then(|| self.process(request));
                fault.answer(proper)
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere fails its own test; what it left behind is still worth reading.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The service as wiremock asks it.
pub(super) struct Responder(pub(super) Arc<Service>);

impl Respond for Responder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let service = &self.0;
        let mut received = ReceivedRequest::new(request, service.uptime());
        received.endpoint = route(&received.method, received.path()).endpoint();
        let fault = received
            .endpoint
            .and_then(|endpoint| service.faults().take(endpoint));
        let answer = service.answer(&received, fault.as_ref());
        received.answered = answer.status;
        // The path may hold a phone number, or the token.
        let endpoint = received
            .endpoint
            .map_or_else(|| "unknown".to_owned(), |endpoint| endpoint.to_string());
        tracing::debug!(endpoint, status = %answer.status, "answered");
        service.requests().push(received);
        let fault_delay = fault.map_or(Duration::ZERO, |fault| fault.answer_delay());
        template(answer, service.answer_delay + fault_delay)
    }
}

fn template(answer: Answer, delay: Duration) -> ResponseTemplate {
    let template = ResponseTemplate::new(answer.status)
        .append_headers(answer.headers)
        .set_body_bytes(answer.body);
    if delay.is_zero() {
        template
    } else {
        template.set_delay(delay)
    }
}

/// Does the work until it is dropped, and with it every delivery under way.
pub(super) async fn work(service: Arc<Service>, mut work: UnboundedReceiver<Work>) {
    // One interval for all: what came first is due first.
    let mut due: VecDeque<(Instant, Target)> = VecDeque::new();
    let mut deliveries = JoinSet::new();
    loop {
        let next_due = due.front().map(|(at, _)| *at);
        tokio::select! {
            Some(work) = work.recv() => match (work, service.pace) {
                (Work::GoOn(_), Pace::Manual) => {}
                (Work::GoOn(target), Pace::Every(interval)) => {
                    due.push_back((Instant::now() + interval, target));
                }
                (Work::Notify(notifications), _) => {
                    deliveries.spawn(notify(service.clone(), notifications));
                }
            },
            () = sleep_until(next_due.unwrap_or_else(Instant::now)), if next_due.is_some() => {
                if let Some((_, target)) = due.pop_front() {
                    service.step(&target);
                }
            }
            Some(_) = deliveries.join_next() => {}
        }
    }
}

/// Delivers what one step has to tell, each as often as asked for.
async fn notify(service: Arc<Service>, notifications: Vec<Notification>) {
    let Some(receiver) = &service.receiver else {
        return;
    };
    sleep(receiver.options.delay).await;
    for notification in notifications {
        for _ in 0..receiver.options.copies {
            let outcome = receiver.webhook.deliver(&notification.body).await;
            let delivery = Delivery {
                kind: notification.kind,
                body: notification.body.clone(),
                at: service.uptime(),
                outcome: outcome.map_err(|error| format!("{error:#}")),
            };
            service.deliveries.send_modify(|all| _ = all.push(delivery));
        }
        if let Some(docket_id) = notification.closes {
            let now = SystemTime::now();
            service.state().close_notified(docket_id, now);
        }
    }
}
