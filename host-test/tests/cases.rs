//! The table of cases, run through the component in wasmtime over real connections. Clients in
//! other languages run the same table.

mod compiled;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use compiled::{component_path, in_repository, loading};
use futures_util::stream::{self, TryStreamExt};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use voice_calling_cases::{Case, ExpectedOutcome, Judge, Table};
use voice_calling_core::settings::NAMES;
use voice_calling_host::invoke::functions;
use voice_calling_host::{InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach};
use wit_parser::{Resolve, TypeDefKind};

/// The URL of a judge that runs already.
const JUDGE: &str = "VOICE_CALLING_CASES";

/// How many cases are played at the same time.
const AT_ONCE: usize = 8;

fn table() -> Table {
    Table::read(&in_repository("host-test/cases/table")).expect("the table")
}

/// A case as the judge hands it out.
#[derive(Deserialize)]
struct Task {
    id: usize,
    name: String,
    operation: String,
    arguments: Box<RawValue>,
    settings: BTreeMap<String, String>,
    #[serde(default)]
    program: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Summary {
    cases: usize,
    judged: usize,
    failed: Vec<Failed>,
    not_judged: Vec<String>,
}

#[derive(Deserialize)]
struct Failed {
    file: String,
    name: String,
    differences: Vec<String>,
}

impl Summary {
    /// Every difference of every case.
    fn told(&self) -> String {
        let case = |failed: &Failed| {
            let differences = failed.differences.join("\n    ");
            format!("\n{}: {}\n    {differences}", failed.file, failed.name)
        };
        self.failed.iter().map(case).collect()
    }
}

/// A run of the table: one component, one judge.
struct Runner {
    plugin: Plugin,
    /// Variables beside the settings of each case.
    environment: Vec<(String, String)>,
    outgoing: Outgoing,
    /// The run at the judge: its base URL and a name.
    run: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Runner {
    fn new(plugin: Plugin, environment: &[(&str, &str)], judge: &str, name: &str) -> Result<Self> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Ok(Self {
            plugin,
            environment: environment.iter().map(owned).collect(),
            outgoing: Outgoing::loopback(PooledNetwork::new(Reach::Loopback)?),
            run: format!("{judge}/runs/{name}"),
            client: Client::builder(TokioExecutor::new()).build_http(),
        })
    }

    /// Plays every case that is `wanted`.
    async fn play(&self, wanted: impl Fn(&Task) -> bool) -> Result<Summary> {
        let tasks: Vec<Task> = self.ask("GET", "", String::new()).await?;
        stream::iter(tasks.into_iter().filter(wanted).map(Ok))
            .try_for_each_concurrent(AT_ONCE, |task| self.play_one(task))
            .await?;
        self.ask("GET", "/summary", String::new()).await
    }

    async fn play_one(&self, task: Task) -> Result<()> {
        let path = format!("/cases/{}/outcome", task.id);
        if task.program.is_some() {
            let reason =
                "the caller of a component is its host, which decides what is lost with it";
            let outcome = json!({ "not_had": reason });
            let _: IgnoredAny = self.ask("POST", &path, outcome.to_string()).await?;
            return Ok(());
        }
        let environment = self.environment.iter().cloned().chain(task.settings);
        let settings = InstanceSettings::new(environment, self.outgoing.clone());
        let mut instance = self.plugin.instantiate(settings).await?;
        let answer = instance.invoke(&task.operation, &task.arguments).await;
        let outcome = match answer.with_context(|| task.name.clone())? {
            Ok(value) => json!({ "value": value }),
            Err(error) => json!({ "error": error }),
        };
        // The summary has the differences of all.
        let _: IgnoredAny = self.ask("POST", &path, outcome.to_string()).await?;
        Ok(())
    }

    async fn ask<R: DeserializeOwned>(&self, method: &str, path: &str, body: String) -> Result<R> {
        let uri = format!("{}{path}", self.run);
        let request = http::Request::builder().method(method).uri(&uri);
        let answer = self.client.request(request.body(body.into())?).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        ensure!(status == 200, "{method} {uri}: {status} {body:?}");
        serde_json::from_slice(&body).with_context(|| format!("{method} {uri}"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_component_does_what_every_case_says() -> Result<()> {
    let _own_judge;
    let judge = match std::env::var(JUDGE) {
        Ok(judge) => judge,
        Err(_) => {
            let judge = Judge::start(table(), 0).await?;
            let base_url = judge.base_url();
            _own_judge = judge;
            base_url
        }
    };
    let name = format!("rust-{}", std::process::id());
    let plugin = Plugin::load_with(&component_path(), &loading())?;
    let summary = Runner::new(plugin, &[], &judge, &name)?
        .play(|_| true)
        .await?;
    assert_eq!(summary.not_judged, [""; 0]);
    assert_eq!(summary.judged, summary.cases);
    assert!(summary.failed.is_empty(), "{}", summary.told());
    Ok(())
}

fn names_of<'a>(cases: &'a [Case], name: impl Fn(&'a Case) -> &'a str) -> BTreeSet<&'a str> {
    cases.iter().map(name).collect()
}

#[test]
fn every_function_of_the_interface_occurs_in_the_table() {
    let table = table();
    let operations = names_of(&table.cases, |case| case.operation.as_str());
    let functions = functions::exported_functions().unwrap();
    let functions: BTreeSet<_> = functions
        .iter()
        .map(|function| function.name.as_str())
        .collect();
    assert_eq!(operations, functions);
}

#[test]
fn every_error_that_the_component_returns_is_expected_somewhere_in_the_table() {
    let mut resolve = Resolve::new();
    let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
    resolve.push_dir(wit).unwrap();
    let mut types = resolve.types.iter().map(|(_, definition)| definition);
    let error = types.find(|definition| definition.name.as_deref() == Some("request-error"));
    let TypeDefKind::Variant(error) = &error.expect("a type request-error").kind else {
        panic!("request-error is not a variant")
    };
    // Only hosts make it.
    let returned = error
        .cases
        .iter()
        .filter(|case| case.name != "execution-failed");
    let returned: BTreeSet<_> = returned.map(|case| case.name.replace('-', "_")).collect();
    let table = table();
    let errors = table.cases.iter().filter_map(|case| match &case.outcome {
        ExpectedOutcome::Error(error) => error.lone_member().map(str::to_owned),
        ExpectedOutcome::Value(_) | ExpectedOutcome::Accounted => None,
    });
    assert_eq!(errors.collect::<BTreeSet<_>>(), returned);
}

#[test]
fn every_setting_occurs_in_the_table() {
    let table = table();
    let set = table.cases.iter().flat_map(|case| case.settings.keys());
    let set: BTreeSet<_> = set.map(String::as_str).collect();
    for name in NAMES {
        assert!(set.contains(name), "{name}");
    }
}

/// Mutants of the component, each with a case that it fails.
const CAUGHT: &str = r#"
replays-unknown-outcome: a create whose connection was closed is not sent again
follows-redirects: a redirect of a create is a refusal, and not followed
ignores-retry-after: a pause that does not fit before the deadline is not begun
loses-order: the results of a batch are in the order of its requests, and one failure hides no other
mistakes-ids: a docket of version 1 is created
hides-attempts: there are four attempts where nothing else is set
calls-silence-harmless: a create that got no answer in time is not sent again
mistakes-readiness: a docket that is completed is waited for once
copies-token: a docket of version 1 is created
never-retries: a read is repeated after a 503
retries-despite-never: CREATE_RETRY=never: a create is not repeated after a rate limit
forgets-creations: a conflict may have created
forgets-duplicates: a create that succeeds after a 503 may be a duplicate
confirms-everything: a delivery is contradicted by a docket with another context
leaks-escaped-token: a token that the service echoes is masked
"#;

mod once {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn components_that_misbehave_fail_cases_that_the_same_one_passes_when_it_does_not()
    -> Result<()> {
        let judge = Judge::start(table(), 0).await?;
        let plugin = Plugin::load_with(&in_repository("target/mutants.wasm"), &loading())
            .context("the mutants, which `cargo xtask mutants` makes")?;
        let runner = |mutant: &str| {
            let environment = [("MUTANT", mutant)];
            Runner::new(plugin.clone(), &environment, &judge.base_url(), mutant)
        };
        let caught: Vec<_> = CAUGHT
            .lines()
            .filter_map(|line| line.split_once(": "))
            .collect();
        let cases: BTreeSet<_> = caught.iter().map(|(_, case)| *case).collect();
        let summary = runner("none")?
            .play(|task| cases.contains(&*task.name))
            .await?;
        assert_eq!(summary.told(), "");
        assert_eq!(summary.judged, cases.len());
        for (mutant, case) in caught {
            let summary = runner(mutant)?.play(|task| task.name == case).await?;
            assert_eq!(
                (summary.judged, summary.failed.len()),
                (1, 1),
                "{mutant} is not caught"
            );
        }
        Ok(())
    }
}
