//! The judge on loopback: hands out the cases, plays the service for them, and compares what a
//! client did.

use super::case::{Case, Service, Table};
use super::judgement::Report;
use super::run::{Run, Summary, Task};
use super::step::Step;
use anyhow::Context;
use serde::Serialize;
use serde_json::json;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;
use voice_calling_peer::{Behaviour, ClosedPort, Request, read_request};

/// The time for which an outcome waits for requests that were sent before it: the client may have
/// given them up before the judge read them. Only a client that lacks one waits as long.
const LATE_REQUESTS: Duration = Duration::from_secs(30);

/// A judge that listens on 127.0.0.1. Dropping it ends everything it does.
pub struct Judge {
    court: Arc<Court>,
    /// The accepting task, which owns the tasks of the connections. Aborted on drop.
    _accepting: JoinSet<()>,
}

struct Court {
    address: SocketAddr,
    table: Arc<Table>,
    closed: ClosedPort,
    /// The runs by name.
    runs: Mutex<HashMap<String, Run>>,
    /// Notified of every request that a service received.
    received: Notify,
}

impl Judge {
    /// Starts a judge on 127.0.0.1; must be called within a tokio runtime. Port 0 picks a free one.
    ///
    /// # Errors
    /// Fails if the port is not available.
    pub async fn start(table: Table, port: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .with_context(|| format!("cannot listen on 127.0.0.1:{port}"))?;
        let court = Arc::new(Court {
            address: listener.local_addr()?,
            table: Arc::new(table),
            closed: ClosedPort::bind().context("cannot have a port that refuses connections")?,
            runs: Mutex::default(),
            received: Notify::new(),
        });
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, court.clone()));
        Ok(Self {
            court,
            _accepting: accepting,
        })
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        self.court.base_url()
    }

    /// Returns the cases of a run, which begins with its first request.
    pub fn tasks(&self, run: &str) -> Vec<Task> {
        self.court.tasks(run)
    }

    /// Judges a client's report on a case. Returns the differences from what is expected.
    ///
    /// # Errors
    /// Fails if the case does not exist or was judged before.
    pub async fn judge(&self, run: &str, id: usize, report: Report) -> Result<Vec<String>, String> {
        self.court.judge(run, id, report).await
    }

    /// Returns the results of a run so far.
    pub fn summary(&self, run: &str) -> Summary {
        self.court.with_run(run, |run| run.summary())
    }
}

async fn accept(listener: TcpListener, court: Arc<Court>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, court.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut stream: TcpStream, court: Arc<Court>) {
    let behaviour = match read_request(&mut stream).await {
        Ok(request) => court.answer(request).await,
        Err(error) if error.kind() == ErrorKind::InvalidData => refusal(400, &error.to_string()),
        Err(_) => return, // the client went away first
    };
    behaviour.end(stream).await;
}

const ALLOWED: &str = "allowed: GET /runs/{run}, POST /runs/{run}/cases/{id}/outcome, \
     GET /runs/{run}/summary, and the service of a case below /runs/{run}/cases/{id}; \
     a run's name has letters, digits and -._";

/// Returns `true` if a run may have this name, which becomes part of base URLs.
fn is_name(run: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !run.is_empty() && run.bytes().all(allowed) && !matches!(run, "." | "..")
}

impl Court {
    fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    async fn answer(&self, request: Request) -> Behaviour {
        let parts: Vec<_> = request.path.splitn(6, '/').collect();
        let ["", "runs", run, asked @ ..] = &parts[..] else {
            return refusal(404, ALLOWED);
        };
        let id = asked.get(1).and_then(|id| id.parse().ok());
        match (request.method.as_str(), asked, id) {
            _ if !is_name(run) => refusal(404, ALLOWED),
            ("GET", [], _) => json_answer(&self.tasks(run)),
            ("GET", ["summary"], _) => json_answer(&self.with_run(run, |run| run.summary())),
            ("POST", ["cases", _, "outcome"], Some(id)) => {
                match serde_json::from_slice(&request.body) {
                    Ok(report) => match self.judge(run, id, report).await {
                        Ok(differences) => json_answer(&json!({ "differences": differences })),
                        Err(message) => refusal(409, &message),
                    },
                    Err(error) => refusal(400, &error.to_string()),
                }
            }
            // A request to the service of a case: its path follows the base URL.
            (_, ["cases", _, path], Some(id)) => {
                let path = format!("/{path}");
                let received = Request {
                    path,
                    ..request.clone()
                };
                let step = self.with_run(run, |entered| entered.receive(id, received));
                self.received.notify_waiters();
                step.map_or_else(|| refusal(404, "no such case"), |step| step.behaviour)
            }
            _ => refusal(404, ALLOWED),
        }
    }

    fn tasks(&self, run: &str) -> Vec<Task> {
        self.with_run(run, |entered| {
            entered.tasks(|id, case| self.base_url_of(run, id, case))
        })
    }

    async fn judge(&self, run: &str, id: usize, report: Report) -> Result<Vec<String>, String> {
        if matches!(report, Report::Played { .. }) {
            // The time limit is for a client that sent less than it should.
            let _whatever_came = timeout(LATE_REQUESTS, self.all_requests(run, id)).await;
        }
        self.with_run(run, |entered| entered.judge(id, report))
    }

    /// Waits until every request that a case expects has been received.
    async fn all_requests(&self, run: &str, id: usize) {
        loop {
            let mut next = std::pin::pin!(self.received.notified());
            // From here on no notification is missed.
            next.as_mut().enable();
            if self.with_run(run, |entered| entered.has_all_requests(id)) != Some(false) {
                return;
            }
            next.await;
        }
    }

    fn base_url_of(&self, run: &str, id: usize, case: &Case) -> String {
        let service = match case.service {
            Service::Closed => self.closed.base_url(),
            Service::Uncalled | Service::Script(_) => self.base_url(),
        };
        format!("{service}/runs/{run}/cases/{id}")
    }

    /// Runs `act` on a run, which begins with its first request.
    fn with_run<R>(&self, name: &str, act: impl FnOnce(&mut Run) -> R) -> R {
        let mut runs: MutexGuard<'_, _> = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let run = runs.entry(name.to_owned());
        act(run.or_insert_with(|| Run::new(self.table.clone())))
    }
}

fn json_answer(body: &impl Serialize) -> Behaviour {
    match serde_json::to_string(body) {
        Ok(body) => Step::answer(200, &body).behaviour,
        Err(error) => refusal(500, &error.to_string()),
    }
}

fn refusal(status: u16, message: &str) -> Behaviour {
    Step::answer(status, &json!({ "detail": message }).to_string()).behaviour
}
