//! One running node of the engine.

use std::fs::{self, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::api::{Api, TOKEN};
use crate::engine::Engine;
use crate::process::{Process, TICK};

/// How long a start may take. Where the cache is empty, the engine compiles the components first:
/// minutes, for one that is itself compiled without optimizations.
const START_LIMIT: Duration = Duration::from_secs(600);

/// Below those that the system itself gives to outgoing connections (32768 and above on
/// Linux). A node that is killed leaves its port free until it is started again, and no
/// connection of anyone may take it meanwhile.
const PORTS: Range<u16> = 10_000..32_000;

/// All that a node is started with. Started again with the same, it finds its database and
/// listens on the same ports.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Its home, for its log, and what the server's file leaves to defaults.
    pub folder: PathBuf,
    pub server_config: PathBuf,
    /// Without it the node takes the deployment that its database knows.
    pub deployment: Option<PathBuf>,
    /// The environment, for `${…}` and forwarded variables in both files.
    pub variables: Vec<(String, String)>,
    /// Compiled components. Nodes share it, or each would compile for seconds.
    pub cache: PathBuf,
    pub api_port: u16,
    pub webhook_port: u16,
}

impl Settings {
    /// A node on free ports, with no deployment and no variables.
    pub(crate) fn new(folder: PathBuf, server_config: &Path, cache: &Path) -> Result<Self> {
        Ok(Self {
            folder,
            server_config: server_config.to_owned(),
            deployment: None,
            variables: Vec::new(),
            cache: cache.to_owned(),
            api_port: free_port()?,
            webhook_port: free_port()?,
        })
    }

    pub(crate) fn api_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.api_port).into()
    }

    /// The engine lets each of its settings be overridden by `OBELISK__` and the path of the key.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let (folder, cache) = (self.folder.display(), self.cache.display());
        let mut environment = self.variables.clone();
        for (name, value) in [
            ("HOME", folder.to_string()),
            (
                "OBELISK__api__listening_addr",
                self.api_address().to_string(),
            ),
            (
                "OBELISK__external__listening_addr",
                format!("127.0.0.1:{}", self.webhook_port),
            ),
            ("OBELISK__wasm__cache_directory", format!("{cache}/wasm")),
            (
                "OBELISK__wasm__codegen_cache__directory",
                format!("{cache}/codegen"),
            ),
            ("OBELISK__API__TOKEN", TOKEN.to_owned()),
        ] {
            environment.push((name.to_owned(), value));
        }
        environment
    }
}

/// A node, which is killed when it is dropped.
pub struct Node {
    settings: Settings,
    process: Process,
    api: Api,
}

impl Node {
    /// Starts a node, and waits until it takes requests at both ports.
    pub(crate) async fn start(engine: &Engine, settings: Settings) -> Result<Self> {
        for port in [settings.api_port, settings.webhook_port] {
            // Or the answers of another node would be taken for those of this one.
            let is_free = becomes_free(port).await;
            ensure!(is_free, "127.0.0.1:{port} is already in use");
        }
        fs::create_dir_all(&settings.folder)?;
        fs::create_dir_all(&settings.cache)?;
        let log_file = settings.folder.join("console.log");
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(log_file)?;

        let mut command = engine.command(&settings.environment());
        command.args(["server", "run", "--server-config"]);
        command.arg(&settings.server_config);
        if let Some(deployment) = &settings.deployment {
            command.arg("--deployment").arg(deployment);
        }
        command.current_dir(&settings.folder);
        // The engine writes its log to stderr, in colours if stdout is a terminal.
        command.stdout(log.try_clone()?).stderr(log);
        let mut node = Self {
            api: Api::at(settings.api_address()),
            process: Process::start(&mut command)?,
            settings,
        };
        node.wait_until_ready().await?;
        Ok(node)
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let begin = Instant::now();
        while begin.elapsed() < START_LIMIT {
            if let Some(status) = self.process.ended()? {
                bail!("the node ended while it started ({status}): {}", self.log());
            }
            let webhooks = TcpStream::connect(self.webhook_address()).await;
            if webhooks.is_ok() && self.api.deployment_id().await.is_ok() {
                return Ok(());
            }
            sleep(TICK).await;
        }
        bail!(
            "the node was not ready within {START_LIMIT:?}: {}",
            self.log()
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
                "the node did not end within {limit:?} after SIGTERM: {}",
                self.log()
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

    /// Its console log, of earlier starts too.
    pub fn log(&self) -> String {
        let log = fs::read(self.settings.folder.join("console.log"));
        String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
    }
}

/// A port on 127.0.0.1 on which nobody listens. No port is given out twice by a process, before all
/// others have been; processes begin at different ones.
fn free_port() -> Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() * 101;
    let mut ports = PORTS.map(|_| {
        let next = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed).into());
        PORTS.start + (next % u32::from(PORTS.end - PORTS.start)) as u16
    });
    ports
        .find(|port| is_free(*port))
        .with_context(|| format!("every port of 127.0.0.1 in {PORTS:?} is taken"))
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
        sleep(TICK).await;
    }
    false
}
