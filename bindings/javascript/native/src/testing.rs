//! A service that does what a script says, for the tests of users.

use crate::arguments::{Fields, read, type_of};
use crate::errors::{invalid_input, thrown};
use crate::runtime::Threads;
use napi::bindgen_prelude::{Object, Unknown};
use napi::{Env, Result};
use napi_derive::napi;
use serde_json::json;
use std::cell::RefCell;
use std::time::Duration;
use voice_calling::testing::{Answer, ScriptedService, TimeHold};
use voice_calling::{Builder, Error};

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

    /// Adds an answer, for the next request whose line begins so if there is a line.
    #[napi]
    pub fn answer(&self, line: Option<String>, answer: Unknown<'_>) -> Result<()> {
        let answer = self::answer(answer).map_err(|error| thrown(&error))?;
        match line {
            Some(line) => self.service.answer_to(&line, answer),
            None => self.service.answer(answer),
        }
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
        let requests = self.service.requests().into_iter().map(|request| {
            let headers = request.headers.iter();
            let headers = headers.map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into(),
                )
            });
            json!({
                "method": request.method.as_str(),
                "path": request.path,
                "headers": headers.collect::<serde_json::Map<_, _>>(),
                "body": request.body,
                "atMs": request.at.as_millis() as u64,
            })
        });
        requests.collect::<serde_json::Value>().to_string()
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

fn answer(value: Unknown<'_>) -> std::result::Result<Answer, Error> {
    let known = [
        "status",
        "headers",
        "json",
        "text",
        "afterMs",
        "bodyAfterMs",
        "cutAfter",
        "repeated",
        "lost",
        "silence",
        "unreachable",
    ];
    let fields = Fields::of(value, "answer", &known)?;
    let mut answer = match ["lost", "silence", "unreachable"].map(|name| fields.boolean(name)) {
        [Ok(Some(true)), ..] => Answer::lost(),
        [_, Ok(Some(true)), _] => Answer::silence(),
        [_, _, Ok(Some(true))] => Answer::unreachable(),
        _ => {
            let status = fields.number("status", 999)?.unwrap_or(200);
            let allowed = "an HTTP status, 100 to 999";
            let status = u16::try_from(status).ok().filter(|status| *status >= 100);
            let status = status.ok_or_else(|| invalid_input("answer.status", "another", allowed));
            Answer::status(status?)
        }
    };
    // JavaScript has made text of `json`.
    if let Some(text) = fields.text("json")? {
        answer = answer.text(text).header("content-type", "application/json");
    }
    if let Some(text) = fields.text("text")? {
        answer = answer.text(text);
    }
    if let Some(headers) = fields.get("headers") {
        let allowed = "an object of names and texts";
        if !matches!(headers.get_type(), Ok(napi::ValueType::Object)) {
            return Err(invalid_input("answer.headers", type_of(&headers), allowed));
        }
        let object: Object<'_> = read(headers)?;
        for name in Object::keys(&object).unwrap_or_default() {
            let value: Option<String> = object.get(&name).unwrap_or_default();
            let is_visible = |text: &str| text.chars().all(|it| it.is_ascii_graphic() || it == ' ');
            let is_name = |name: &str| {
                !name.is_empty()
                    && name
                        .chars()
                        .all(|it| it.is_ascii_alphanumeric() || it == '-')
            };
            let value = value.filter(|value| is_visible(value) && is_name(&name));
            let wrong = || invalid_input(&format!("answer.headers.{name}"), "another", allowed);
            answer = answer.header(&name, &value.ok_or_else(wrong)?);
        }
    }
    for (name, set) in [
        ("afterMs", Answer::after as fn(Answer, Duration) -> Answer),
        ("bodyAfterMs", Answer::body_after),
    ] {
        if let Some(ms) = fields.number(name, u32::MAX)? {
            answer = set(answer, Duration::from_millis(ms.into()));
        }
    }
    if let Some(bytes) = fields.number("cutAfter", u32::MAX)? {
        answer = answer.cut_after(bytes as usize);
    }
    Ok(match fields.boolean("repeated")? {
        Some(true) => answer.repeated(),
        _ => answer,
    })
}
