//! What the harness promises, on the real engine. The variable `OBELISK` names its program, and
//! the component has been built (`cargo xtask build`).

use std::env;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use obelisk_harness::{
    Database, Ending, Engine, Node, NodeSettings, Postgres, Refusal, Submitted, execution_id,
    free_port,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A pure function of the component: it needs no service.
const PARSE: &str = "voice-calling:client/webhooks@0.2.0.parse-docket-completed";

const LIST_AGENTS: &str = "voice-calling:client/agents@0.2.0.list-agents";

const WAIT: &str = "voice-calling:waits/docket@0.2.0.wait";

const LIMIT: Duration = Duration::from_secs(30);

const ON_SQLITE: &str = r#"
obelisk-version = "=0.41.4"
[[outbound_http.allowed_host]]
pattern = "${SERVICE:-http://127.0.0.1:9}"
methods = ["GET"]
"#;

const ON_POSTGRES: &str = r#"
obelisk-version = "=0.41.4"
[database.postgres]
host = "${POSTGRES_HOST}"
user = "${POSTGRES_USER}"
password = "${POSTGRES_PASSWORD}"
db_name = "${POSTGRES_DATABASE}"
provision_policy = "auto"
"#;

/// A folder with what nodes are started from.
struct Stage {
    folder: TempDir,
    engine: Engine,
}

impl Stage {
    fn new(server_config: &str) -> Result<Self> {
        let engine = Engine::from_environment()?;
        let folder = tempfile::tempdir()?;
        fs::copy(component()?, folder.path().join("voice-calling.wasm"))?;
        let deployment = format!(
            r#"
            [[activity_wasm]]
            name = "voice_calling"
            location = "voice-calling.wasm"
            exec.lock_expiry.seconds = 10
            max_retries = 0
            env_vars = [
                {{ key = "VOICE_CALLING_BASE_URL", value = "${{SERVICE:-http://127.0.0.1:9}}" }},
                {{ key = "VOICE_CALLING_API_TOKEN", value = "no-secret" }},
            ]
            [[activity_wasm.allowed_host]]
            pattern = "${{SERVICE:-http://127.0.0.1:9}}"
            methods = ["GET"]
            [[activity_stub]]
            name = "docket_completion"
            ffqn = "{WAIT}"
            params = [{{ name = "id", type = "string" }}]
            return_type = "result<string, string>"
            "#,
        );
        fs::write(folder.path().join("server.toml"), server_config)?;
        fs::write(folder.path().join("deployment.toml"), deployment)?;
        Ok(Self { folder, engine })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A node in the folder `name`, without a deployment.
    fn settings(&self, name: &str) -> Result<NodeSettings> {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("obelisk-cache");
        NodeSettings::new(self.path(name), self.path("server.toml"), cache)
    }

    fn deploying(&self, name: &str) -> Result<NodeSettings> {
        let mut settings = self.settings(name)?;
        settings.deployment = Some(self.path("deployment.toml"));
        Ok(settings)
    }
}

/// The one that `HOST_TEST_COMPONENT` names, or that `cargo xtask build` makes.
fn component() -> Result<PathBuf> {
    let built = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../target/voice-calling.wasm"
    );
    let path = env::var_os("HOST_TEST_COMPONENT").unwrap_or_else(|| built.into());
    fs::canonicalize(&path)
        .with_context(|| format!("there is no component at {path:?}: run `cargo xtask build`"))
}

/// The body of a delivery, `{}`, without a docket: the function returns none.
fn two_braces() -> Value {
    json!(["{}"])
}

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

fn is_alive(process_id: u32) -> bool {
    Path::new(&format!("/proc/{process_id}")).exists()
}

#[tokio::test]
async fn a_killed_node_knows_its_executions_when_it_is_started_again() -> Result<()> {
    let stage = Stage::new(ON_SQLITE)?;
    let settings = stage.deploying("node")?;
    let mut node = Node::start(&stage.engine, settings.clone()).await?;
    let id = execution_id();
    let submitted = node.api().submit(&id, PARSE, &two_braces()).await?;
    assert_eq!(submitted, Submitted::Created);
    let ending = node.api().wait_for_result(&id, LIMIT).await?;
    assert_eq!(ending, Ending::Ok(Value::Null));
    // The body `{`, which the function refuses.
    let broken = execution_id();
    node.api().submit(&broken, PARSE, &json!(["{"])).await?;
    let error = node.api().wait_for_result(&broken, LIMIT).await?;
    assert!(
        matches!(&error, Ending::Err(error) if error["permanent_invalid_input"].is_object()),
        "{error:?}"
    );
    assert!(node.is_running()?);

    node.kill()?;
    assert!(!node.is_running()?);
    assert!(!is_alive(node.process_id()));
    assert!(node.api().status(&id).await.is_err());

    let node = Node::start(&stage.engine, settings.clone()).await?;
    assert_eq!(node.api().result(&id).await?, Some(ending));
    assert_eq!(node.api().result(&broken).await?, Some(error));
    assert_eq!(node.api().address().port(), settings.api_port);
    let ready = node.log_tail(1000).matches("is ready").count();
    assert_eq!(ready, 2, "the log is appended to");
    Ok(())
}

#[tokio::test]
async fn a_submission_can_be_repeated_but_not_changed() -> Result<()> {
    let stage = Stage::new(ON_SQLITE)?;
    let node = Node::start(&stage.engine, stage.deploying("node")?).await?;
    let api = node.api();
    let id = execution_id();
    assert_eq!(
        api.submit(&id, PARSE, &two_braces()).await?,
        Submitted::Created
    );
    assert_eq!(
        api.submit(&id, PARSE, &two_braces()).await?,
        Submitted::Same
    );
    let other = api.submit(&id, PARSE, &json!(["[]"])).await;
    assert_eq!(refused(other), 409);
    let unknown = api.submit(&execution_id(), "a:b/c.d", &json!([])).await;
    assert_eq!(refused(unknown), 404);
    let untyped = api.submit(&execution_id(), PARSE, &json!([7])).await;
    assert_eq!(refused(untyped), 400);
    Ok(())
}

fn refused<T: std::fmt::Debug>(result: Result<T>) -> u16 {
    let error = result.unwrap_err();
    let refusal = error.downcast_ref::<Refusal>();
    refusal.unwrap_or_else(|| panic!("{error:#}")).status
}

#[tokio::test]
async fn an_execution_is_seen_from_all_sides() -> Result<()> {
    let stage = Stage::new(ON_SQLITE)?;
    let node = Node::start(&stage.engine, stage.deploying("node")?).await?;
    let api = node.api();
    let id = execution_id();
    assert_eq!(api.status(&id).await?, None);
    assert_eq!(refused(api.result(&id).await), 404);
    assert_eq!(refused(api.wait_for_result(&id, LIMIT).await), 404);

    api.submit(&id, PARSE, &two_braces()).await?;
    let status = api.wait_until_status(&id, "finished", LIMIT).await?;
    assert_eq!(status.raw["ffqn"], PARSE);
    let never = api
        .wait_until_status(&id, "locked", LIMIT)
        .await
        .unwrap_err();
    assert!(never.to_string().contains("has ended"), "{never}");

    let events = api.events(&id).await?;
    let has = |name: &str| {
        events
            .iter()
            .any(|event| event["event"].get(name).is_some())
    };
    assert!(
        has("created") && has("locked") && has("finished"),
        "{events:#?}"
    );
    assert_eq!(api.responses(&id).await?, [Value::Null; 0]);
    assert_eq!(api.logs(&id).await?, [Value::Null; 0]);
    assert_eq!(refused(api.cancel_activity(&id).await), 409);

    let listed = |list: Vec<Value>| list.iter().any(|execution| execution["execution_id"] == id);
    let function = "voice-calling:client/webhooks";
    assert!(listed(api.list(Some(function), None, false).await?));
    assert!(listed(api.list(None, Some(&id), false).await?));
    assert!(!listed(
        api.list(Some("voice-calling:client/calls"), None, false)
            .await?
    ));
    assert!(!listed(api.list(None, None, true).await?));
    Ok(())
}

#[tokio::test]
async fn an_execution_that_goes_on_is_not_paused_and_is_cancelled() -> Result<()> {
    // Takes connections and never answers, so that who asks it waits.
    let silent_service = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", silent_service.local_addr()?);
    let stage = Stage::new(ON_SQLITE)?;
    let mut settings = stage.deploying("node")?;
    settings.variables = vec![("SERVICE".to_owned(), url)];
    let node = Node::start(&stage.engine, settings).await?;
    let api = node.api();
    let id = execution_id();
    api.submit(&id, LIST_AGENTS, &json!(["organization", null]))
        .await?;
    api.wait_until_status(&id, "locked", LIMIT).await?;
    assert_eq!(api.result(&id).await?, None);
    let late = api.wait_for_result(&id, Duration::from_millis(100)).await;
    let late = late.unwrap_err().to_string();
    assert!(
        late.contains(r#""status":"locked""#) && late.contains("created"),
        "{late}"
    );

    assert_eq!(refused(api.pause(&id).await), 422);
    api.cancel_activity(&id).await?;
    let ending = api.wait_for_result(&id, LIMIT).await?;
    let Ending::ExecutionFailure(failure) = ending else {
        panic!("{ending:?}");
    };
    assert_eq!(failure["kind"], "cancelled");
    Ok(())
}

#[tokio::test]
async fn two_nodes_share_a_database() -> Result<()> {
    let postgres = Postgres::start()?;
    let stage = Stage::new(ON_POSTGRES)?;
    let mut first = stage.deploying("first")?;
    first.database = Database::AsConfigured;
    first.variables = postgres.variables("obelisk");
    let mut second = stage.settings("second")?;
    second.database = Database::AsConfigured;
    second.variables = first.variables.clone();
    let first = Node::start(&stage.engine, first).await?;
    let second = Node::start(&stage.engine, second).await?;
    assert_eq!(
        first.api().deployment_id().await?,
        second.api().deployment_id().await?
    );

    for (here, there) in [(&first, &second), (&second, &first)] {
        let id = execution_id();
        here.api().submit(&id, PARSE, &two_braces()).await?;
        let ending = there.api().wait_for_result(&id, LIMIT).await?;
        assert_eq!(ending.ok()?, Value::Null);
    }
    Ok(())
}

#[tokio::test]
async fn what_is_dropped_leaves_no_process() -> Result<()> {
    let postgres = Postgres::start()?;
    let socket_folder = postgres.host().to_owned();
    let stage = Stage::new(ON_SQLITE)?;
    let node = Node::start(&stage.engine, stage.settings("node")?).await?;
    let server = postgres.process_id();
    let process = node.process_id();
    let folder = stage.folder.path().to_str().context("no UTF-8")?.to_owned();
    assert!(is_alive(server) && is_alive(process));
    assert_eq!(processes_with(&folder)?.len(), 1);

    drop(node);
    drop(postgres);
    assert!(!is_alive(server) && !is_alive(process));
    assert_eq!(processes_with(&folder)?, [""; 0]);
    assert!(!socket_folder.exists());
    Ok(())
}

#[tokio::test]
async fn a_node_ends_when_it_is_asked_to() -> Result<()> {
    let stage = Stage::new(ON_SQLITE)?;
    let mut node = Node::start(&stage.engine, stage.deploying("node")?).await?;
    let took = node.terminate(LIMIT).await?;
    assert!(took < LIMIT);
    assert!(!node.is_running()?);
    Ok(())
}

/// Set in the process that is to be killed.
const HOLD_IN: &str = "OBELISK_HARNESS_HOLD_IN";

/// The test starts itself in a process of its own, where it holds a node and a database for
/// ever.
#[tokio::test]
async fn a_killed_test_leaves_no_process() -> Result<()> {
    if let Some(folder) = env::var_os(HOLD_IN) {
        let stage = Stage::new(ON_SQLITE)?;
        let mut settings = stage.settings("node")?;
        settings.folder = PathBuf::from(&folder).join("node");
        let _node = Node::start(&stage.engine, settings).await?;
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
        .args(["--exact", "a_killed_test_leaves_no_process"])
        .env(HOLD_IN, folder.path())
        // What the killed test made is then removed with the folder.
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .spawn()?;
    let ready = wait_until(|| folder.path().join("ready").exists()).await;
    test.kill()?;
    test.wait()?;
    ready.context("the test's test held no node")?;
    let folder = folder.path().to_str().context("no UTF-8")?;
    let none_left = || processes_with(folder).is_ok_and(|processes| processes.is_empty());
    wait_until(none_left)
        .await
        .context("a node outlived its test")
}

async fn wait_until(condition: impl Fn() -> bool) -> Result<()> {
    let begin = Instant::now();
    while !condition() {
        ensure!(begin.elapsed() < LIMIT, "not within {LIMIT:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_node_that_cannot_start_says_why() -> Result<()> {
    let stage = Stage::new("no-such-key = 1")?;
    let error = Node::start(&stage.engine, stage.settings("node")?).await;
    let error = error.err().context("it started")?.to_string();
    assert!(error.contains("ended while it started"), "{error}");
    assert!(error.contains("no-such-key"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_port_that_is_taken_is_refused() -> Result<()> {
    let stage = Stage::new(ON_SQLITE)?;
    let mut settings = stage.settings("node")?;
    settings.api_port = free_port()?;
    let _taken = TcpListener::bind(("127.0.0.1", settings.api_port))?;
    let error = Node::start(&stage.engine, settings).await;
    let error = error.err().context("it started")?.to_string();
    assert!(error.contains("already in use"), "{error}");
    Ok(())
}

#[test]
fn a_deployment_is_verified() -> Result<()> {
    let stage = Stage::new(ON_SQLITE)?;
    let (server, deployment) = (stage.path("server.toml"), stage.path("deployment.toml"));
    stage.engine.verify(&server, &deployment, &[])?;
    fs::write(&deployment, "[[no_such_component]]")?;
    let error = stage.engine.verify(&server, &deployment, &[]).unwrap_err();
    assert!(error.to_string().contains("no_such_component"), "{error}");
    Ok(())
}

#[test]
fn files_are_generated() -> Result<()> {
    let stage = Stage::new(ON_SQLITE)?;
    let into = stage.path("wit");
    stage.engine.generate(["wit-support", "workflow"], &into)?;
    assert!(fs::read_dir(&into)?.count() > 0);
    let error = stage.engine.generate(["no-such-thing"], &into).unwrap_err();
    assert!(error.to_string().contains("no-such-thing"), "{error}");
    Ok(())
}
