//! The table of cases, run through the component in wasmtime over real connections. Clients in
//! other languages run the same table.

mod compiled;

use anyhow::{Context, Result};
use compiled::{component_path, in_repository, loading};
use futures_util::stream::{self, TryStreamExt};
use serde_json::json;
use std::collections::BTreeSet;
use voice_calling_cases::{Case, Failed, Judge, Report, Summary, Table, Task};
use voice_calling_core::settings::NAMES;
use voice_calling_host::invoke::functions;
use voice_calling_host::{InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach};
use wit_parser::{Resolve, TypeDefKind};

/// The number of cases that are played concurrently.
const AT_ONCE: usize = 8;

fn table() -> Table {
    Table::read(&in_repository("host-test/cases/table")).expect("the table")
}

/// Returns every difference of every case.
fn describe(summary: &Summary) -> String {
    let case = |failed: &Failed| {
        let differences = failed.differences.join("\n    ");
        format!("\n{}: {}\n    {differences}", failed.file, failed.name)
    };
    summary.failed.iter().map(case).collect()
}

/// Runs the cases of the table that are `wanted` with one component, which gets these variables in
/// addition to the settings of a case.
async fn play(
    judge: &Judge,
    run: &str,
    plugin: &Plugin,
    environment: &[(&str, &str)],
    wanted: impl Fn(&Task) -> bool,
) -> Result<Summary> {
    let outgoing = Outgoing::loopback(PooledNetwork::new(Reach::Loopback)?);
    let own = environment.iter();
    let own: Vec<_> = own
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    let tasks = judge.tasks(run).into_iter().filter(wanted).map(Ok);
    let play_one = async |task: Task| -> Result<()> {
        let outcome = match task.program {
            Some(_) => {
                json!({ "unsupported": "the caller of a component is its host, which decides what is lost with it" })
            }
            None if task.once.is_some() => {
                json!({ "unsupported": "a component has no ledger: its engine has a journal" })
            }
            None => {
                let environment = own.iter().cloned().chain(task.settings);
                let settings = InstanceSettings::new(environment, outgoing.clone());
                let mut instance = plugin.instantiate(settings).await?;
                let answer = instance.invoke(&task.operation, &task.arguments).await;
                match answer.with_context(|| task.name.clone())? {
                    Ok(value) => json!({ "value": value }),
                    Err(error) => json!({ "error": error }),
                }
            }
        };
        let report: Report = serde_json::from_str(&outcome.to_string())?;
        // The summary contains the differences of all cases.
        let judged = judge.judge(run, task.id, report).await;
        judged.map(drop).map_err(anyhow::Error::msg)
    };
    stream::iter(tasks)
        .try_for_each_concurrent(AT_ONCE, play_one)
        .await?;
    Ok(judge.summary(run))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_component_does_what_every_case_says() -> Result<()> {
    let judge = Judge::start(table(), 0).await?;
    let plugin = Plugin::load_with(&component_path(), &loading())?;
    let summary = play(&judge, "rust", &plugin, &[], |_| true).await?;
    assert_eq!(summary.not_judged, [""; 0]);
    assert_eq!(summary.judged, summary.cases);
    assert!(summary.failed.is_empty(), "{}", describe(&summary));
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
    // Only hosts return this case.
    let returned = error
        .cases
        .iter()
        .filter(|case| case.name != "execution-failed");
    let returned: BTreeSet<_> = returned.map(|case| case.name.replace('-', "_")).collect();
    let table = table();
    let errors = table.cases.iter().filter_map(|case| {
        let (name, _) = case.error.as_ref()?.lone_member()?;
        Some(name.to_owned())
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
        let caught: Vec<_> = CAUGHT
            .lines()
            .filter_map(|line| line.split_once(": "))
            .collect();
        let cases: BTreeSet<_> = caught.iter().map(|(_, case)| *case).collect();
        let wanted = |task: &Task| cases.contains(&*task.name);
        let summary = play(&judge, "none", &plugin, &[("MUTANT", "none")], wanted).await?;
        assert_eq!(describe(&summary), "");
        assert_eq!(summary.judged, cases.len());
        for (mutant, case) in caught {
            let environment = [("MUTANT", mutant)];
            let summary = play(&judge, mutant, &plugin, &environment, |task| {
                task.name == case
            });
            let summary = summary.await?;
            assert_eq!(
                (summary.judged, summary.failed.len()),
                (1, 1),
                "{mutant} is not caught"
            );
        }
        Ok(())
    }
}
