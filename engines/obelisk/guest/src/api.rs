//! The requests to the engine's API that the components need.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Answer, Method, Request, RunId, send, variable};

const URL: &str = "OBELISK_API_URL";

/// The variable holds a placeholder, which the engine replaces in the request.
const TOKEN: &str = "OBELISK_API_TOKEN";

/// The time limit for an answer; listing a large database takes longer.
const ANSWER_MS: u64 = 1_500;
const LIST_MS: u64 = 10_000;

const ANSWER_BYTES: usize = 2 * 1_048_576;

/// The maximum number of executions in a list.
const LISTED: usize = 1_000;

/// The API of the node that runs the component, or of any other one on the same database.
#[derive(Debug, PartialEq, Eq)]
pub struct Api {
    url: String,
    token: String,
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

    /// Sends `GET /v1/executions/{id}`, which requests a result. Returns the status of the answer.
    pub fn result(&self, id: &str) -> Result<u16, String> {
        let id = execution_id(id)?;
        let path = format!("/v1/executions/{id}");
        Ok(self.ask(Method::GET, &path, "", ANSWER_MS)?.status)
    }

    /// Sends `GET /v1/executions`. Returns the ids that begin with `prefix` of the unfinished
    /// executions of a function.
    pub fn open(&self, prefix: &str, ffqn: &str) -> Result<Vec<String>, String> {
        let open = self.list(&format!(
            "ffqn_prefix={ffqn}&execution_id_prefix={prefix}&show_derived=true\
             &hide_finished=true&length={LISTED}"
        ));
        open.and_then(whole)
            .map_err(|reason| format!("the open executions of {ffqn} below {prefix}: {reason}"))
    }

    /// Sends `GET /v1/executions/{id}/events`. Returns the parameters of an execution.
    pub fn params(&self, id: &str) -> Result<Vec<Value>, String> {
        let id = execution_id(id)?;
        let path = format!("/v1/executions/{id}/events?version=0&including_cursor=true&length=1");
        let answer = self.ask(Method::GET, &path, "", LIST_MS)?;
        match answer.status {
            200 => first_params(&answer.body).map_err(|why| format!("{id}: {why}")),
            status => Err(format!("{id}: the engine answered {status}")),
        }
    }

    /// Sends `PUT /v1/executions/{id}`, which submits an execution once. Returns the status of the
    /// answer: 201 if it is new, 200 if it is the same as before, 409 if it is another one.
    pub fn submit(&self, id: &RunId, ffqn: &str, params: &Value) -> Result<u16, String> {
        let path = format!("/v1/executions/{id}");
        let submission = json!({ "ffqn": ffqn, "params": params }).to_string();
        let answer = self.ask(Method::PUT, &path, &submission, LIST_MS)?;
        Ok(answer.status)
    }

    /// Sends `GET /v1/executions`, with a query of the engine's parameters.
    pub fn list(&self, filter: &str) -> Result<Vec<Listed>, String> {
        let path = format!("/v1/executions?{filter}");
        let answer = self.ask(Method::GET, &path, "", LIST_MS)?;
        match answer.status {
            200 => serde_json::from_slice(&answer.body).map_err(|error| error.to_string()),
            status => Err(format!("the engine answered {status}")),
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

/// Parses the parameters of an execution from its first event.
fn first_params(body: &[u8]) -> Result<Vec<Value>, String> {
    let mut body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    match body["events"][0]["event"]["created"]["params"].take() {
        Value::Array(params) => Ok(params),
        _ => Err("its first event has no parameters".to_owned()),
    }
}

/// Returns the ids in a list. A list that may be incomplete is an error.
fn whole(listed: Vec<Listed>) -> Result<Vec<String>, String> {
    match listed.len() {
        LISTED.. => Err(format!("{LISTED} or more")),
        _ => Ok(listed.into_iter().map(|it| it.execution_id).collect()),
    }
}

/// A valid id cannot lead to another path.
fn execution_id(id: &str) -> Result<RunId, String> {
    RunId::read(id).ok_or_else(|| format!("{id:?} is not the id of an execution"))
}

#[cfg(test)]
mod tests {
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
    fn a_list_is_whole_or_an_error() {
        let list = |length| {
            let listed = |_| Listed {
                execution_id: "E_1.n:order_1".to_owned(),
                created_at: String::new(),
            };
            whole((0..length).map(listed).collect())
        };
        for length in [0, 1, LISTED - 1] {
            let expected = vec!["E_1.n:order_1".to_owned(); length];
            assert_eq!(list(length), Ok(expected));
        }
        assert!(list(LISTED).is_err());
    }
}
