//! A service that does what a script says, for the tests of users.

use crate::question::{Asked, NativeQuestion};
use crate::records::read_json;
use crate::runtime::Threads;
use napi::bindgen_prelude::{FnArgs, Function, Object};
use napi::{Env, Result};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;
use voice_calling::Builder;
use voice_calling::testing::{Answer, ReceivedRequest, ScriptedService, TimeHold};

/// A scripted service.
#[napi]
pub struct NativeService {
    service: ScriptedService,
    /// Keeps time from passing until the turn of the event loop is over.
    hold: RefCell<Option<TimeHold>>,
}

impl NativeService {
    /// Puts a client onto the service and its time.
    pub fn attach(&self, builder: Builder) -> Builder {
        self.service.attach(builder)
    }
}

#[napi]
impl NativeService {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self {
            service: ScriptedService::new(),
            hold: RefCell::default(),
        }
    }

    /// Adds an answer, for the next request whose line begins so.
    #[napi]
    pub fn answer(&self, line: String, answer: String) {
        let answer: Written = read_json(&answer);
        self.service.answer_to(&line, answer.into());
    }

    /// Has a function answer the requests for which there is no answer.
    #[napi]
    pub fn answer_with(&self, decide: Function<'_, FnArgs<(NativeQuestion,)>, ()>) -> Result<()> {
        let asked = Arc::new(Asked::new(&decide)?);
        self.service.answer_with(move |request| {
            let asked = asked.clone();
            async move {
                let decided = asked.ask("answer", request_json(&request).to_string(), None);
                // JavaScript has kept what its function has thrown. This ends the operation.
                let answer = decided
                    .await
                    .unwrap_or_else(|error| resume_unwind(Box::new(error)));
                read_json::<Option<Written>>(&answer).map(Answer::from)
            }
        });
        Ok(())
    }

    #[napi]
    pub fn complete_after(&self, ms: u32) {
        self.service
            .complete_after(Duration::from_millis(ms.into()));
    }

    /// Returns the requests as JSON.
    #[napi]
    pub fn requests(&self) -> String {
        let requests = self.service.requests();
        let requests: Value = requests.iter().map(request_json).collect();
        requests.to_string()
    }

    #[napi]
    pub fn elapsed_ms(&self) -> f64 {
        self.service.elapsed().as_millis() as f64
    }

    /// Keeps time from passing, until it is released.
    #[napi]
    pub fn hold(&self) {
        self.hold.replace(Some(self.service.hold_time()));
    }

    #[napi]
    pub fn release(&self) {
        self.hold.take();
    }

    #[napi]
    pub fn advance<'env>(&self, env: &'env Env, ms: u32) -> Result<Object<'env>> {
        let service = self.service.clone();
        Threads::of(env)?.promise(env, async move {
            service.advance(Duration::from_millis(ms.into())).await;
            "null".to_owned()
        })
    }
}

fn request_json(request: &ReceivedRequest) -> Value {
    let headers = request.headers.iter();
    let headers = headers.map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        (name.to_string(), value.into())
    });
    json!({
        "method": request.method.as_str(),
        "path": request.path,
        "headers": headers.collect::<Map<_, _>>(),
        "body": request.body,
        "atMs": request.at.as_millis() as u64,
    })
}

/// An answer as JavaScript writes it, which has checked it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    lost: bool,
    silence: bool,
    unreachable: bool,
    status: Option<u16>,
    text: Option<String>,
    headers: Vec<(String, String)>,
    after_ms: u32,
    body_after_ms: u32,
    cut_after: Option<u32>,
    repeated: bool,
}

impl From<Written> for Answer {
    fn from(written: Written) -> Self {
        let mut answer = match written {
            Written { lost: true, .. } => Self::lost(),
            Written { silence: true, .. } => Self::silence(),
            Written {
                unreachable: true, ..
            } => Self::unreachable(),
            _ => Self::status(written.status.unwrap_or(200)),
        };
        for (name, value) in &written.headers {
            answer = answer.header(name, value);
        }
        if let Some(text) = written.text {
            answer = answer.text(text);
        }
        let [after, body_after] =
            [written.after_ms, written.body_after_ms].map(|ms| Duration::from_millis(ms.into()));
        answer = answer.after(after).body_after(body_after);
        if let Some(bytes) = written.cut_after {
            answer = answer.cut_after(bytes as usize);
        }
        match written.repeated {
            true => answer.repeated(),
            false => answer,
        }
    }
}
