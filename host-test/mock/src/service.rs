//! The service as it runs: answers requests, lets time pass, delivers notifications.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use http::StatusCode;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use wiremock::{Request, Respond, ResponseTemplate};

use super::answer::Answer;
use super::call::CallStatus;
use super::ending::{Ending, NotEnded};
use super::exchange::{Exchange, exchange};
use super::fault::DeliveryFault;
use super::newest::Newest;
use super::options::{Options, Pace, WebhookOptions};
use super::received::ReceivedRequest;
use super::state::{Notification, State, Step, Target};
use super::timeline::{Moment, MomentKind};
use super::webhook::{Delivery, Webhook};

/// How long an answer that is never to be sent is held back.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);

/// What the HTTP server, the worker and the tests share.
pub(super) struct Service {
    state: Mutex<State>,
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
    /// Go on with this attempt of the target when its time has come.
    GoOn(Target, usize),
    /// Deliver what one step has to report, in order.
    Notify(Vec<Notification>),
    /// Take note, after this time, that the answer to the request with this number is sent. A
    /// client that left meanwhile is not noticed.
    Send(u64, Duration),
}

impl Service {
    pub(super) fn new(
        options: &Options,
        receiver: Option<Receiver>,
        work: UnboundedSender<Work>,
    ) -> Self {
        Self {
            state: Mutex::new(State::new(options)),
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

    pub(super) fn deliveries(&self) -> watch::Receiver<Newest<Delivery>> {
        self.deliveries.subscribe()
    }

    /// Takes the next step of `target`, as the script has it; none where there is none left.
    pub(super) fn step(&self, target: &Target) -> Option<CallStatus> {
        let step = self.state().step(target, None, SystemTime::now())?;
        Some(self.stepped(target, step))
    }

    /// Ends the attempt of `id` that rings.
    pub(super) fn end(&self, id: &str, attempt: usize, ending: Ending) -> Result<(), NotEnded> {
        ending.check()?;
        let mut state = self.state();
        let target = state.ringing(id, attempt)?;
        let step = state.step(&target, Some(ending), SystemTime::now());
        drop(state);
        if let Some(step) = step {
            self.stepped(&target, step);
        }
        Ok(())
    }

    /// Leaves the attempt of `id` that rings to its script: at once, where time does not pass by
    /// itself.
    pub(super) fn leave(&self, id: &str, attempt: usize) -> Result<(), NotEnded> {
        let mut state = self.state();
        let target = state.ringing(id, attempt)?;
        if !state.is_manual {
            return Ok(());
        }
        state.leave(&target);
        drop(state);
        match self.pace {
            Pace::Manual => self.on_time(&target, attempt),
            Pace::Every(_) => self.hand_over(Work::GoOn(target, attempt)),
        }
        Ok(())
    }

    fn on_time(&self, target: &Target, attempt: usize) {
        let step = self.state().on_time(target, attempt, SystemTime::now());
        if let Some(step) = step {
            self.stepped(target, step);
        }
    }

    /// Hands over what a step has left to do.
    fn stepped(&self, target: &Target, step: Step) -> CallStatus {
        tracing::debug!(?target, outcome = step.outcome.as_str(), "call over");
        if !step.notifications.is_empty() {
            self.hand_over(Work::Notify(step.notifications));
        }
        if let Some(attempt) = step.next {
            self.hand_over(Work::GoOn(target.clone(), attempt));
        }
        step.outcome
    }

    fn note(&self, notification: &Notification, text: &str, status: Option<StatusCode>) {
        let moment = Moment::new(SystemTime::now(), MomentKind::Webhook, text);
        let moment = moment.with_status(status);
        self.state().note(&notification.about, Some(moment));
    }

    /// Once the mock is being stopped nobody takes work any more, and that is meant.
    fn hand_over(&self, work: Work) {
        let _stopped = self.work.send(work);
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
        let received = ReceivedRequest::new(request, service.uptime());
        // The path may hold a phone number, or the token.
        let endpoint = received
            .endpoint
            .map_or_else(|| "unknown".to_owned(), |endpoint| endpoint.to_string());
        let Exchange {
            number,
            answer,
            hold,
            started,
            notifications,
        } = exchange(
            &mut service.state(),
            received,
            SystemTime::now(),
            service.answer_delay,
        );
        tracing::debug!(endpoint, status = %answer.status, "answered");
        if !notifications.is_empty() {
            service.hand_over(Work::Notify(notifications));
        }
        if let Some(target) = started {
            service.hand_over(Work::GoOn(target, 1));
        }
        match hold {
            Some(hold) if !hold.is_zero() => service.hand_over(Work::Send(number, hold)),
            _ => {}
        }
        template(answer, hold.unwrap_or(NEVER))
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
    let mut due: VecDeque<(Instant, Target, usize)> = VecDeque::new();
    let mut deliveries = JoinSet::new();
    loop {
        let next_due = due.front().map(|(at, ..)| *at);
        tokio::select! {
            Some(work) = work.recv() => match (work, service.pace) {
                (Work::GoOn(..), Pace::Manual) => {}
                (Work::GoOn(target, attempt), Pace::Every(interval)) => {
                    due.push_back((Instant::now() + interval, target, attempt));
                }
                (Work::Notify(notifications), _) => {
                    deliveries.spawn(notify(service.clone(), notifications));
                }
                (Work::Send(number, hold), _) => {
                    deliveries.spawn(send(service.clone(), number, hold));
                }
            },
            () = sleep_until(next_due.unwrap_or_else(Instant::now)), if next_due.is_some() => {
                if let Some((_, target, attempt)) = due.pop_front() {
                    service.on_time(&target, attempt);
                }
            }
            Some(_) = deliveries.join_next() => {}
        }
    }
}

/// Takes note of an answer when its time has come.
async fn send(service: Arc<Service>, number: u64, hold: Duration) {
    sleep(hold).await;
    service.state().journal.sent(number, hold);
}

/// Delivers what one step has to report, each as often as requested.
async fn notify(service: Arc<Service>, notifications: Vec<Notification>) {
    let Some(receiver) = &service.receiver else {
        return;
    };
    sleep(receiver.options.delay).await;
    for notification in notifications {
        let fault = service.state().take_delivery_fault();
        let copies = match fault {
            None => receiver.options.copies,
            Some(DeliveryFault::Twice) => receiver.options.copies * 2,
            Some(DeliveryFault::Lost) => {
                service.note(
                    &notification,
                    "The notification was lost, as requested.",
                    None,
                );
                0
            }
        };
        for _ in 0..copies {
            let outcome = receiver.webhook.deliver(&notification.body).await;
            match &outcome {
                Ok(status) => {
                    let text = format!("The webhook answered {}.", status.as_u16());
                    service.note(&notification, &text, Some(*status));
                }
                Err(error) => {
                    let text = format!("The webhook could not be reached: {error:#}.");
                    service.note(&notification, &text, None);
                }
            }
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
