//! The three requests to the engine's API that this component needs.

use serde::Deserialize;
use voice_calling_correlation::RunId;
use voice_calling_obelisk_http::{Answer, Method, Request, Window, send};

const URL: &str = "OBELISK_API_URL";

/// The variable holds a placeholder, which the engine replaces in the request.
const TOKEN: &str = "OBELISK_API_TOKEN";

/// The time limit for an answer; listing a large database takes longer.
const ANSWER_MS: u64 = 1_500;
const LIST_MS: u64 = 10_000;

const ANSWER_BYTES: usize = 2 * 1_048_576;

/// The maximum number of executions in a list.
const LISTED: usize = 1_000;

/// The node that runs this component, or any other one on the same database.
#[derive(Debug, PartialEq, Eq)]
pub struct Engine {
    url: String,
    token: String,
}

#[derive(Deserialize)]
struct Listed {
    execution_id: String,
}

impl Engine {
    /// Reads the environment. The error says what is wrong with it.
    pub fn of(environment: &[(String, String)]) -> Result<Self, String> {
        let variable = |name: &str| {
            let mut variables = environment.iter();
            let found = variables.find_map(|(key, value)| (key == name).then(|| value.clone()));
            found.ok_or_else(|| format!("{name} is not set"))
        };
        let (url, token) = (variable(URL)?, variable(TOKEN)?);
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

    /// Sends `GET /v1/executions`. Returns the ids of the unfinished executions of a function at
    /// any depth below `parent`.
    pub fn open_below(&self, parent: &RunId, ffqn: &str) -> Result<Vec<String>, String> {
        let path = format!(
            "/v1/executions?ffqn_prefix={ffqn}&execution_id_prefix={parent}.\
             &show_derived=true&hide_finished=true&length={LISTED}"
        );
        let answer = self.ask(Method::GET, &path, "", LIST_MS)?;
        listed(answer.status, answer.body.bytes())
            .map_err(|reason| format!("the open executions of {ffqn} below {parent}: {reason}"))
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
        send(request, limit_ms, |_, _| Ok(Window::first(ANSWER_BYTES)))
    }
}

/// Parses the ids in a list. A list that may be incomplete is an error.
fn listed(status: u16, body: &[u8]) -> Result<Vec<String>, String> {
    if status != 200 {
        return Err(format!("the engine answered {status}"));
    }
    let listed: Vec<Listed> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    match listed.len() {
        LISTED.. => Err(format!("{LISTED} or more")),
        _ => Ok(listed
            .into_iter()
            .map(|listed| listed.execution_id)
            .collect()),
    }
}

/// A valid id cannot lead to another path.
fn execution_id(id: &str) -> Result<RunId, String> {
    RunId::read(id).ok_or_else(|| format!("{id:?} is not the id of an execution"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Result<Engine, String> {
        let variables = [(URL, url), (TOKEN, "placeholder")];
        Engine::of(&variables.map(|(name, value)| (name.to_owned(), value.to_owned())))
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
        assert_eq!(Engine::of(&[]), Err(format!("{URL} is not set")));
    }

    #[test]
    fn what_is_no_id_is_not_asked_for() {
        let engine = of("http://127.0.0.1:5005").unwrap();
        for id in [
            "",
            "E_1",
            "../deployments",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA/cancel?",
        ] {
            assert!(
                engine
                    .result(id)
                    .is_err_and(|error| error.contains("not the id")),
                "{id}"
            );
        }
    }

    #[test]
    fn a_list_is_whole_or_an_error() {
        let list = |length| {
            let ids = vec![r#"{"execution_id":"E_1.n:order_1","ffqn":"a:b/c.d"}"#; length];
            format!("[{}]", ids.join(","))
        };
        for length in [0, 1, LISTED - 1] {
            let expected = vec!["E_1.n:order_1".to_owned(); length];
            assert_eq!(listed(200, list(length).as_bytes()), Ok(expected));
        }
        assert!(listed(200, list(LISTED).as_bytes()).is_err());
        assert!(listed(401, list(1).as_bytes()).is_err());
        assert!(listed(200, b"[{").is_err());
    }
}
