//! A complete installation: the mock service, a node with the deployment that users copy, and the
//! webhook between them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use http::header::AUTHORIZATION;
use http::{Method, Request};
use serde_json::{Value, json};
use tempfile::TempDir;
use voice_calling_mock as mock;
use voice_calling_mock::{Endpoint, MockService, ReceivedRequest};
use voice_calling_test_postgres::{Postgres, USER};

use crate::api::{Answer, Api, Ending, execution_id};
use crate::engine::Engine;
use crate::node::{Node, Settings};

/// A time limit longer than any operation takes on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(600);

/// The variable with the path of the folder that users copy.
const FOLDER_VARIABLE: &str = "OBELISK_FOLDER";

const RUN_DOCKET: &str = "voice-calling:workflows/docket@0.2.0.run-docket";
const RUN_CAMPAIGN: &str = "voice-calling:workflows/campaign@0.2.0.run-campaign";

/// The activity that makes a phone ring, as named in the engine's lists.
const CREATE: &str = "voice-calling:once/dockets@0.2.0.create-docket-v2";

const DELIVER: &str = "voice-calling:workflows/deliveries@0.2.0.deliver";

/// The stub of the questions to people.
const DECISION: &str = "voice-calling:waits/person@0.2.0.decision";

/// The token of the campaigns' endpoint.
const OPERATOR_TOKEN: &str = "loopbackoperator0123456789";

/// The secret of the webhook.
const SECRET: &str = "loopbacksecret0123456789";

/// The folder of the database in that of the server's file.
const DATABASE: &str = "data";

/// The variable with the URL of the engine's API.
pub const API_URL: &str = "OBELISK_API_URL";

/// The duration of calls that a test ends itself, and of a delay that ends with them.
pub const CALL: Duration = Duration::from_secs(3_600);

/// The agent that the mock knows.
const AGENT_ID: i64 = 7;

/// The differences between a site and an installation as it is copied.
#[derive(Default)]
pub struct Setup {
    pub mock: mock::Options,
    /// Whether the mock delivers no completions.
    pub is_silent: bool,
    /// Whether SQLite waits for the disk. The tests end processes, not the machine: no write is lost
    /// without that, and a slow disk decides nothing.
    pub is_synchronous: bool,
    /// Replacements in the deployment, each of a text that occurs once.
    pub changes: Vec<(String, String)>,
    /// The variables of `server-postgres.toml`, which [locate the database](on_postgres); `None` is
    /// SQLite.
    pub postgres: Option<Vec<(String, String)>>,
    /// Additional variables for the engine.
    pub variables: Vec<(String, String)>,
}

/// Returns the variables of `server-postgres.toml` for a database (a lower-case word), which the
/// engine creates.
pub fn on_postgres(postgres: &Postgres, database: &str) -> Vec<(String, String)> {
    let host = postgres.folder().to_string_lossy();
    let variables = [
        ("POSTGRES_HOST", &*host),
        ("POSTGRES_USER", USER),
        // The engine requires a password, and the server never asks for it.
        ("POSTGRES_PASSWORD", "unused"),
        ("POSTGRES_DATABASE", database),
    ];
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    variables.map(owned).into()
}

impl Setup {
    /// Returns a setup with a service whose calls progress quickly and by themselves.
    pub fn lively() -> Self {
        Self::default().with_pace(Duration::from_millis(100))
    }

    /// Returns a setup that survives crashes within seconds: calls have 8 of them, and the locks
    /// exceed that as those of the deployment do.
    pub fn hasty() -> Self {
        Self::default()
            .with_change("expiry.seconds = 40", "expiry.seconds = 16")
            .with_change("expiry.seconds = 35", "expiry.seconds = 9")
            .with_variable("VOICE_CALLING_DEADLINE_MS", "8000")
    }

    /// Returns a setup in which a creation waits for its answer until the deadline, 30 s: a test has
    /// that time before it lets the answer go.
    pub fn patient() -> Self {
        let shipped = r#"{ key = "VOICE_CALLING_CREATE_RETRY", value = "not-sent" },"#;
        let added = r#"{ key = "VOICE_CALLING_ATTEMPT_TIMEOUT_MS", value = "30000" },"#;
        Self::default().with_change(shipped, &format!("{shipped}{added}"))
    }

    /// Makes the service's calls progress by themselves, a step in each `interval`. It repeats a
    /// completion that the engine is too busy to take.
    pub fn with_pace(mut self, interval: Duration) -> Self {
        self.mock.pace = mock::Pace::Every(interval);
        self.mock.webhook_retries = 10;
        self
    }

    /// Makes calls ring until [`Site::end_calls`].
    pub fn with_calls_held(self) -> Self {
        self.with_pace(CALL)
    }

    /// Makes the service deliver nothing.
    pub fn silent(mut self) -> Self {
        self.is_silent = true;
        self
    }

    /// Replaces a text in the deployment.
    pub fn with_change(mut self, shipped: &str, instead: &str) -> Self {
        self.changes.push(owned((shipped, instead)));
        self
    }

    /// Adds a variable for the engine.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push(owned((name, value)));
        self
    }
}

fn owned((a, b): (&str, &str)) -> (String, String) {
    (a.to_owned(), b.to_owned())
}

/// A running installation, which ends when it is dropped.
pub struct Site {
    /// The service.
    pub mock: MockService,
    engine: Engine,
    settings: Settings,
    node: Option<Node>,
    folder: TempDir,
}

impl Site {
    /// Starts a service and a node.
    pub async fn start(setup: Setup) -> Result<Self> {
        let mut site = Self::prepare(setup).await?;
        site.restart().await?;
        Ok(site)
    }

    /// Starts a service only; [`Self::restart`] starts the node.
    pub async fn prepare(setup: Setup) -> Result<Self> {
        let engine = Engine::from_environment()?;
        let shipped = shipped_folder()?;
        let folder = tempfile::tempdir()?;
        copy_files(&shipped, folder.path())?;
        let changed = |file, changes| changed(&shipped.join(file), changes, folder.path());
        let cache = shipped.with_file_name("obelisk-cache");
        let (server, deployment) = match setup.postgres {
            None => ("server.toml", "deployment.toml"),
            Some(_) => ("server-postgres.toml", "deployment-postgres.toml"),
        };
        let deployment = changed(deployment, &setup.changes)?;
        let server = changed(server, &[])?;
        let mut settings = Settings::new(folder.path().join("node"), &server, &cache)?;
        settings.deployment = Some(deployment);
        settings.variables = setup.postgres.unwrap_or_default();

        if server.ends_with("server.toml") && !setup.is_synchronous {
            let variable = ("OBELISK__database__sqlite__pragma__synchronous", "OFF");
            settings.variables.push(owned(variable));
        }

        let mut mock_options = setup.mock;
        let webhook = webhook_url(settings.webhook_port, SECRET);
        mock_options.webhook = (!setup.is_silent).then_some(webhook);
        let mock = MockService::start(mock_options).await?;
        let service = format!("http://{}", mock.address());
        for (name, value) in [
            (API_URL, format!("http://{}", settings.api_address())),
            ("VOICE_CALLING_API_TOKEN", mock.token()),
            ("VOICE_CALLING_BASE_URL", service.clone()),
            ("VOICE_CALLING_OPERATOR_TOKEN", OPERATOR_TOKEN.to_owned()),
            ("VOICE_CALLING_ORIGIN", service),
            ("VOICE_CALLING_WEBHOOK_SECRET", SECRET.to_owned()),
        ] {
            settings.variables.push((name.to_owned(), value));
        }
        settings.variables.extend(setup.variables);
        Ok(Self {
            mock,
            engine,
            settings,
            node: None,
            folder,
        })
    }

    /// Starts a node again after it was killed, on the same database and ports.
    pub async fn restart(&mut self) -> Result<()> {
        self.node = None;
        self.node = Some(Node::start(&self.engine, self.settings.clone()).await?);
        Ok(())
    }

    /// Kills the node as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.node()?.kill()
    }

    /// Returns the node, whether it runs or not.
    pub fn node(&mut self) -> Result<&mut Node> {
        self.node.as_mut().context("the node was not started")
    }

    /// Starts another node on the same PostgreSQL. It takes the deployment from the database and
    /// listens on its own ports.
    pub async fn another_node(&self) -> Result<Node> {
        let folder = self.folder.path().join("another-node");
        let mut settings =
            Settings::new(folder, &self.settings.server_config, &self.settings.cache)?;
        settings.variables.clone_from(&self.settings.variables);
        // Its own URL, as on another machine.
        settings.variables.retain(|(name, _)| name != API_URL);
        let api = format!("http://127.0.0.1:{}", settings.api_port);
        settings.variables.push((API_URL.to_owned(), api));
        Node::start(&self.engine, settings).await
    }

    /// Returns the folder of the node's database, if it is SQLite.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Copies the node's database, which is SQLite, into an empty folder. The node must be dead.
    pub fn copy_database(&self, to: &Path) -> Result<()> {
        copy_files(&self.folder.path().join(DATABASE), to)
    }

    /// Replaces the node's database with a copy. The node must be dead.
    pub fn restore_database(&self, copy: &Path) -> Result<()> {
        let database = self.folder.path().join(DATABASE);
        fs::remove_dir_all(&database)?;
        fs::create_dir(&database)?;
        copy_files(copy, &database)
    }

    /// Sets a variable of the engine for its next start.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        self.settings.variables.push(owned((name, value)));
    }

    /// Returns the environment of a node of this site, for a test that starts one itself, and the
    /// API that the node will have.
    pub fn environment(&self) -> (Vec<(String, String)>, Api) {
        let api = Api::at(self.settings.api_address());
        (self.settings.environment(), api)
    }

    /// Switches the node to another deployment, in which a text that occurs once is replaced.
    pub async fn apply_deployment(&self, old: &str, new: &str) -> Result<()> {
        let file = self.folder.path().join("deployment.toml");
        let file = changed(&file, &[owned((old, new))], self.folder.path())?;
        let (engine, api) = (self.engine.clone(), self.api().address());
        tokio::task::spawn_blocking(move || engine.apply(&file, api)).await?
    }

    /// Returns the engine's API.
    ///
    /// # Panics
    /// Panics if the node was never started.
    pub fn api(&self) -> &Api {
        self.node.as_ref().expect("a node that was started").api()
    }

    /// Runs a function under a new execution id, and returns that.
    pub async fn submit(&self, function: &str, params: Value) -> Result<String> {
        let id = execution_id();
        self.api().submit(&id, function, &params).await?;
        Ok(id)
    }

    /// Runs one docket. Returns the execution id.
    pub async fn run_docket(&self, number: &str, options: Value) -> Result<String> {
        self.submit(RUN_DOCKET, json!([docket_request(number), options]))
            .await
    }

    /// Runs one docket under an id that may be known already. Returns `true` if it is new.
    pub async fn submit_docket(&self, run: &str, number: &str, options: Value) -> Result<bool> {
        let params = json!([docket_request(number), options]);
        self.api().submit(run, RUN_DOCKET, &params).await
    }

    /// Runs a campaign: `contacts` as [`listed`] or `{ "source": "http://…" }`. Returns the execution
    /// id.
    pub async fn run_campaign(&self, contacts: &Value, options: &Value) -> Result<String> {
        self.submit(RUN_CAMPAIGN, json!([contacts, options])).await
    }

    /// Returns the progress of a campaign from its endpoint.
    pub async fn progress(&self, campaign: &str) -> Result<Value> {
        json(self.send(Method::GET, &format!("/{campaign}"), "").await?)
    }

    /// Gives an order through the endpoint (`pause`, `resume`, `stop`), and returns the progress.
    pub async fn order(&self, campaign: &str, order: &str) -> Result<Value> {
        let path = format!("/{campaign}/{order}");
        json(self.send(Method::POST, &path, "").await?)
    }

    /// Returns the results that the endpoint streams, in the order of the contacts.
    pub async fn results(&self, campaign: &str) -> Result<Vec<Value>> {
        let path = format!("/{campaign}/results.jsonl");
        let answer = self.send(Method::GET, &path, "").await?;
        ensure!(answer.status == 200, "no results: {answer:?}");
        let lines = answer.body.lines().map(serde_json::from_str);
        let mut lines: Vec<Value> = lines.collect::<Result<_, _>>()?;
        lines.sort_by_key(|line| line["index"].as_u64());
        Ok(lines)
    }

    /// Returns the results as a table.
    pub async fn results_csv(&self, campaign: &str) -> Result<String> {
        let path = format!("/{campaign}/results.csv");
        Ok(self.send(Method::GET, &path, "").await?.body)
    }

    /// Checks a campaign that has ended: no phone rang twice, and the results contain each contact,
    /// completed if its phone rang. Returns the numbers that rang.
    pub async fn check_each_once(
        &self,
        campaign: &str,
        numbers: &[String],
    ) -> Result<BTreeSet<String>> {
        let rung = self.rung_once()?;
        let results = self.results(campaign).await?;
        ensure!(results.len() == numbers.len(), "{} results", results.len());
        for (number, result) in numbers.iter().zip(&results) {
            let state = match rung.contains(number) {
                true => "completed",
                // Its request had not been sent when the engine died: a person found no docket.
                false => "given_up",
            };
            ensure!(
                result["to_phone_number"] == **number && result["state"] == state,
                "{number} should be {state}: {result}"
            );
        }
        Ok(rung)
    }

    /// Returns the numbers that rang, none of them twice.
    pub fn rung_once(&self) -> Result<BTreeSet<String>> {
        let rung = self.mock.phones_rung();
        let distinct: BTreeSet<_> = rung.iter().cloned().collect();
        ensure!(distinct.len() == rung.len(), "a phone rang twice: {rung:?}");
        Ok(distinct)
    }

    /// Returns the list of campaigns.
    pub async fn campaigns(&self) -> Result<Value> {
        json(self.send(Method::GET, "", "").await?)
    }

    /// Answers the question of a run of a campaign through the endpoint.
    pub async fn answer_question(
        &self,
        campaign: &str,
        run: &str,
        decision: &Value,
    ) -> Result<Value> {
        let path = format!("/{campaign}/questions/{run}");
        json(
            self.send(Method::POST, &path, &decision.to_string())
                .await?,
        )
    }

    /// Sends a request to the campaigns' endpoint. If the answer is 503, the engine was too busy: the
    /// request is repeated, as an operator would do.
    async fn send(&self, method: Method, path: &str, body: &str) -> Result<Answer> {
        let port = self.settings.webhook_port;
        until("an answer of the endpoint", async || {
            let request = Request::builder()
                .method(&method)
                .uri(format!("http://127.0.0.1:{port}/campaigns{path}"))
                .header(AUTHORIZATION, format!("Bearer {OPERATOR_TOKEN}"));
            let answer = self.api().exchange(request, body.to_owned()).await?;
            Ok((answer.status != 503).then_some(answer))
        })
        .await
    }

    /// Waits until a run or a campaign has ended, and returns how.
    pub async fn ending(&self, id: &str) -> Result<Ending> {
        self.api().wait_for_result(id, LIMIT).await
    }

    /// Answers questions to people until a campaign ends, and returns its summary.
    pub async fn summary(&self, campaign: &str) -> Result<Value> {
        let answer = async || self.answer_questions().await;
        self.summary_with(campaign, answer).await
    }

    /// Does some work again and again until a campaign ends, and returns its summary.
    pub async fn summary_with(
        &self,
        campaign: &str,
        mut work: impl AsyncFnMut() -> Result<()>,
    ) -> Result<Value> {
        let ending = until("the end of the campaign", async || {
            work().await?;
            self.api().result(campaign).await
        });
        match ending.await {
            Ok(ending) => ending.ok(),
            Err(error) => bail!("{error}: {}", self.progress(campaign).await?),
        }
    }

    /// Does what an operator does after a crash: answers the questions, and resumes the campaign if
    /// so many creations were lost at once that it has paused itself.
    pub async fn attend(&self, campaign: &str) -> Result<()> {
        self.answer_questions().await?;
        let progress = self.progress(campaign).await?;
        let error = progress["error"].as_str().unwrap_or_default();
        if progress["state"] == "paused" && error.contains("in a row had failed") {
            // It is refused while there are new questions, which are answered next.
            let _ = self.order(campaign, "resume").await;
        }
        Ok(())
    }

    /// Ends the calls that [ring until then](Setup::with_calls_held), and lets delayed answers go.
    pub fn end_calls(&self) -> Result<()> {
        // A docket has two.
        self.mock.advance(2 * CALL)
    }

    /// Posts to the webhook as the service would, or as a caller with another secret.
    pub async fn post(&self, secret: &str, body: impl Into<Vec<u8>>) -> Result<Answer> {
        let url = webhook_url(self.settings.webhook_port, secret);
        let request = Request::builder().method(Method::POST).uri(url);
        self.api().exchange(request, body.into()).await
    }

    /// Posts to the webhook as the service would.
    pub async fn deliver(&self, body: impl Into<Vec<u8>>) -> Result<Answer> {
        self.post(SECRET, body).await
    }

    /// Creates a docket past the engine, as another program does, or as a run did whose database was
    /// replaced. Returns its id.
    pub async fn create_without_engine(&self, context: &Value, number: &str) -> Result<String> {
        let extra = json!({ "call_context": context });
        let body =
            json!({ "agent_id": AGENT_ID, "to_phone_number": number, "extra_config": extra });
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}/api/v2/dockets", self.mock.base_url()))
            .header("auth_token", format!("Bearer {}", self.mock.token()))
            .header("content-type", "application/json");
        let answer = self.api().exchange(request, body.to_string()).await?;
        let docket: Value = serde_json::from_str(&answer.body)?;
        let id = docket["docket_id"].as_str();
        Ok(id.with_context(|| answer.body.clone())?.to_owned())
    }

    /// Returns the requests that made a phone ring, or would have.
    pub fn creations(&self) -> Vec<ReceivedRequest> {
        self.mock.requests_to(Endpoint::CreateDocketV2)
    }

    /// Waits until the service has received `count` creations.
    pub async fn until_creations(&self, count: usize) -> Result<()> {
        until("the creation at the service", async || {
            Ok((self.creations().len() >= count).then_some(()))
        })
        .await
    }

    /// Waits until the service was asked for dockets `count` times.
    pub async fn until_polls(&self, count: usize) -> Result<()> {
        until("the requests for dockets", async || {
            let polls = self.mock.requests_to(Endpoint::GetDocket).len();
            Ok((polls >= count).then_some(()))
        })
        .await
    }

    /// Returns the executions for deliveries, which are what the webhook has stored.
    pub async fn deliveries(&self) -> Result<Vec<Value>> {
        self.api().list(&format!("ffqn_prefix={DELIVER}")).await
    }

    /// Returns the docket that a run has created, if any.
    pub fn docket_of(&self, run: &str) -> Option<String> {
        // The quotation mark matters: a campaign's id is a prefix of those of its runs.
        self.mock.docket_with_context(&format!("{run}\""))
    }

    /// Returns the docket of a contact of a campaign, if any.
    pub fn docket_of_contact(&self, number: &str) -> Option<String> {
        self.mock.docket_with_context(&format!("\"{number}\""))
    }

    /// Returns the executions of the activity that makes a phone ring.
    pub async fn creating_executions(&self, run: &str) -> Result<Vec<Value>> {
        let filter = format!("ffqn_prefix={CREATE}&execution_id_prefix={run}");
        self.api().list(&filter).await
    }

    /// Returns the execution ids of the open questions to people.
    pub async fn open_questions(&self) -> Result<Vec<String>> {
        let filter = format!("ffqn_prefix={DECISION}&hide_finished=true");
        let open = self.api().list(&filter).await?;
        let id = |question: &Value| Some(question["execution_id"].as_str()?.to_owned());
        Ok(open.iter().filter_map(id).collect())
    }

    /// Answers all open questions, as a person would who can see the service's dashboard: with the
    /// docket of the run, or that there is none.
    pub async fn answer_questions(&self) -> Result<()> {
        for question in self.open_questions().await? {
            let run = question.rsplit_once('.').map_or("", |(run, _)| run);
            let answer = match self.docket_of(run) {
                Some(docket) => json!({ "ok": docket }),
                None => json!({ "err": "there is no docket" }),
            };
            // The webhook may be quicker, and the question withdrawn.
            let _ = self.api().stub(&question, &answer).await;
        }
        Ok(())
    }
}

/// Returns what an endpoint answered with 200.
fn json(answer: Answer) -> Result<Value> {
    ensure!(answer.status == 200, "{answer:?}");
    Ok(serde_json::from_str(&answer.body)?)
}

/// Returns the folder that users copy.
pub fn shipped_folder() -> Result<PathBuf> {
    let hint = "the folder that `cargo xtask obelisk build` makes";
    let folder = env::var_os(FOLDER_VARIABLE)
        .with_context(|| format!("the variable {FOLDER_VARIABLE} is not set: it must be {hint}"))?;
    let folder = std::path::absolute(&folder)?;
    ensure!(
        folder.join("deployment.toml").is_file(),
        "{FOLDER_VARIABLE} is {}, which has no deployment.toml; it must be {hint}",
        folder.display()
    );
    Ok(folder)
}

/// Copies a shipped file with the changes applied. The copy lies beside the files that it names,
/// since the engine accepts only files that exist.
fn changed(shipped: &Path, changes: &[(String, String)], folder: &Path) -> Result<PathBuf> {
    let mut text = fs::read_to_string(shipped)?;
    let name = shipped.file_name().context("no file")?;
    for (old, new) in changes {
        let times = text.matches(&**old).count();
        ensure!(
            times == 1,
            "{shipped:?} has `{old}` {times} times, not once"
        );
        text = text.replace(&**old, new);
    }
    let copy = folder.join(name);
    fs::write(&copy, text)?;
    Ok(copy)
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for file in fs::read_dir(from)? {
        let file = file?;
        if file.file_type()?.is_file() {
            fs::copy(file.path(), to.join(file.file_name()))?;
        }
    }
    Ok(())
}

/// Polls until `look` returns a value.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let begin = Instant::now();
    while begin.elapsed() < LIMIT {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bail!("{what}: not within {LIMIT:?}")
}

fn webhook_url(port: u16, secret: &str) -> String {
    format!("http://127.0.0.1:{port}/voice-calling/{secret}")
}

/// Returns the contacts of a campaign, one for each number.
pub fn listed(numbers: &[String]) -> Value {
    let requests: Vec<_> = numbers.iter().map(|it| contact(it)).collect();
    json!({ "listed": requests })
}

/// Returns a contact whose docket can be found by its number.
pub fn contact(number: &str) -> Value {
    let context = json!({ "number": number }).to_string();
    json!({ "agent_id": AGENT_ID, "to_phone_number": number, "call_context": context })
}

/// Returns a docket request for the agent that the mock knows.
fn docket_request(number: &str) -> Value {
    json!({
        "agent_id": AGENT_ID,
        "to_phone_number": number,
        "call_context": r#"{"name":"Asha","amount":0.10}"#,
    })
}
