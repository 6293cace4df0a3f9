//! The table of cases, run through the component in wasmtime over real connections. Clients in
//! other languages run the same table.

mod compiled;

use anyhow::{Context, Result};
use compiled::{component_path, in_repository, loading};
use futures_util::stream::{self, TryStreamExt};
use serde_json::json;
use std::collections::BTreeSet;
use voice_calling_cases::{Judge, Report, Table, Task};
use voice_calling_core::settings::NAMES;
use voice_calling_host::invoke::{NOT_RINGING, RINGING};
use voice_calling_host::{InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach};
use wit_parser::{Resolve, TypeDefKind};

/// The number of cases that are played concurrently.
const AT_ONCE: usize = 8;

/// The name of the run.
const RUN: &str = "rust";

fn table() -> Table {
    Table::read(&in_repository("host-test/cases/table")).expect("the table")
}

/// Plays a case with the component, and has the judge decide.
async fn play(judge: &Judge, plugin: &Plugin, outgoing: &Outgoing, task: Task) -> Result<()> {
    let outcome = match task.program {
        Some(_) => {
            json!({ "unsupported": "the caller of a component is its host, which decides what is lost with it" })
        }
        None if task.once.is_some() => {
            json!({ "unsupported": "a component has no ledger: its engine has a journal" })
        }
        None => {
            let settings = InstanceSettings::new(task.settings, outgoing.clone());
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
    let judged = judge.judge(RUN, task.id, report).await;
    judged.map(drop).map_err(anyhow::Error::msg)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_component_does_what_every_case_says() -> Result<()> {
    let judge = Judge::start(table(), 0).await?;
    let plugin = Plugin::load_with(&component_path(), &loading())?;
    let outgoing = Outgoing::over(PooledNetwork::new(Reach::Loopback)?);
    stream::iter(judge.tasks(RUN).into_iter().map(Ok))
        .try_for_each_concurrent(AT_ONCE, |task| play(&judge, &plugin, &outgoing, task))
        .await?;
    let summary = judge.summary(RUN);
    assert_eq!(summary.failed, []);
    assert_eq!(summary.not_judged, [""; 0]);
    assert_eq!(summary.judged, summary.cases);
    Ok(())
}

#[test]
fn every_function_of_the_interface_occurs_in_the_table_and_has_a_name_in_the_host() {
    let table = table();
    let operations = table.cases.iter().map(|case| case.operation.as_str());
    let operations: BTreeSet<_> = operations.collect();
    let mut resolve = Resolve::new();
    let (package, _) = resolve.push_dir(in_repository("wit")).unwrap();
    let interfaces = resolve.packages[package].interfaces.iter();
    let functions = interfaces.flat_map(|(interface, id)| {
        let functions = resolve.interfaces[*id].functions.keys();
        functions.map(move |function| format!("{interface}.{function}"))
    });
    let functions: BTreeSet<_> = functions.collect();
    assert_eq!(operations, functions.iter().map(String::as_str).collect());
    assert_eq!(operations, RINGING.into_iter().chain(NOT_RINGING).collect());
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
