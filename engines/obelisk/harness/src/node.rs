//! One running node of the engine.

use std::fs::{self, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use tokio::net::TcpStream;
use tokio::time::sleep;
use uuid::Uuid;

use crate::api::{Api, TOKEN};
use crate::child::{GuardedChild, TICK};
use crate::engine::Engine;

/// How long a start may take. Most of it is compiling, where the cache is empty.
const START_LIMIT: Duration = Duration::from_secs(120);

/// How much of the log an error shows.
const TAIL_LINES: usize = 40;

/// Below those that the system itself gives to outgoing connections (32768 and above on
/// Linux). A node that is killed leaves its port free until it is started again, and no
/// connection of anyone may take it meanwhile.
const LOWEST: u16 = 10_000;
const HIGHEST: u16 = 32_000;

/// The last port that was given out. Processes begin at different ones.
static LAST: Mutex<Option<u16>> = Mutex::new(None);

/// Where a node keeps its executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Database {
    /// SQLite in the node's folder, whatever folder the file of the server names.
    #[default]
    Sqlite,
    /// As the file of the server says: PostgreSQL.
    AsConfigured,
}

/// All that a node is started with. Started again with the same, it finds its database and
/// listens on the same ports.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// Its home, for its data and its log. Made where it is missing. Two nodes must not
    /// share it.
    pub folder: PathBuf,
    /// The file of the server (`server.toml`). Ports, caches and the folder of SQLite are
    /// overridden here, so that many nodes can be started from the same file.
    pub server_config: PathBuf,
    pub database: Database,
    /// Without it the node takes the deployment that its database knows, or none.
    pub deployment: Option<PathBuf>,
    /// The environment, for `${…}` and forwarded variables in both files. Nothing comes from
    /// the environment of the test but `PATH` and `TMPDIR`.
    pub variables: Vec<(String, String)>,
    /// Compiled components. Nodes share it, or each would compile for seconds.
    pub cache: PathBuf,
    pub api_port: u16,
    pub webhook_port: u16,
}

impl NodeSettings {
    /// A node on SQLite, on free ports, with no deployment and no variables.
    pub fn new(
        folder: impl Into<PathBuf>,
        server_config: impl Into<PathBuf>,
        cache: impl Into<PathBuf>,
    ) -> Result<Self> {
        Ok(Self {
            folder: folder.into(),
            server_config: server_config.into(),
            database: Database::Sqlite,
            deployment: None,
            variables: Vec::new(),
            cache: cache.into(),
            api_port: free_port()?,
            webhook_port: free_port()?,
        })
    }

    /// Where the console log goes, appended at each start.
    pub fn log_file(&self) -> PathBuf {
        self.folder.join("console.log")
    }

    /// The last `lines` lines of the log; nothing where there is none yet.
    pub fn log_tail(&self, lines: usize) -> String {
        let log = fs::read(self.log_file()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let all: Vec<&str> = log.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }

    /// The engine lets each of its settings be overridden by `OBELISK__` and the path of the
    /// key. The caches are set this way and not by `XDG_CACHE_HOME`, on which only a file
    /// that says `${CACHE_DIR}` would depend. The home is the node's folder, so that what a
    /// file leaves to defaults is there, and not in the home of who runs the tests.
    pub(crate) fn environment(&self) -> Result<Vec<(String, String)>> {
        let folder = text(&self.folder)?;
        let cache = text(&self.cache)?;
        let listening = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)).to_string();
        let mut environment = self.variables.clone();
        let mut set = |name: &str, value: String| environment.push((name.to_owned(), value));
        set("HOME", folder.clone());
        for kind in ["CACHE", "CONFIG", "DATA"] {
            let name = format!("XDG_{kind}_HOME");
            set(&name, format!("{folder}/{}", kind.to_lowercase()));
        }
        set("OBELISK__api__listening_addr", listening(self.api_port));
        set(
            "OBELISK__external__listening_addr",
            listening(self.webhook_port),
        );
        set("OBELISK__wasm__cache_directory", format!("{cache}/wasm"));
        set(
            "OBELISK__wasm__codegen_cache__directory",
            format!("{cache}/codegen"),
        );
        set("OBELISK__API__TOKEN", TOKEN.to_owned());
        if self.database == Database::Sqlite {
            set(
                "OBELISK__database__sqlite__directory",
                format!("{folder}/sqlite"),
            );
        }
        Ok(environment)
    }
}

/// A node, which is killed when it is dropped.
pub struct Node {
    settings: NodeSettings,
    process: GuardedChild,
    api: Api,
}

impl Node {
    /// Starts a node, and waits until it takes requests at both ports.
    pub async fn start(engine: &Engine, settings: NodeSettings) -> Result<Self> {
        let settings = with_absolute_paths(settings)?;
        for port in [settings.api_port, settings.webhook_port] {
            // Or the answers of another node would be taken for those of this one.
            let is_free = becomes_free(port).await;
            ensure!(is_free, "127.0.0.1:{port} is already in use");
        }
        for folder in [&settings.folder, &settings.cache] {
            let made = fs::create_dir_all(folder);
            made.with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let log_file = settings.log_file();
        let log = OpenOptions::new().create(true).append(true).open(&log_file);
        let log = log.with_context(|| format!("cannot open {}", log_file.display()))?;

        let mut command = engine.command(&settings.environment()?);
        command.args(["server", "run", "--server-config"]);
        command.arg(&settings.server_config);
        if let Some(deployment) = &settings.deployment {
            command.arg("--deployment").arg(deployment);
        }
        command.current_dir(&settings.folder);
        // The engine writes its log to stderr, in colours if stdout is a terminal.
        command.stdout(log.try_clone()?).stderr(log);
        let api = Api::at((Ipv4Addr::LOCALHOST, settings.api_port).into());
        let process = GuardedChild::start(&mut command, "KILL")?;
        let mut node = Self {
            settings,
            process,
            api,
        };
        node.wait_until_ready().await?;
        Ok(node)
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.process.ended()? {
                bail!(
                    "the node ended while it started ({status}); {}",
                    self.log_end()
                );
            }
            let webhooks = TcpStream::connect(self.webhook_address()).await;
            if webhooks.is_ok() && self.api.deployment_id().await.is_ok() {
                return Ok(());
            }
            ensure!(
                begin.elapsed() < START_LIMIT,
                "the node was not ready within {START_LIMIT:?}; {}",
                self.log_end()
            );
            sleep(TICK).await;
        }
    }

    fn log_end(&self) -> String {
        let file = self.settings.log_file();
        format!(
            "{} ends with:\n{}",
            file.display(),
            self.log_tail(TAIL_LINES)
        )
    }

    /// Ends it as a crash would, by SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }

    /// Asks it to end, by SIGTERM, and waits for that, but no longer than `limit`.
    pub async fn terminate(&mut self, limit: Duration) -> Result<()> {
        let begin = Instant::now();
        self.process.signal(Signal::TERM)?;
        while self.process.ended()?.is_none() {
            ensure!(
                begin.elapsed() < limit,
                "the node did not end within {limit:?} after SIGTERM; {}",
                self.log_end()
            );
            sleep(TICK).await;
        }
        Ok(())
    }

    /// The number of its process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Its HTTP API. Where the node is dead, each request is an error.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Where it receives webhooks.
    pub fn webhook_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.settings.webhook_port).into()
    }

    /// What it was started with, with absolute paths; to start it again.
    pub fn settings(&self) -> &NodeSettings {
        &self.settings
    }

    /// The last `lines` lines of its log, of earlier starts too.
    pub fn log_tail(&self, lines: usize) -> String {
        self.settings.log_tail(lines)
    }
}

/// The node runs in its own folder, where the caller's relative paths mean nothing.
fn with_absolute_paths(mut settings: NodeSettings) -> Result<NodeSettings> {
    let absolute = |path: &Path| {
        let found = std::path::absolute(path);
        found.with_context(|| format!("cannot resolve {path:?}"))
    };
    settings.folder = absolute(&settings.folder)?;
    settings.cache = absolute(&settings.cache)?;
    settings.server_config = absolute(&settings.server_config)?;
    settings.deployment = settings.deployment.as_deref().map(absolute).transpose()?;
    Ok(settings)
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str();
    let text = text.with_context(|| format!("{path:?} is not UTF-8, as a setting has to be"))?;
    Ok(text.to_owned())
}

/// A port on 127.0.0.1 on which nobody listens. No port is given out twice by a process,
/// before all others have been.
fn free_port() -> Result<u16> {
    let mut last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for _ in LOWEST..=HIGHEST {
        let port = last.map_or_else(any_port, following);
        *last = Some(port);
        if is_free(port) {
            return Ok(port);
        }
    }
    bail!("every port of 127.0.0.1 from {LOWEST} to {HIGHEST} is taken");
}

/// Whether a server could listen there now.
fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Whether a server could listen there within a second. A look takes the port for a moment, and for
/// as long as a process that another thread starts just then has not yet executed its program: until
/// then it holds a copy of the listener.
async fn becomes_free(port: u16) -> bool {
    for _ in 0..100 {
        if is_free(port) {
            return true;
        }
        sleep(Duration::from_millis(10)).await;
    }
    false
}

fn any_port() -> u16 {
    let (random, _) = Uuid::new_v4().as_u64_pair();
    let ports = u64::from(HIGHEST - LOWEST) + 1;
    LOWEST + (random % ports) as u16
}

fn following(port: u16) -> u16 {
    if port < HIGHEST { port + 1 } else { LOWEST }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_free_and_never_the_same() {
        let first = free_port().unwrap();
        let second = free_port().unwrap();
        assert_ne!(first, second);
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(taken.local_addr().unwrap().port()));
        assert_eq!(following(HIGHEST), LOWEST);
    }
}
