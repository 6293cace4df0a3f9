//! One case: what is asked of a client, what the service does, and what must come of it.

use super::answer::Step;
use super::expected::Expected;
use super::json::Json;
use super::program::{Program, WrittenProgram};
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use voice_calling_core::settings::PREFIX;
use voice_calling_host::invoke::functions::exported_functions;

/// The token that a case has unless it says otherwise.
const TOKEN: &str = "mock-token-0001";

/// Stands for the base URL of the case in a setting of its own.
const BASE_URL: &str = "{base_url}";

/// All cases, in the order of the files' names.
#[derive(Clone, Debug)]
pub struct Table {
    /// The cases. Where one stands is its id.
    pub cases: Vec<Case>,
}

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file that it comes from.
    pub file: String,
    /// A sentence that says what it shows; no other case has it.
    pub name: String,
    /// Interface and function, such as `calls.make-call`.
    pub operation: String,
    /// The arguments, in the JSON that `host-test invoke` takes, as they were written.
    pub arguments: Box<RawValue>,
    /// Variables by their names without the prefix; none is one that must not be set.
    pub settings: BTreeMap<String, Option<String>>,
    /// What the service does.
    pub service: Service,
    /// What the service must be sent.
    pub requests: Requests,
    /// What the caller must get.
    pub outcome: ExpectedOutcome,
    /// What the caller's own program does meanwhile.
    pub program: Option<Program>,
}

/// What the service does in a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// It must not be called.
    Uncalled,
    /// Its port refuses connections.
    Closed,
    /// One step for each request.
    Script(Vec<Step>),
}

/// The requests that a client must send, and no other.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// What they are.
    pub expected: Vec<ExpectedRequest>,
    /// Whether their order does not matter.
    pub in_any_order: bool,
}

/// A request that a client must send.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedRequest {
    /// The method.
    pub method: String,
    /// Path and query, percent-encoded, below the base URL.
    pub path: String,
    /// Headers by their names in lower case; none is one that must not be there.
    pub headers: BTreeMap<String, Option<Expected>>,
    /// The body.
    pub body: ExpectedBody,
}

/// A body of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedBody {
    /// None.
    Empty,
    /// JSON; the order of members and white space do not matter.
    Json(Expected),
    /// This text to the last byte.
    Text(String),
}

/// What a caller must get.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedOutcome {
    /// A value.
    Value(Expected),
    /// An error: an object whose one member is the error's case.
    Error(Expected),
    /// Every create that the service received is accounted for. This is what is expected where
    /// the caller's own program interferes.
    Accounted,
}

// ---------------------------------------------------------------- reading

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCase {
    name: String,
    operation: String,
    arguments: Box<RawValue>,
    #[serde(default)]
    settings: BTreeMap<String, Option<String>>,
    service: Option<Box<RawValue>>,
    requests: Box<RawValue>,
    #[serde(default, deserialize_with = "even_null")]
    value: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "even_null")]
    error: Option<Box<RawValue>>,
    program: Option<WrittenProgram>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRequest {
    method: String,
    path: String,
    #[serde(default)]
    headers: BTreeMap<String, Option<Box<RawValue>>>,
    body: Option<Box<RawValue>>,
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InAnyOrder {
    #[serde(rename = "$in_any_order")]
    requests: Box<RawValue>,
}

/// A member that is null is not one that is missing.
fn even_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

impl Table {
    /// Reads every file of a folder whose name ends in `.json`.
    ///
    /// # Errors
    /// Where a case is not what it should be: the error names file, case and member.
    pub fn read(folder: &Path) -> Result<Self> {
        let unreadable = || format!("cannot read the folder of cases {}", folder.display());
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).with_context(unreadable)? {
            let path = entry.with_context(unreadable)?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                files.push(path);
            }
        }
        files.sort();
        let mut cases = Vec::new();
        for path in files {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            cases.extend(Self::parse(&file, &text)?.cases);
        }
        ensure!(!cases.is_empty(), "no cases in {}", folder.display());
        let table = Self { cases };
        table.check_names()?;
        Ok(table)
    }

    /// Reads the cases of one file.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let written: Vec<&RawValue> =
            serde_json::from_str(text).with_context(|| format!("{file}: not an array of cases"))?;
        let operations: Vec<_> = exported_functions()?
            .into_iter()
            .map(|it| it.name)
            .collect();
        let mut cases = Vec::new();
        for (index, written) in written.into_iter().enumerate() {
            let Named { name } = serde_json::from_str(written.get())
                .with_context(|| format!("{file}: case {index} has no name"))?;
            let case = Case::parse(file, written.get(), &operations)
                .map_err(|error| anyhow!("{file}: {name:?}: {error:#}"))?;
            cases.extend(case);
        }
        let table = Self { cases };
        table.check_names()?;
        Ok(table)
    }

    fn check_names(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        for Case { file, name, .. } in &self.cases {
            ensure!(
                names.insert(name),
                "{file}: {name:?}: another case has this name"
            );
        }
        Ok(())
    }
}

impl Case {
    /// Reads what is written as one case. A fault of the program is one case for each step at
    /// which it happens.
    fn parse(file: &str, text: &str, operations: &[String]) -> Result<Vec<Self>> {
        let written: WrittenCase = serde_json::from_str(text)?;
        ensure!(
            operations.contains(&written.operation),
            "operation: found {:?}; allowed: {}",
            written.operation,
            operations.join(", ")
        );
        let outcome = match (written.value, written.error) {
            (None, None) if written.program.is_some() => ExpectedOutcome::Accounted,
            (Some(value), None) if written.program.is_none() => {
                ExpectedOutcome::Value(expected(&value, "value")?)
            }
            (None, Some(error)) if written.program.is_none() => {
                ExpectedOutcome::Error(expected(&error, "error")?)
            }
            _ => bail!("it must have one of `value`, `error` and `program`"),
        };
        let case = Self {
            file: file.to_owned(),
            name: written.name,
            operation: written.operation,
            arguments: written.arguments,
            settings: written.settings,
            service: Service::parse(written.service.as_deref())?,
            requests: Requests::parse(&written.requests)?,
            outcome,
            program: None,
        };
        case.check_requests()?;
        let Some(program) = written.program else {
            return Ok(vec![case]);
        };
        Ok(program
            .steps()?
            .map(|program| case.during(program))
            .collect())
    }

    /// This case with a fault of the program.
    fn during(&self, program: Program) -> Self {
        let (service, expected) = match program.lets_the_request_out() {
            true => (self.service.clone(), self.requests.expected.clone()),
            false => (Service::Uncalled, Vec::new()),
        };
        Self {
            name: format!("{} ({})", self.name, program.at),
            service,
            requests: Requests {
                expected,
                in_any_order: true,
            },
            program: Some(program),
            ..self.clone()
        }
    }

    /// Each step of the service is for one request. And what has a base URL of its own must not
    /// send anything, wherever that is.
    fn check_requests(&self) -> Result<()> {
        let steps = self.service.steps().len();
        let requests = self.requests.expected.len();
        ensure!(
            requests == steps,
            "requests: {requests} expected, but the service has {steps} answers"
        );
        let may_send = self.service != Service::Uncalled;
        for (name, value) in &self.settings {
            let elsewhere = name.ends_with("BASE_URL")
                && value.as_ref().is_some_and(|url| !url.starts_with(BASE_URL));
            ensure!(
                !(elsewhere && may_send),
                "settings.{name}: found a base URL elsewhere; allowed: {BASE_URL}, which the service listens on"
            );
        }
        Ok(())
    }

    /// The environment variables that a client must have, at this base URL.
    pub fn variables(&self, base_url: &str) -> BTreeMap<String, String> {
        let defaults = [
            ("BASE_URL", BASE_URL),
            ("API_TOKEN", TOKEN),
            ("BACKOFF_MS", "1"),
            ("MAX_BACKOFF_MS", "1"),
        ];
        let mut settings: BTreeMap<&str, Option<&str>> =
            defaults.map(|(name, value)| (name, Some(value))).into();
        for (name, value) in &self.settings {
            settings.insert(name, value.as_deref());
        }
        let variables = settings.into_iter().filter_map(|(name, value)| {
            let value = value?.replace(BASE_URL, base_url);
            Some((format!("{PREFIX}{name}"), value))
        });
        variables.collect()
    }
}

/// Reads what is expected at this place.
fn expected(written: &RawValue, at: &str) -> Result<Expected> {
    let json = Json::parse(written.get()).with_context(|| at.to_owned())?;
    Expected::read(json, at)
}

impl Service {
    /// What it does with one request after the other.
    pub(crate) fn steps(&self) -> &[Step] {
        match self {
            Service::Uncalled | Service::Closed => &[],
            Service::Script(steps) => steps,
        }
    }

    fn parse(written: Option<&RawValue>) -> Result<Self> {
        let Some(written) = written else {
            return Ok(Service::Uncalled);
        };
        if written.get() == "\"closed\"" {
            return Ok(Service::Closed);
        }
        let steps: Vec<&RawValue> = serde_json::from_str(written.get())
            .context("service: neither \"closed\" nor an array of steps")?;
        let step = |(index, written): (usize, &RawValue)| {
            Step::parse(written).with_context(|| format!("service[{index}]"))
        };
        let steps = steps.into_iter().enumerate().map(step);
        Ok(Service::Script(steps.collect::<Result<_>>()?))
    }
}

impl Requests {
    fn parse(written: &RawValue) -> Result<Self> {
        if written.get().starts_with('{') {
            let any: InAnyOrder = serde_json::from_str(written.get()).context("requests")?;
            let requests = Self::parse(&any.requests)?;
            return Ok(Self {
                in_any_order: true,
                ..requests
            });
        }
        let requests: Vec<&RawValue> = serde_json::from_str(written.get()).context("requests")?;
        let request = |(index, written): (usize, &RawValue)| {
            ExpectedRequest::parse(written, &format!("requests[{index}]"))
        };
        let requests = requests.into_iter().enumerate().map(request);
        Ok(Self {
            expected: requests.collect::<Result<_>>()?,
            in_any_order: false,
        })
    }
}

impl ExpectedRequest {
    fn parse(written: &RawValue, at: &str) -> Result<Self> {
        let written: WrittenRequest =
            serde_json::from_str(written.get()).with_context(|| at.to_owned())?;
        let body = match (written.body, written.text) {
            (None, None) => ExpectedBody::Empty,
            (Some(body), None) => ExpectedBody::Json(expected(&body, &format!("{at}.body"))?),
            (None, Some(text)) => ExpectedBody::Text(text),
            (Some(_), Some(_)) => bail!("{at}: either `body` or `text`"),
        };
        let mut headers = BTreeMap::new();
        for (name, value) in written.headers {
            let at = format!("{at}.headers.{name}");
            ensure!(name == name.to_ascii_lowercase(), "{at}: not in lower case");
            let value = value.map(|value| expected(&value, &at)).transpose()?;
            headers.insert(name, value);
        }
        Ok(Self {
            method: written.method,
            path: written.path,
            headers,
            body,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = r#"{"name": "n", "operation": "agents.list-agents",
        "arguments": {"organization_id": "o"}, "service": [{"status": 200, "body": []}],
        "requests": [{"method": "GET", "path": "/a"}], "value": []}"#;

    fn parsed(case: &str) -> Result<Table> {
        Table::parse("agents.json", &format!("[{case}]"))
    }

    #[test]
    fn a_case_has_settings_over_the_defaults() {
        let with = |settings: &str| {
            let settings = format!(r#""settings": {settings}, "value""#);
            let case = CASE.replace(r#""value""#, &settings);
            let table = parsed(&case).unwrap();
            let variables = table.cases[0].variables("http://127.0.0.1:1/x");
            let shown = variables
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            shown
                .collect::<Vec<_>>()
                .join(" ")
                .replace("VOICE_CALLING_", "")
        };
        assert_eq!(
            with("{}"),
            "API_TOKEN=mock-token-0001 BACKOFF_MS=1 BASE_URL=http://127.0.0.1:1/x MAX_BACKOFF_MS=1"
        );
        assert_eq!(
            with(
                r#"{"API_TOKEN": null, "BACKOFF_MS": null, "MAX_BACKOFF_MS": "7", "BASE_URL": "{base_url}/"}"#
            ),
            "BASE_URL=http://127.0.0.1:1/x/ MAX_BACKOFF_MS=7"
        );
    }

    #[test]
    fn what_is_wrong_with_a_case_is_told_by_file_case_and_member() {
        // What is replaced, by what, and what is then told.
        let rows = r#"
            "name": "n" => "nam": "n" => agents.json: case 0 has no name
            list-agents => list-agent => agents.json: "n": operation: found "agents.list-agent"
            "value": [] => "valu": [] => agents.json: "n": unknown field `valu`
            "value": [] => "value": [], "error": {} => one of `value`, `error` and `program`
            "value": [] => "value": [{"$is": 7}] => value[0]: found {"$is":7}; allowed
            {"status": 200, "body": []} => {"statu": 200} => service[0]: unknown field `statu`
            {"status": 200, "body": []} => "rest" => service[0]: found "rest"
            {"method": "GET", "path": "/a"} =>  => requests: 0 expected, but the service has 1 answers
            "method": "GET" => "methods": "GET" => requests[0]: unknown field `methods`
            "path": "/a" => "path": "/a", "body": 1, "text": "" => requests[0]: either
            "path": "/a" => "path": "/a", "headers": {"A": null} => requests[0].headers.A: not in lower
            "arguments" => "settings": {"ALPHA_BASE_URL": "http://x"}, "arguments" => settings.ALPHA_BASE_URL: found a base URL elsewhere
        "#;
        for row in rows.trim().lines() {
            let [right, wrong, told] = row.trim_start().split(" => ").collect::<Vec<_>>()[..]
            else {
                panic!("{row}")
            };
            assert!(CASE.contains(right), "{right}");
            let error = parsed(&CASE.replace(right, wrong)).unwrap_err().to_string();
            assert!(error.contains(told), "{wrong}: {error}");
        }
        let error = parsed(&format!("{CASE},{CASE}")).unwrap_err().to_string();
        assert_eq!(error, "agents.json: \"n\": another case has this name");
        let error = parsed("{").unwrap_err().to_string();
        assert_eq!(error, "agents.json: not an array of cases");
    }

    #[test]
    fn null_is_a_value_that_may_be_expected() {
        let table = parsed(&CASE.replace(r#""value": []"#, r#""value": null"#)).unwrap();
        let expected = ExpectedOutcome::Value(Expected::Value(Json::Null));
        assert_eq!(table.cases[0].outcome, expected);
        assert!(parsed(&CASE.replace(r#", "value": []"#, "")).is_err());
    }
}
