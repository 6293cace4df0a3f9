//! The requests to the engine's API that the components need.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Answer, Method, Request, RunId, send, variable};

const URL: &str = "OBELISK_API_URL";

/// The variable holds a placeholder, which the engine replaces in the request.
const TOKEN: &str = "OBELISK_API_TOKEN";

/// The time limit for an answer; listing a large database takes longer.
const ANSWER_MS: u64 = 1_500;
const LIST_MS: u64 = 10_000;

const ANSWER_BYTES: usize = 16 * 1_048_576;

/// The API of the node that runs the component, or of any other one on the same database.
#[derive(Debug, PartialEq, Eq)]
pub struct Api {
    url: String,
    token: String,
}

/// An execution to submit.
#[derive(Debug, Serialize)]
pub struct Submission<'a> {
    pub ffqn: &'a str,
    pub params: Value,
    /// Whether it waits to be resumed.
    pub paused: bool,
}

/// How an execution ended.
#[derive(Debug, PartialEq)]
pub enum Ending {
    /// It has not.
    None,
    Ok,
    Err(Value),
}

/// The state of an execution.
#[derive(Debug, Deserialize)]
pub struct Status {
    pending_state: PendingState,
}

#[derive(Debug, Deserialize)]
struct PendingState {
    status: String,
}

impl Status {
    pub fn is_finished(&self) -> bool {
        self.pending_state.status == "finished"
    }
}

/// Some of the responses of an execution, at most as many as the second number.
#[derive(Clone, Copy, Debug)]
pub enum Page {
    After(u32, u32),
    Before(u32, u32),
}

/// The result of a child of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub cursor: u32,
    /// RFC 3339.
    pub created_at: String,
    /// The child; empty for a timer.
    pub id: String,
    /// The text that it returned.
    pub text: Option<String>,
    /// Whether the engine could not run it.
    pub has_failed: bool,
}

impl Response {
    /// Returns the index of the child in its join set.
    pub fn index(&self) -> u32 {
        let index = self.id.rsplit_once('_').and_then(|it| it.1.parse().ok());
        index.unwrap_or_default()
    }
}

/// An execution in a list.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct Listed {
    pub execution_id: String,
    /// RFC 3339.
    pub created_at: String,
}

impl Api {
    /// Reads the environment. The error says what is wrong with it.
    pub fn of(environment: &[(String, String)]) -> Result<Self, String> {
        let set = |name: &str| match variable(environment, name) {
            "" => Err(format!("{name} is not set")),
            value => Ok(value.to_owned()),
        };
        let (url, token) = (set(URL)?, set(TOKEN)?);
        let Some(("http" | "https", authority)) = url.split_once("://") else {
            return Err(format!(
                "{URL} is {url:?}, which is not an http or https URL"
            ));
        };
        if authority.is_empty() || authority.contains('/') {
            return Err(format!("{URL} is {url:?}; allowed: a host without a path"));
        }
        Ok(Self { url, token })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends `PUT /v1/executions/{id}/stub`, which writes a value into a stub execution unless it
    /// has another one. Returns the status of the answer.
    pub fn stub(&self, id: &str, value: &str) -> Result<u16, String> {
        let id = execution_id(id)?;
        let path = format!("/v1/executions/{id}/stub");
        Ok(self.ask(Method::PUT, &path, value, ANSWER_MS)?.status)
    }

    /// Sends `GET /v1/executions/{id}`, which requests a result. Returns the status of the answer:
    /// 200 if there is one, 425 if there will be, 404 if there is no such execution.
    pub fn result(&self, id: &str) -> Result<u16, String> {
        let id = execution_id(id)?;
        let path = format!("/v1/executions/{id}");
        Ok(self.ask(Method::GET, &path, "", ANSWER_MS)?.status)
    }

    /// As [`result`](Self::result), with the result; `None` if there is no such execution.
    pub fn ending(&self, id: &str) -> Result<Option<Ending>, String> {
        let id = execution_id(id)?;
        let answer = self.ask(Method::GET, &format!("/v1/executions/{id}"), "", LIST_MS)?;
        let json = match answer.status {
            404 => return Ok(None),
            425 => return Ok(Some(Ending::None)),
            200 => json(&answer)?,
            status => return Err(answered(status)),
        };
        Ok(Some(match json.get("ok") {
            Some(_) => Ending::Ok,
            None => Ending::Err(json.get("err").cloned().unwrap_or_default()),
        }))
    }

    /// Sends `GET /v1/executions/{id}/status`. Returns `None` if there is no such execution.
    pub fn status(&self, id: &str) -> Result<Option<Status>, String> {
        let id = execution_id(id)?;
        let answer = self.ask(
            Method::GET,
            &format!("/v1/executions/{id}/status"),
            "",
            ANSWER_MS,
        )?;
        match answer.status {
            404 => Ok(None),
            200 => serde_json::from_slice(&answer.body)
                .map(Some)
                .map_err(|error| error.to_string()),
            status => Err(answered(status)),
        }
    }

    /// Sends `GET /v1/executions/{id}/responses`. Returns what the children of an execution
    /// answered, in order: those after the cursor, or the last ones before it.
    pub fn responses(&self, id: &str, page: Page) -> Result<Vec<Response>, String> {
        let id = execution_id(id)?;
        let (direction, cursor, length) = match page {
            Page::After(cursor, length) => ("newer", cursor, length),
            Page::Before(cursor, length) => ("older", cursor, length),
        };
        let path = format!(
            "/v1/executions/{id}/responses?direction={direction}&cursor={cursor}&length={length}"
        );
        let answer = self.ask(Method::GET, &path, "", LIST_MS)?;
        match answer.status {
            200 => Ok(responses(&json(&answer)?)),
            404 => Ok(Vec::new()),
            status => Err(answered(status)),
        }
    }

    /// Returns the unfinished executions of a function below another execution, at most `length`.
    pub fn open(&self, below: &RunId, ffqn: &str, length: u32) -> Result<Vec<Listed>, String> {
        // From the cursor on, the engine need not read what was created later.
        self.list(&format!(
            "ffqn_prefix={ffqn}&execution_id_prefix={below}.&show_derived=true&hide_finished=true\
             &direction=newer&cursor={below}&length={length}"
        ))
    }

    /// Sends `GET /v1/executions/{id}/events`. Returns the parameters of an execution.
    pub fn params(&self, id: &str) -> Result<Vec<Value>, String> {
        let id = execution_id(id)?;
        let path = format!("/v1/executions/{id}/events?version=0&including_cursor=true&length=1");
        let answer = self.ask(Method::GET, &path, "", LIST_MS)?;
        match answer.status {
            200 => first_params(json(&answer)?).map_err(|why| format!("{id}: {why}")),
            status => Err(format!("{id}: {}", answered(status))),
        }
    }

    /// Sends `PUT /v1/executions/{id}`, which submits an execution once. Returns the status of the
    /// answer: 201 if it is new, 200 if it is the same as before, 409 if it is another one.
    pub fn submit(&self, id: &RunId, submission: &Submission) -> Result<u16, String> {
        let path = format!("/v1/executions/{id}");
        let submission = serde_json::to_string(submission).map_err(|error| error.to_string())?;
        let answer = self.ask(Method::PUT, &path, &submission, LIST_MS)?;
        Ok(answer.status)
    }

    /// Sends `PUT /v1/executions/{id}/unpause`. Returns the status of the answer.
    pub fn unpause(&self, id: &RunId) -> Result<u16, String> {
        let path = format!("/v1/executions/{id}/unpause");
        Ok(self.ask(Method::PUT, &path, "", ANSWER_MS)?.status)
    }

    /// Sends `GET /v1/executions`, with a query of the engine's parameters.
    pub fn list(&self, filter: &str) -> Result<Vec<Listed>, String> {
        let path = format!("/v1/executions?{filter}");
        let answer = self.ask(Method::GET, &path, "", LIST_MS)?;
        match answer.status {
            200 => serde_json::from_slice(&answer.body).map_err(|error| error.to_string()),
            status => Err(answered(status)),
        }
    }

    fn ask(&self, method: Method, path: &str, body: &str, limit_ms: u64) -> Result<Answer, String> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token))
            .header("accept", "application/json")
            .header("content-type", "application/json")
            .body(body.to_owned())
            .map_err(|error| error.to_string())?;
        send(request, limit_ms, ANSWER_BYTES)
    }
}

fn answered(status: u16) -> String {
    format!("the engine answered {status}")
}

fn json(answer: &Answer) -> Result<Value, String> {
    if answer.is_cut {
        return Err(format!("the engine's answer exceeds {ANSWER_BYTES} bytes"));
    }
    serde_json::from_slice(&answer.body).map_err(|error| error.to_string())
}

/// Parses the parameters of an execution from its first event.
fn first_params(mut body: Value) -> Result<Vec<Value>, String> {
    match body["events"][0]["event"]["created"]["params"].take() {
        Value::Array(params) => Ok(params),
        _ => Err("its first event has no parameters".to_owned()),
    }
}

/// Parses responses, those of timers among them.
fn responses(body: &Value) -> Vec<Response> {
    let response = |it: &Value| {
        let event = &it["event"]["event"]["event"];
        let result = &event["result"];
        let child = event["child_execution_id"].as_str();
        // A stub that is withdrawn or cancelled has a text as its error.
        let has_failed = result.get("ok").is_none() && result["err"]["type"] != "string";
        Some(Response {
            cursor: u32::try_from(it["cursor"].as_u64()?).ok()?,
            created_at: it["event"]["created_at"].as_str()?.to_owned(),
            // Timers have none.
            id: child.unwrap_or_default().to_owned(),
            text: result["ok"]["value"].as_str().map(str::to_owned),
            has_failed: child.is_some() && has_failed,
        })
    };
    let all = body["responses"].as_array();
    all.into_iter().flatten().filter_map(response).collect()
}

/// A valid id cannot lead to another path.
fn execution_id(id: &str) -> Result<RunId, String> {
    RunId::read(id).ok_or_else(|| format!("{id:?} is not the id of an execution"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(url: &str) -> Result<Api, String> {
        let variables = [(URL, url), (TOKEN, "placeholder")];
        Api::of(&variables.map(|(name, value)| (name.to_owned(), value.to_owned())))
    }

    #[test]
    fn the_engine_is_a_host_and_no_path() {
        for url in ["http://127.0.0.1:5005", "https://engine.example"] {
            assert_eq!(of(url).unwrap().url, url);
        }
        for url in ["", "127.0.0.1:5005", "ftp://a", "http://", "http://a/b"] {
            assert!(of(url).is_err_and(|error| error.contains(URL)), "{url}");
        }
    }

    #[test]
    fn what_is_not_set_is_named() {
        assert_eq!(Api::of(&[]), Err(format!("{URL} is not set")));
    }

    #[test]
    fn what_is_no_id_is_not_asked_for() {
        let api = of("http://127.0.0.1:5005").unwrap();
        for id in [
            "",
            "E_1",
            "../deployments",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA/cancel?",
        ] {
            assert!(
                api.result(id)
                    .is_err_and(|error| error.contains("not the id")),
                "{id}"
            );
        }
    }

    #[test]
    fn responses_have_the_text_of_a_child_or_its_failure() {
        let response = |child: &str, result: Value| {
            let event = json!({ "child_execution_id": child, "result": result });
            json!({ "cursor": 7, "event": { "created_at": "t", "event": { "event": event } } })
        };
        let response_of_timer = json!({ "cursor": 8, "event": { "created_at": "t", "event": {
            "event": { "delay_id": "Delay_1", "result": { "Err": null } },
        } } });
        let failed = json!({ "err": { "type": "variant { execution-failed }", "value": "x" } });
        let over = json!({ "err": { "type": "string", "value": "the run is over" } });
        let body = json!({ "responses": [
            response("E_1.n:open_12", json!({ "ok": { "type": "string", "value": "x" } })),
            response("E_1.n:open_4", failed),
            response("E_1.n:open_1", over),
            response_of_timer,
        ] });
        let found: Vec<_> = responses(&body)
            .into_iter()
            .map(|it| (it.index(), it.text, it.has_failed))
            .collect();
        let (text, none) = (Some("x".to_owned()), |index| (index, None, false));
        let expected = [(12, text, false), (4, None, true), none(1), none(0)];
        assert_eq!(found, expected);
    }
}
