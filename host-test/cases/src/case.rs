//! A case: the task of a client, the service's part, and the expected results.

use super::difference::expectation;
use super::json::{Json, even_null};
use super::program::{Program, WrittenProgram};
use super::step::Step;
use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use voice_calling_core::settings::PREFIX;

/// The token of a case that does not set another.
const TOKEN: &str = "mock-token-0001";

/// The placeholder for the case's base URL in its settings.
const BASE_URL: &str = "{base_url}";

/// All cases, in the order of the files' names.
#[derive(Clone, Debug)]
pub struct Table {
    /// The cases. The index of a case is its id.
    pub cases: Vec<Case>,
}

/// A case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The file that it comes from.
    #[serde(skip)]
    pub file: String,
    /// A sentence that states what the case shows. It is unique.
    pub name: String,
    /// Whether it shows what each package does by itself: arguments, results, errors, options, and
    /// ids in logs. The packages on the Rust client play these cases alone.
    #[serde(default)]
    pub edge: bool,
    /// Interface and function, such as `calls.make-call`.
    pub operation: String,
    /// The arguments, as `host-test invoke` accepts them, in their original notation.
    pub arguments: Box<RawValue>,
    /// Variables by their names without the prefix; `None` must not be set.
    #[serde(default)]
    pub settings: BTreeMap<String, Option<String>>,
    /// The key, for a create with a key in a ledger.
    pub once: Option<Once>,
    /// The service's part.
    #[serde(default)]
    pub service: Service,
    /// The requests that the service must receive, and no others.
    pub requests: Vec<ExpectedRequest>,
    /// The value that the caller must receive.
    #[serde(default, deserialize_with = "even_null")]
    pub value: Option<Json>,
    /// The failure that the caller must receive.
    pub error: Option<Json>,
    /// The fault of the caller's own program, such as an interrupt. If there is one, every create
    /// that the service received must be accounted for, whatever the caller receives.
    #[serde(skip)]
    pub program: Option<Program>,
    #[serde(default, rename = "program")]
    programs: Option<WrittenProgram>,
}

/// A create with a key in a ledger.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Once {
    /// The key.
    pub key: String,
    /// The arguments of earlier calls with this key, each by its own client. Their results do not
    /// matter.
    pub earlier: Vec<Box<RawValue>>,
}

/// The service's part in a case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Box<RawValue>")]
pub enum Service {
    /// The service must not receive requests.
    #[default]
    Uncalled,
    /// The service's port refuses connections.
    Closed,
    /// The service follows these steps, one for each request.
    Script(Vec<Step>),
}

/// A request that a client must send.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedRequest {
    /// The method.
    pub method: String,
    /// The path and query, percent-encoded, relative to the base URL.
    pub path: String,
    /// Headers by their names in lower case; `None` must not be present.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<Json>>,
    /// The body as JSON, regardless of white space and the order of members.
    #[serde(default, deserialize_with = "even_null")]
    pub body: Option<Json>,
    /// The exact body. If this and `body` are absent, there must be no body.
    pub text: Option<String>,
}

impl Table {
    /// Reads every file of a folder whose name ends in `.json`.
    ///
    /// # Errors
    /// Fails if a case is invalid: the error names the file, case and member.
    pub fn read(folder: &Path) -> Result<Self> {
        let unreadable = || format!("cannot read the folder of cases {}", folder.display());
        let entries = std::fs::read_dir(folder).with_context(unreadable)?;
        let paths: std::io::Result<BTreeSet<_>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut cases = Vec::new();
        for path in paths.with_context(unreadable)? {
            if path.extension().is_some_and(|it| it == "json") {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                cases.extend(Self::parse(&file, &text)?.cases);
            }
        }
        ensure!(!cases.is_empty(), "no cases in {}", folder.display());
        Self { cases }.with_unique_names()
    }

    /// Reads the cases of one file.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let written: Vec<&RawValue> =
            serde_json::from_str(text).with_context(|| format!("{file}: not an array of cases"))?;
        let mut cases = Vec::new();
        for (index, written) in written.into_iter().enumerate() {
            let Named { name } = serde_json::from_str(written.get())
                .with_context(|| format!("{file}: case {index} has no name"))?;
            let case = Case::parse(file, written.get())
                .map_err(|error| anyhow!("{file}: {name:?}: {error:#}"))?;
            cases.extend(case);
        }
        Self { cases }.with_unique_names()
    }

    fn with_unique_names(self) -> Result<Self> {
        let mut names = BTreeSet::new();
        for Case { file, name, .. } in &self.cases {
            ensure!(
                names.insert(name),
                "{file}: {name:?}: another case has this name"
            );
        }
        Ok(self)
    }
}

impl Case {
    /// Parses one written case. A fault of the program expands to one case for each step at which
    /// it happens.
    fn parse(file: &str, text: &str) -> Result<Vec<Self>> {
        let mut case: Self = serde_json::from_str(text)?;
        case.file = file.to_owned();
        let (value, error, program) = (&case.value, &case.error, &case.programs);
        let ends = [value.is_some(), error.is_some(), program.is_some()].map(usize::from);
        ensure!(
            ends.iter().sum::<usize>() == 1,
            "it must have one of `value`, `error` and `program`"
        );
        case.value = case.value.map(expectation).transpose().context("value")?;
        case.error = case.error.map(expectation).transpose().context("error")?;
        case.requests
            .iter_mut()
            .try_for_each(ExpectedRequest::read)?;
        case.check_requests()?;
        let Some(WrittenProgram { does, at }) = case.programs.take() else {
            return Ok(vec![case]);
        };
        ensure!(!at.is_empty(), "program.at: found no step");
        let cases = at.into_iter().map(|at| case.during(Program { does, at }));
        Ok(cases.collect())
    }

    /// Returns this case with a fault of the program.
    fn during(&self, program: Program) -> Self {
        let mut case = self.clone();
        case.name = format!("{} ({})", self.name, program.at);
        case.program = Some(program);
        if !program.lets_the_request_out() {
            case.service = Service::Uncalled;
            case.requests.clear();
        }
        case
    }

    /// Checks that each step of the service is for one request, and that a case with its own base
    /// URL expects no request.
    fn check_requests(&self) -> Result<()> {
        let steps = self.service.steps().len();
        let requests = self.requests.len();
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

    /// Returns `true` if the order of the requests is irrelevant: some may be open at once.
    pub(crate) fn in_any_order(&self) -> bool {
        let max_in_flight = self.settings.get("MAX_IN_FLIGHT");
        max_in_flight.is_some_and(|set| set.as_deref() != Some("1"))
    }

    /// Returns the environment variables for a client, at this base URL.
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

impl Service {
    /// Returns the service's steps, one for each request.
    pub(crate) fn steps(&self) -> &[Step] {
        match self {
            Service::Uncalled | Service::Closed => &[],
            Service::Script(steps) => steps,
        }
    }
}

impl TryFrom<Box<RawValue>> for Service {
    type Error = anyhow::Error;

    fn try_from(written: Box<RawValue>) -> Result<Self> {
        match written.get() {
            "\"closed\"" => Ok(Service::Closed),
            steps => Ok(Service::Script(serde_json::from_str(steps)?)),
        }
    }
}

impl ExpectedRequest {
    /// Parses the expectations.
    fn read(&mut self) -> Result<()> {
        ensure!(
            self.body.is_none() || self.text.is_none(),
            "either `body` or `text`"
        );
        self.body = self.body.take().map(expectation).transpose()?;
        for (name, value) in &mut self.headers {
            ensure!(
                *name == name.to_ascii_lowercase(),
                "headers.{name}: not in lower case"
            );
            *value = value.take().map(expectation).transpose()?;
        }
        Ok(())
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
    fn an_invalid_case_is_reported_by_file_case_and_member() {
        // The text to replace, its replacement, and the error.
        let rows = r#"
            "name": "n" => "nam": "n" => agents.json: case 0 has no name
            "value": [] => "valu": [] => agents.json: "n": unknown field `valu`
            "value": [] => "value": [], "error": {} => one of `value`, `error` and `program`
            , "value": [] =>  => one of `value`, `error` and `program`
            "value": [] => "value": [{"$is": 7}] => value: found {"$is":7}; allowed
            "value": [] => "value": {"$is": "text", "a": 7} => value: $is: a matcher beside members
            {"status": 200, "body": []} => {"statu": 200} => unknown field `statu`
            {"status": 200, "body": []} => "rest" => found "rest"
            {"method": "GET", "path": "/a"} =>  => requests: 0 expected, but the service has 1 answers
            "method": "GET" => "methods": "GET" => unknown field `methods`
            "path": "/a" => "path": "/a", "body": null, "text": "" => either `body` or `text`
            "path": "/a" => "path": "/a", "headers": {"A": null} => headers.A: not in lower
            "arguments" => "settings": {"ALPHA_BASE_URL": "http://x"}, "arguments" => settings.ALPHA_BASE_URL: found a base URL elsewhere
        "#;
        for row in rows.trim().lines() {
            let [right, wrong, message] = row.trim_start().split(" => ").collect::<Vec<_>>()[..]
            else {
                panic!("{row}")
            };
            assert!(CASE.contains(right), "{right}");
            let error = parsed(&CASE.replace(right, wrong)).unwrap_err().to_string();
            assert!(error.contains(message), "{wrong}: {error}");
        }
        let error = parsed(&format!("{CASE},{CASE}")).unwrap_err().to_string();
        assert_eq!(error, "agents.json: \"n\": another case has this name");
        let table = parsed(&CASE.replace(r#""value": []"#, r#""value": null"#)).unwrap();
        assert_eq!(table.cases[0].value, Some(Json::Null));
    }
}
