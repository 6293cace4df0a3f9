//! A service that answers at once, one answer after another, and time that passes only
//! in sleep: for the tests of a whole client.

use crate::{Client, Settings};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use voice_calling_core::{Delivery, Limits, Request, Response, SendError, Transport};

pub(crate) const TOKEN: &str = "scripted-token";

/// What the service does with a request.
#[derive(Clone)]
pub(crate) enum Answer {
    Whole(u16, Headers, &'static str),
    BrokenBody(u16, &'static str),
    None(Delivery),
}

type Headers = &'static [(&'static str, &'static str)];

/// The script and what came of it. Clones are the same.
#[derive(Clone)]
pub(crate) struct Script(Rc<State>);

struct State {
    answers: RefCell<VecDeque<Answer>>,
    sent: RefCell<Vec<Request>>,
    log: RefCell<Vec<String>>,
    now_ms: Cell<u64>,
}

impl Script {
    /// Every answer once, the last one from then on.
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self(Rc::new(State {
            answers: RefCell::new(answers.into_iter().collect()),
            sent: RefCell::default(),
            log: RefCell::default(),
            now_ms: Cell::default(),
        }))
    }

    /// A client of the service that misbehaves.
    pub(crate) fn client(&self, mutant: &str) -> Client<Script> {
        let environment = [
            ("MUTANT", mutant),
            ("VOICE_CALLING_BASE_URL", "https://api.example"),
            ("VOICE_CALLING_API_TOKEN", TOKEN),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let settings = Settings::from_environment(environment);
        Client::new(settings.expect("settings of a test"), self.clone())
    }

    pub(crate) fn sent(&self) -> Vec<Request> {
        self.0.sent.borrow().clone()
    }

    pub(crate) fn log_lines(&self) -> Vec<String> {
        self.0.log.borrow().clone()
    }

    pub(crate) fn elapsed_ms(&self) -> u64 {
        self.0.now_ms.get()
    }
}

/// The output of a future that waits for nothing.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a script has nothing to wait for"),
    }
}

impl Transport for Script {
    type Response = Scripted;

    async fn send(&self, request: &Request, _: Limits) -> Result<Scripted, SendError> {
        self.0.sent.borrow_mut().push(request.clone());
        let mut answers = self.0.answers.borrow_mut();
        let answer = match answers.len() {
            0 | 1 => answers.front().cloned(),
            _ => answers.pop_front(),
        };
        match answer.expect("a script has an answer") {
            Answer::Whole(status, headers, body) => Ok(Scripted {
                status,
                headers,
                rest: VecDeque::from([Ok(Some(body.into())), Ok(None)]),
            }),
            Answer::BrokenBody(status, body) => Ok(Scripted {
                status,
                headers: &[],
                rest: VecDeque::from([Ok(Some(body.into())), Err("broken".to_owned())]),
            }),
            Answer::None(delivery) => Err(SendError {
                delivery,
                message: "scripted".to_owned(),
            }),
        }
    }

    async fn sleep(&self, duration_ms: u64) {
        self.0.now_ms.set(self.elapsed_ms() + duration_ms);
    }

    fn now_ms(&self) -> u64 {
        self.elapsed_ms()
    }

    fn unix_time_s(&self) -> u64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    async fn log(&self, line: &str) {
        self.0.log.borrow_mut().push(line.to_owned());
    }
}

pub(crate) struct Scripted {
    status: u16,
    headers: Headers,
    rest: VecDeque<Result<Option<Vec<u8>>, String>>,
}

impl Response for Scripted {
    fn status(&self) -> u16 {
        self.status
    }

    fn header(&self, name: &str) -> Option<Vec<u8>> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(header, _)| *header == name)?;
        Some((*value).into())
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        self.rest.pop_front().unwrap_or(Ok(None))
    }
}
