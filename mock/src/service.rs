//! The running service: answers requests, lets time pass, delivers notifications.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State as Shared};
use http::{Response, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

use super::answer::{Answer, detail};
use super::call::{CallStatus, Ending};
use super::clock::Clock;
use super::delivery::{Deliveries, Delivery, Notification, Webhook};
use super::exchange::{Exchange, exchange};
use super::options::Options;
use super::request::ReceivedRequest;
use super::state::State;
use super::task::Moment;

/// The largest body that a client can be configured to send.
const MOST_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The first pause before a notification is sent again, which doubles, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The state that the HTTP server, the tasks of its runtime and the tests share.
pub(super) struct Service {
    state: Mutex<State>,
    deliveries: watch::Sender<Deliveries>,
    webhook: Option<Webhook>,
    /// The runtime of the HTTP server.
    runtime: Handle,
    clock: Clock,
}

impl Service {
    pub(super) fn new(options: Options, webhook: Option<Webhook>, runtime: Handle) -> Self {
        Self {
            state: Mutex::new(State::new(options)),
            deliveries: watch::Sender::default(),
            webhook,
            runtime,
            clock: Clock::new(),
        }
    }

    pub(super) fn router(self: Arc<Self>) -> Router {
        Router::new().fallback(respond).with_state(self)
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere fails its own test; the state it left is still worth reading.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn deliveries(&self) -> watch::Receiver<Deliveries> {
        self.deliveries.subscribe()
    }

    /// Executes the next step of a task by its script. Returns `None` if no step is left.
    pub(super) fn step(self: &Arc<Self>, id: Uuid) -> Option<CallStatus> {
        let step = self.state().step(id, None, self.clock.now())?;
        self.notify(step.notification);
        Some(step.outcome)
    }

    /// Ends the ringing attempt of `id`, which must be `attempt` if that is given.
    pub(super) fn end(
        self: &Arc<Self>,
        id: &str,
        attempt: Option<usize>,
        ending: Ending,
    ) -> Result<()> {
        let mut state = self.state();
        let id = state.ringing(id, attempt)?;
        let step = state.step(id, Some(ending), self.clock.now());
        drop(state);
        self.notify(step.and_then(|step| step.notification));
        Ok(())
    }

    /// Ends what has to end by now.
    pub(super) fn pass_time(self: &Arc<Self>) {
        let notifications = self.state().pass_time(self.clock.now());
        for notification in notifications {
            self.notify(Some(notification));
        }
    }

    /// Ends every attempt when its time has come.
    pub(super) async fn keep_time(self: Arc<Self>) {
        let mut due = self.state().due();
        loop {
            let next = due.borrow_and_update().first().map(|(time, _)| *time);
            tokio::select! {
                () = self.clock.sleep_until(next) => self.pass_time(),
                _ = due.changed() => {}
            }
        }
    }

    pub(super) fn reset(&self) {
        self.state().reset();
        self.deliveries.send_replace(Deliveries::default());
    }

    /// Delivers the notification of a step, if there is one, unless the mock is reset before. The
    /// receiver that it returns is closed once the notification was sent the first time.
    fn notify(self: &Arc<Self>, notification: Option<Notification>) -> oneshot::Receiver<()> {
        let service = self.clone();
        let (first, sent) = oneshot::channel();
        self.runtime.spawn(async move {
            if let (Some(webhook), Some(notification)) = (&service.webhook, notification) {
                let mut resets = notification.resets.clone();
                tokio::select! {
                    biased;
                    _ = resets.changed() => {}
                    () = service.deliver(webhook, notification, first) => {}
                }
            }
        });
        sent
    }

    /// Delivers a notification, with the fault that is ordered or that of its number.
    async fn deliver(
        &self,
        webhook: &Webhook,
        notification: Notification,
        first: oneshot::Sender<()>,
    ) {
        let ordered = self.state().take_fault(None);
        let fault = ordered.or_else(|| notification.fault.clone());
        if let Some(fault) = &fault {
            let text = format!("The notification met the fault {fault}.");
            let moment = Moment::new(self.clock.now(), text);
            self.state().note(notification.about, moment);
            let time = notification.at.checked_add(fault.delay());
            self.clock.sleep_until(time).await;
        }
        let mut first = Some(first);
        for _ in 0..fault.map_or(1, |fault| fault.copies()) {
            let mut pause = FIRST_PAUSE;
            let mut retries = self.state().options.webhook_retries;
            loop {
                let sent = self.send(webhook, &notification).await;
                drop(first.take());
                let Err(at) = sent else { break };
                if retries == 0 {
                    break;
                }
                self.clock.sleep_until(at.checked_add(pause)).await;
                pause = LONGEST_PAUSE.min(pause * 2);
                retries -= 1;
            }
        }
    }

    /// Sends a notification once. The error is the time at which the receiver did not accept it.
    async fn send(&self, webhook: &Webhook, notification: &Notification) -> Result<(), SystemTime> {
        let outcome = webhook.deliver(&notification.body).await;
        let now = self.clock.now();
        let outcome = outcome.map_err(|error| format!("{error:#}"));
        let text = match &outcome {
            Ok(status) => format!("The webhook answered {}.", status.as_u16()),
            Err(error) => format!("The webhook could not be reached: {error}."),
        };
        let moment = Moment::new(now, text);
        self.state().note(notification.about, moment);
        let is_accepted = outcome.as_ref().is_ok_and(StatusCode::is_success);
        let delivery = Delivery {
            docket_id: notification.about,
            body: notification.body.clone(),
            outcome,
        };
        self.deliveries.send_modify(|all| all.keep(delivery));
        is_accepted.then_some(()).ok_or(now)
    }
}

async fn respond(Shared(service): Shared<Arc<Service>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MOST_BODY_BYTES).await else {
        let large = format!("the body is larger than {MOST_BODY_BYTES} bytes, or ended early");
        return response(detail(StatusCode::PAYLOAD_TOO_LARGE, large));
    };
    let came = Instant::now();
    let received = ReceivedRequest::new(&parts, body.into(), service.clock.uptime());
    let now = service.clock.now();
    let Exchange {
        number,
        answer,
        hold,
        notification,
    } = exchange(&mut service.state(), received, now);
    let Some(hold) = hold else {
        return pending().await;
    };
    let is_held = !hold.is_zero() || notification.is_some();
    if notification.is_some() {
        // The delivery continues even if the client disconnects.
        _ = service.notify(notification).await;
    }
    if is_held {
        service.clock.sleep_until(now.checked_add(hold)).await;
        service.state().sent(number, came.elapsed());
    }
    response(answer)
}

fn response(answer: Answer) -> Response<Body> {
    let mut response = Response::new(answer.body.into());
    *response.status_mut() = answer.status;
    for (name, value) in answer.headers {
        response.headers_mut().append(name, value);
    }
    response
}
