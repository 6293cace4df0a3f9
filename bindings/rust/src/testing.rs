//! A service for the tests of your own code: it does what a script says, in your process, and in a
//! time of its own that passes at once. The [crate's page](crate#tests-of-your-own) has a test of a
//! function on it.
//!
//! Everything but the network is real: retries, pauses, timeouts, limits, the ledger, errors. Time
//! passes when all operations wait for it: for an answer that is late, a pause, a timeout or the
//! next poll. Tasks that are ready to run get a turn before. A test in which operations have to
//! begin at the same moment from several threads, or that wants to look in between,
//! [holds](ScriptedService::hold_time) the time and [advances](ScriptedService::advance) it.

mod answer;
mod time;
mod usual;

use crate::builder::Builder;
use crate::client::Client;
use crate::clock::{Clock, out_of_time};
use crate::transport::{RequestBody, ResponseBody, Sending, Transport};
pub use answer::Answer;
use answer::Outcome;
use http::{HeaderMap, Method};
use http_body_util::BodyExt;
use std::fmt;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
pub use time::TimeHold;
pub(crate) use time::{Time, watched};
use usual::UsualService;
use voice_calling_core::{Delivery, Limits, SendError};

/// A service that does what a script says, and what it is asked for if the script does not say
/// anything: it creates dockets and calls, which are completed a minute later, and has one agent, 7.
/// Clones are the same service.
#[derive(Clone)]
pub struct ScriptedService {
    time: Time,
    script: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    answers: Vec<(String, Answer)>,
    decide: Option<Arc<Decide>>,
    usual: UsualService,
    requests: Vec<ReceivedRequest>,
}

type Decide = dyn Fn(ReceivedRequest) -> Decision + Send + Sync;
type Decision = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

/// A request that a [`ScriptedService`] received. Its `Debug` does not show the token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReceivedRequest {
    /// `GET` or `POST`.
    pub method: Method,
    /// The path and the query.
    pub path: String,
    /// The headers. `auth_token` has the token.
    pub headers: HeaderMap,
    /// The body, empty for a `GET`.
    pub body: String,
    /// The [time](ScriptedService::elapsed) at which it came.
    pub at: Duration,
}

impl ReceivedRequest {
    /// Returns the value of the body, which is null if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

impl ScriptedService {
    /// Creates a service without a script.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            time: Time::new(),
            script: Arc::default(),
        }
    }

    /// Returns a client of the service.
    ///
    /// # Panics
    /// Never: its settings are right.
    pub fn client(&self) -> Client {
        self.builder().build().expect("the settings are right")
    }

    /// Returns the builder of a client of the service, with a URL and a token.
    pub fn builder(&self) -> Builder {
        let builder = Client::builder().base_url("https://service.test");
        self.attach(builder.api_token("test-token"))
    }

    /// Returns a builder whose client sends to this service and lives in its time.
    ///
    /// # Examples
    /// ```
    /// use voice_calling::Builder;
    /// use voice_calling::testing::ScriptedService;
    ///
    /// let service = ScriptedService::new();
    /// let builder = Builder::default().base_url("https://api.example").api_token("token");
    /// let client = service.attach(builder).build()?;
    /// # Ok::<_, voice_calling::Error>(())
    /// ```
    pub fn attach(&self, builder: Builder) -> Builder {
        let mut builder = builder.transport(self.clone());
        builder.clock = Clock::Scripted(self.time.clone());
        builder
    }

    /// Adds an answer for the next request.
    pub fn answer(&self, answer: Answer) {
        self.answer_to("", answer);
    }

    /// Adds an answer for the next request whose line begins with this, such as
    /// `POST /api/v2/dockets`. A request gets the first answer that was added for it.
    pub fn answer_to(&self, line: &str, answer: Answer) {
        self.lock().answers.push((line.to_owned(), answer));
    }

    /// Sets a function that answers requests for which no answer was added. Those for which it
    /// returns `None` are answered as usual. Time stands still while it decides. If it panics, the
    /// operation does.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let service = voice_calling::testing::ScriptedService::new();
    /// # let client = service.client();
    /// use voice_calling::testing::Answer;
    ///
    /// service.answer_with(|request| async move {
    ///     let is_blocked = request.json()["to_phone_number"] == "910000000000";
    ///     is_blocked.then(|| Answer::status(422))
    /// });
    /// let request = voice_calling::DocketRequestV2::new(7, "910000000000");
    /// assert!(client.create_docket_v2(&request).await.is_err());
    /// # Ok(()) }
    /// ```
    pub fn answer_with<D>(&self, decide: impl Fn(ReceivedRequest) -> D + Send + Sync + 'static)
    where
        D: Future<Output = Option<Answer>> + Send + 'static,
    {
        self.lock().decide = Some(Arc::new(move |request| Box::pin(decide(request))));
    }

    /// Sets when a docket or call is completed after its creation, in place of a minute.
    pub fn complete_after(&self, duration: Duration) {
        self.lock().usual.complete_after = duration;
    }

    /// Returns the requests that reached the service, in their order.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.lock().requests.clone()
    }

    /// Returns how much of the service's time has passed since it was created.
    pub fn elapsed(&self) -> Duration {
        self.time.now()
    }

    /// Holds the time: it passes only by [`advance`](Self::advance) until all guards are dropped.
    pub fn hold_time(&self) -> TimeHold {
        self.time.hold()
    }

    /// Lets time pass, from one moment at which something happens to the next. Before each, it waits
    /// until all operations that have begun wait for time.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let service = voice_calling::testing::ScriptedService::new();
    /// # let client = service.client();
    /// use std::time::Duration;
    ///
    /// # service.answer(voice_calling::testing::Answer::status(503));
    /// let hold = service.hold_time();
    /// let listing = tokio::spawn(async move { client.list_agents("org-1").await });
    /// service.advance(Duration::from_millis(500)).await; // in the pause after a 503
    /// assert_eq!(service.requests().len(), 1);
    /// drop(hold);
    /// assert!(listing.await.unwrap().is_ok());
    /// # Ok(()) }
    /// ```
    pub async fn advance(&self, duration: Duration) {
        self.time.advance(duration).await;
    }

    async fn answer_of(&self, request: &ReceivedRequest) -> Answer {
        let decide = {
            let mut script = self.lock();
            if let Some(answer) = script.take_answer(&request.line()) {
                return answer;
            }
            script.decide.clone()
        };
        let decided = match decide {
            Some(decide) => out_of_time(decide(request.clone())).await,
            None => None,
        };
        decided.unwrap_or_else(|| self.lock().usual.answer(request))
    }

    async fn play(
        self,
        request: http::Request<RequestBody>,
        limits: Limits,
    ) -> Result<http::Response<ResponseBody>, SendError> {
        let (head, mut body) = request.into_parts();
        let path = head.uri.path_and_query().map(ToString::to_string);
        let received = ReceivedRequest {
            method: head.method,
            path: path.unwrap_or_default(),
            headers: head.headers,
            body: String::from_utf8_lossy(body.content()).into_owned(),
            at: self.elapsed(),
        };
        let answer = self.answer_of(&received).await;
        if matches!(answer.outcome, Outcome::Unreachable) {
            let connect_timeout = Duration::from_millis(limits.connect_ms);
            self.time.sleep(answer.after.min(connect_timeout)).await;
            return Err(SendError::new(Delivery::NotSent, "connection refused"));
        }
        if let Some(Err(withdrawn)) = body.frame().await {
            return Err(SendError::new(Delivery::NotSent, withdrawn.to_string()));
        }
        self.lock().requests.push(received);
        self.time.sleep(answer.after).await;
        match answer.outcome {
            Outcome::Silence => pending().await,
            Outcome::Lost | Outcome::Unreachable => Err(SendError::new(
                Delivery::Unknown,
                "the connection was reset",
            )),
            Outcome::Response(response) => {
                let delay = self.time.sleep(answer.body_after);
                let body = |content| answer::body(delay, content, answer.cut_after);
                Ok(response.map(|content| ResponseBody::new(body(content))))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Script {
    fn take_answer(&mut self, line: &str) -> Option<Answer> {
        let mut answers = self.answers.iter();
        let index = answers.position(|(begin, _)| line.starts_with(begin.as_str()))?;
        Some(match self.answers[index].1.is_repeated {
            true => self.answers[index].1.clone(),
            false => self.answers.remove(index).1,
        })
    }
}

impl Transport for ScriptedService {
    fn send(&self, request: http::Request<RequestBody>, limits: Limits) -> Sending {
        Box::pin(self.clone().play(request, limits))
    }
}

impl fmt::Debug for ScriptedService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = self.lock();
        formatter
            .debug_struct("ScriptedService")
            .field("answers", &script.answers)
            .field("requests", &script.requests)
            .finish_non_exhaustive()
    }
}
