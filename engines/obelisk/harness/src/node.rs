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
use voice_calling_test_postgres::{Process, TICK};

use crate::api::{Api, TOKEN};
use crate::engine::Engine;

/// The time limit for a start. If the cache is empty, the engine first compiles the components,
/// which takes minutes if the engine itself was compiled without optimizations, and several nodes do so.
const START_LIMIT: Duration = Duration::from_secs(1_800);

/// The ports of nodes, below those that the system assigns to outgoing connections (32768 and above
/// on Linux). The port of a killed node stays free until the node is restarted, and no other
/// connection may take it meanwhile.
const PORTS: Range<u16> = 10_000..32_000;

/// The settings of a node. Restarted with the same settings, it finds its database and listens on
/// the same ports.
#[derive(Clone)]
pub(crate) struct Settings {
    /// The node's home, for its log and for everything that the server's file leaves to defaults.
    pub folder: PathBuf,
    pub server_config: PathBuf,
    /// If `None`, the node uses the deployment in its database.
    pub deployment: Option<PathBuf>,
    /// The environment, for `${…}` and forwarded variables in both files.
    pub variables: Vec<(String, String)>,
    /// The compiled components. Nodes share the cache, since compiling takes seconds.
    pub cache: PathBuf,
    pub api_port: u16,
    pub webhook_port: u16,
}

impl Settings {
    /// Returns the settings of a node on free ports, with no deployment and no variables.
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

    /// Returns the environment. `OBELISK__` and the path of a key override a setting of the engine.
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
            ("OBELISK_API_TOKEN", TOKEN.to_owned()),
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
    /// Starts a node, and waits until it accepts requests at both ports.
    pub(crate) async fn start(engine: &Engine, settings: Settings) -> Result<Self> {
        for port in [settings.api_port, settings.webhook_port] {
            // Otherwise another node would be mistaken for this one.
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
        let webhooks: SocketAddr = (Ipv4Addr::LOCALHOST, self.settings.webhook_port).into();
        while begin.elapsed() < START_LIMIT {
            if let Some(status) = self.process.ended()? {
                bail!("the node ended while it started ({status}): {}", self.log());
            }
            let is_listening = TcpStream::connect(webhooks).await;
            if is_listening.is_ok() && self.api.deployment_id().await.is_ok() {
                return Ok(());
            }
            sleep(TICK).await;
        }
        bail!(
            "the node was not ready within {START_LIMIT:?}: {}",
            self.log()
        )
    }

    /// Kills the node by SIGKILL, as a crash would, and waits until it is gone.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }

    /// Asks the node to terminate, by SIGTERM, and waits for that up to `limit`.
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

    /// Returns the id of the node's process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the node's HTTP API. Each request fails if the node is dead.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Returns the node's console log, including earlier starts.
    pub fn log(&self) -> String {
        let log = fs::read(self.settings.folder.join("console.log"));
        String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
    }
}

/// Returns a free port on 127.0.0.1. A process returns no port again before all others; processes
/// begin at different ones.
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

/// Returns `true` if a server could listen on the port now.
fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Waits up to a minute until a server could listen on the port. A check takes the port for a
/// moment, and longer if another thread starts a process just then, which holds a copy of the
/// listener until it executes its program.
async fn becomes_free(port: u16) -> bool {
    for _ in 0..6_000 {
        if is_free(port) {
            return true;
        }
        sleep(TICK).await;
    }
    false
}
