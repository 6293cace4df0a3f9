//! The table of cases, run through the component in wasmtime over real connections. Clients in
//! other languages run the same table.

use anyhow::{Context, Result};
use futures_util::stream::{self, TryStreamExt};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use voice_calling_cases::{Json, Judge, Report, Table, Task};
use voice_calling_check::operation::Operation;
use voice_calling_core::settings::NAMES;
use voice_calling_core::types::FailureKind;
use voice_calling_host::{InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach, Trust};
use voice_calling_test_guests::{component, in_repository, load};
use wit_parser::Resolve;

/// The number of cases that are played concurrently.
const AT_ONCE: usize = 8;

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
                Ok(value) => json!({ "value": with_failures(value) }),
                Err(error) => json!({ "error": failure(error) }),
            }
        }
    };
    let report: Report = serde_json::from_str(&outcome.to_string())?;
    // The summary contains the differences of all cases.
    let judged = judge.judge(RUN, task.id, report).await;
    judged.map(drop).map_err(anyhow::Error::msg)
}

/// Returns the failure of an error, which a case has in place of it.
fn failure(mut error: Value) -> Value {
    let (transient, permanent) = (error["transient"].take(), error["permanent"].take());
    if permanent.is_null() {
        transient
    } else {
        permanent
    }
}

/// Returns a value with the failures of a batch in place of its errors.
fn with_failures(mut value: Value) -> Value {
    for result in value.as_array_mut().into_iter().flatten() {
        if let Some(error) = result.get_mut("error") {
            *error = failure(error.take());
        }
    }
    value
}

#[tokio::test(flavor = "multi_thread")]
async fn the_component_does_what_every_case_says() -> Result<()> {
    let judge = Judge::start(table(), 0).await?;
    let plugin = load(component());
    let outgoing = Outgoing::over(PooledNetwork::new(&Trust::default(), Reach::Loopback)?);
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
fn every_function_of_the_interface_occurs_in_the_table_and_can_be_invoked() {
    let table = table();
    let operations = table.cases.iter().map(|case| case.operation.as_str());
    let operations: BTreeSet<_> = operations.map(str::to_owned).collect();
    let mut resolve = Resolve::new();
    resolve.push_dir(in_repository("wit/types")).unwrap();
    let (package, _) = resolve.push_dir(in_repository("wit")).unwrap();
    let interfaces = resolve.packages[package].interfaces.iter();
    let functions = interfaces.flat_map(|(interface, id)| {
        let functions = resolve.interfaces[*id].functions.keys();
        functions.map(move |function| format!("{interface}.{function}"))
    });
    let functions: BTreeSet<_> = functions.collect();
    assert_eq!(operations, functions);
    let silent = "webhooks.parse-docket-completed".to_owned();
    let sending = Operation::ALL.iter().map(ToString::to_string);
    assert_eq!(operations, sending.chain([silent]).collect());
}

#[test]
fn every_kind_of_failure_is_expected_somewhere_in_the_table() {
    let table = table();
    let values = table.cases.iter().filter_map(|case| case.value.as_ref());
    let results = values.flat_map(|value| match value {
        Json::Array(results) => results.as_slice(),
        _ => &[],
    });
    let errors = results.filter_map(|result| result.get("error"));
    let errors = errors.chain(table.cases.iter().filter_map(|case| case.error.as_ref()));
    let kinds = errors.filter_map(|failure| failure.get("kind")?.as_text());
    let all = FailureKind::ALL.map(FailureKind::name);
    assert_eq!(kinds.collect::<BTreeSet<_>>(), BTreeSet::from(all));
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
