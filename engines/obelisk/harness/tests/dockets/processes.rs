//! No process outlives what holds it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result};
use obelisk_harness::{Engine, Node, NodeSettings, Postgres, Setup, Site};

use crate::outcome::until;

/// Every process whose command line has `text` in it.
fn processes_with(text: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let command_line = fs::read(entry?.path().join("cmdline")).unwrap_or_default();
        let command_line = String::from_utf8_lossy(&command_line).replace('\0', " ");
        if command_line.contains(text) {
            found.push(command_line);
        }
    }
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_leaves_no_process() -> Result<()> {
    let postgres = Postgres::start()?;
    let site = Site::start(Setup::default()).await?;
    let folders = [postgres.folder(), site.folder()].map(Path::to_path_buf);
    let folders = folders.map(|it| it.display().to_string());
    for folder in &folders {
        assert!(!processes_with(folder)?.is_empty(), "none in {folder}");
    }
    drop(site);
    drop(postgres);
    for folder in &folders {
        assert_eq!(processes_with(folder)?, [""; 0]);
        assert!(!Path::new(folder).exists(), "{folder}");
    }
    Ok(())
}

/// Set in the process that is to be killed.
const HOLD_IN: &str = "OBELISK_HARNESS_HOLD_IN";

/// The test starts itself in a process of its own, where it holds a node and a database for
/// ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_test_leaves_no_process() -> Result<()> {
    if let Some(folder) = env::var_os(HOLD_IN) {
        let _site = Site::start(Setup::default()).await?;
        let _postgres = Postgres::start()?;
        fs::write(PathBuf::from(folder).join("ready"), "")?;
        std::future::pending::<()>().await;
    }
    // Or the other process would fail where nobody sees it.
    Engine::from_environment()?;
    let folder = tempfile::tempdir()?;
    // PostgreSQL's user has to enter it, too.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    let mut test = Command::new(env::current_exe()?)
        .args(["--exact", "processes::a_killed_test_leaves_no_process"])
        .env(HOLD_IN, folder.path())
        // What the killed test made is then removed with the folder.
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .spawn()?;
    let ready = until("the test's test holds a node", async || {
        Ok(folder.path().join("ready").exists().then_some(()))
    })
    .await;
    test.kill()?;
    test.wait()?;
    ready?;
    let folder = folder.path().to_str().context("no UTF-8")?;
    until("no process is left", async || {
        Ok(processes_with(folder)?.is_empty().then_some(()))
    })
    .await
}

#[tokio::test]
async fn a_node_that_cannot_start_says_why() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = folder.path().join("server.toml");
    fs::write(&server, "no-such-key = 1")?;
    let (node, cache) = (folder.path().join("node"), folder.path().join("cache"));
    let settings = NodeSettings::new(node, server, cache)?;
    let error = Node::start(&Engine::from_environment()?, settings).await;
    let error = error.err().context("it started")?.to_string();
    assert!(error.contains("ended while it started"), "{error}");
    assert!(error.contains("no-such-key"), "{error}");
    Ok(())
}
