//! The commands of the pages, unchanged.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use obelisk_harness::{Engine, Setup, Site, shipped_folder};

use crate::outcome::NUMBER;

/// The pages that have commands, in the order in which they are read.
const PAGES: [&str; 3] = ["README.md", "operations.md", "campaigns.md"];

/// Returns the content of the pages' shell blocks.
fn commands() -> Result<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut commands = String::new();
    for page in PAGES {
        let page = fs::read_to_string(folder.join(page))?;
        let blocks = page.split("```sh\n").skip(1);
        commands.extend(blocks.filter_map(|rest| rest.split("```").next()));
    }
    Ok(commands)
}

/// Writes a program `obelisk` that runs the engine, with requests directed to the test's node.
fn stand_in(engine: &Engine, node: SocketAddr, folder: &Path) -> Result<()> {
    let script = format!(
        r#"#!/bin/sh
case "$1" in
    execution) exec "{engine}" "$@" --api-url http://{node} ;;
    *) exec "{engine}" "$@" ;;
esac
"#,
        engine = engine.program.display(),
    );
    let program = folder.join("obelisk");
    fs::write(&program, script)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_pages_start_the_engine_and_run_a_docket() -> Result<()> {
    // The commands start the node, so nothing can be delivered before.
    let site = Site::prepare(Setup::lively()).await?;
    let (environment, api) = site.environment();
    let folder = tempfile::tempdir()?;
    stand_in(&Engine::from_environment()?, api.address(), folder.path())?;
    let commands = commands()?;
    for needed in [
        "server verify",
        "server run",
        "execution submit",
        "execution list",
        "run-campaign",
        "$url/pause",
    ] {
        ensure!(commands.contains(needed), "no page mentions `{needed}`");
    }
    let mut variables = environment.iter();
    let webhook = variables.find(|(name, _)| name == "OBELISK__external__listening_addr");
    let (_, webhook) = webhook.context("no address of the webhook")?;
    let commands = commands.replace("127.0.0.1:9090", webhook);
    // Stops the background job at the end.
    let commands = format!("trap 'kill %1; wait %1' EXIT\n{commands}");
    let path = std::env::var("PATH").context("PATH")?;
    let mut shell = Command::new("timeout");
    shell
        .args(["1800", "bash", "-euo", "pipefail", "-c", &commands])
        .current_dir(shipped_folder()?)
        .envs(environment)
        // It would be fetched from a registry.
        .env("OBELISK__webui__enabled", "false")
        .env("OBELISK__database__sqlite__directory", folder.path())
        .env("PATH", format!("{}:{path}", folder.path().display()));
    let output = tokio::task::spawn_blocking(move || shell.output()).await??;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{printed}\n{errors}");
    for expected in ["INTERESTED", r#""counts":{"#] {
        ensure!(
            printed.contains(expected),
            "no {expected}: {printed}\n{errors}"
        );
    }
    // The campaign may have begun to call, depending on the hour.
    assert_eq!(site.mock.phones_rung()[0], NUMBER);
    ensure!(api.deployment_id().await.is_err(), "the engine still runs");
    Ok(())
}
