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
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use uuid::Uuid;

use super::answer::{Answer, detail};
use super::call::{CallStatus, Ending};
use super::delivery::{Delivery, Notification, Webhook};
use super::exchange::{Exchange, exchange};
use super::fault::{DeliveryFault, FaultQueue};
use super::options::{Options, Pace};
use super::request::ReceivedRequest;
use super::state::{State, Step};
use super::task::Moment;

/// The largest body that a client can be configured to send.
const MOST_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The state that the HTTP server, the tasks of its runtime and the tests share.
pub(super) struct Service {
    state: Mutex<State>,
    deliveries: watch::Sender<Vec<Delivery>>,
    webhook: Option<Webhook>,
    /// The runtime of the HTTP server.
    runtime: Handle,
    pace: Pace,
    answer_delay: Duration,
    started_at: Instant,
}

impl Service {
    pub(super) fn new(
        options: &Options,
        state: State,
        webhook: Option<Webhook>,
        runtime: Handle,
    ) -> Self {
        Self {
            state: Mutex::new(state),
            deliveries: watch::Sender::default(),
            webhook,
            runtime,
            pace: options.pace,
            answer_delay: options.answer_delay,
            started_at: Instant::now(),
        }
    }

    /// Returns the service as a router.
    pub(super) fn router(self: Arc<Self>) -> Router {
        Router::new().fallback(respond).with_state(self)
    }

    pub(super) fn uptime(&self) -> Duration {
        self.started_at.elapsed()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere fails its own test; the state it left is still worth reading.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn deliveries(&self) -> watch::Receiver<Vec<Delivery>> {
        self.deliveries.subscribe()
    }

    /// Executes the next step of a task by its script. Returns `None` if no step is left.
    pub(super) fn step(self: &Arc<Self>, id: Uuid) -> Option<CallStatus> {
        let step = self.state().step(id, None, SystemTime::now())?;
        Some(self.stepped(id, step))
    }

    /// Ends the ringing attempt of `id`.
    pub(super) fn end(self: &Arc<Self>, id: &str, attempt: usize, ending: Ending) -> Result<()> {
        ending.check()?;
        let mut state = self.state();
        let id = state.ringing(id, attempt)?;
        let step = state.step(id, Some(ending), SystemTime::now());
        drop(state);
        if let Some(step) = step {
            self.stepped(id, step);
        }
        Ok(())
    }

    /// Ends this attempt of a task when its time has come.
    fn go_on(self: &Arc<Self>, id: Uuid, attempt: usize) {
        if let Pace::Every(interval) = self.pace {
            let service = self.clone();
            self.runtime.spawn(async move {
                sleep(interval).await;
                let step = service.state().on_time(id, attempt, SystemTime::now());
                if let Some(step) = step {
                    service.stepped(id, step);
                }
            });
        }
    }

    /// Performs the remaining work of a step.
    fn stepped(self: &Arc<Self>, id: Uuid, step: Step) -> CallStatus {
        self.notify(step.notification);
        if let Some(attempt) = step.next {
            self.go_on(id, attempt);
        }
        step.outcome
    }

    /// Delivers the notification of a step, if there is one.
    fn notify(self: &Arc<Self>, notification: Option<Notification>) -> JoinHandle<()> {
        let service = self.clone();
        self.runtime.spawn(async move {
            if let (Some(webhook), Some(notification)) = (&service.webhook, notification) {
                service.deliver(webhook, notification).await;
            }
        })
    }

    /// Delivers a notification, with the fault that is ordered.
    async fn deliver(&self, webhook: &Webhook, notification: Notification) {
        let note = |text: String| {
            let moment = Moment::new(SystemTime::now(), text);
            self.state().note(notification.about, moment);
        };
        let fault = self.state().faults(FaultQueue::of_delivery);
        let copies = match fault {
            None => 1,
            Some(DeliveryFault::Twice) => 2,
            Some(DeliveryFault::Lost) => {
                note("The notification was lost, as requested.".to_owned());
                0
            }
        };
        for _ in 0..copies {
            let outcome = webhook.deliver(&notification.body).await;
            let outcome = outcome.map_err(|error| format!("{error:#}"));
            note(match &outcome {
                Ok(status) => format!("The webhook answered {}.", status.as_u16()),
                Err(error) => format!("The webhook could not be reached: {error}."),
            });
            let body = notification.body.clone();
            let delivery = Delivery { body, outcome };
            self.deliveries.send_modify(|all| all.push(delivery));
        }
    }
}

async fn respond(Shared(service): Shared<Arc<Service>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MOST_BODY_BYTES).await else {
        let large = format!("the body is larger than {MOST_BODY_BYTES} bytes, or ended early");
        return response(detail(StatusCode::PAYLOAD_TOO_LARGE, large));
    };
    let came = Instant::now();
    let received = ReceivedRequest::new(&parts, body.into(), service.uptime());
    let now = SystemTime::now();
    let Exchange {
        number,
        answer,
        hold,
        notification,
        started,
    } = exchange(&mut service.state(), received, now, service.answer_delay);
    if let Some(id) = started {
        service.go_on(id, 1);
    }
    let Some(hold) = hold else {
        return pending().await;
    };
    let is_held = !hold.is_zero() || notification.is_some();
    if notification.is_some() {
        // The delivery continues even if the client disconnects.
        _ = service.notify(notification).await;
    }
    if is_held {
        sleep(hold).await;
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
