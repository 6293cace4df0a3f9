//! A temporary PostgreSQL server for a test, and processes that end with it.

mod process;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, io};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Signal, geteuid};
use tempfile::TempDir;

pub use crate::process::{Process, TICK, bound};

/// The port, which is only a part of the socket's name. Obelisk can use no other one.
const PORT: &str = "5432";

/// The database's superuser. Anyone who can open the socket is accepted as this user.
pub const USER: &str = "test";

/// The user that runs the server if the tests run as root, which PostgreSQL refuses.
const SYSTEM_USER: &str = "postgres";

/// The file of the programs' output.
const LOG: &str = "postgres.log";

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// A PostgreSQL cluster in a temporary folder, with a socket in that folder and no network.
/// Dropping it stops the server and removes everything.
///
/// If the host of a client is a path, it is the folder of a Unix socket; so any number of clusters
/// can run at once, beside the system's own.
#[derive(Debug)]
pub struct Postgres {
    // Dropped in this order: the server ends before its files are removed.
    server: Process,
    folder: TempDir,
    programs: PathBuf,
}

impl Postgres {
    /// Creates a cluster and starts its server, which takes seconds and blocks the thread.
    pub fn start() -> Result<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("postgres-").tempdir()?;
        if geteuid().is_root() {
            let mut chown = Command::new("chown");
            let chowned = chown.arg(SYSTEM_USER).arg(folder.path()).status()?;
            ensure!(chowned.success(), "no user {SYSTEM_USER}");
        }
        let mut initdb = command(&programs.join("initdb"), folder.path())?;
        initdb.args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        initdb
            .args(["--username", USER, "--pgdata"])
            .arg(data(folder.path()));
        ensure!(
            initdb.status()?.success(),
            "{initdb:?}: {}",
            log(folder.path())?
        );
        let server = serve(&programs, folder.path())?;
        Ok(Self {
            server,
            folder,
            programs,
        })
    }

    /// Ends the server and its connections at once, as a crash does, and starts it again.
    pub fn crash(&mut self) -> Result<()> {
        self.server.signal(Signal::QUIT)?;
        while self.server.ended()?.is_none() {
            sleep(TICK);
        }
        self.server = serve(&self.programs, self.folder.path())?;
        Ok(())
    }

    /// Returns the folder of the cluster's files and socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.folder().join(format!(".s.PGSQL.{PORT}"))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGINT closes the connections and ends the server. Otherwise it is killed next.
        let _ = self.server.signal(Signal::INT);
        let begin = Instant::now();
        while matches!(self.server.ended(), Ok(None)) && begin.elapsed() < STOP_LIMIT {
            sleep(TICK);
        }
    }
}

/// Starts the server of a cluster, and waits until it accepts connections.
fn serve(programs: &Path, folder: &Path) -> Result<Process> {
    let mut server = command(&programs.join("postgres"), folder)?;
    server.arg("-D").arg(data(folder)).arg("-k").arg(folder);
    server.args(["-p", PORT, "-c", "listen_addresses="]);
    // The tests end processes, not the machine: no write is lost.
    server.args(["-c", "fsync=off"]);
    let mut server = Process::start(&mut server)?;
    let mut is_ready = Command::new(programs.join("pg_isready"));
    is_ready
        .args(["--quiet", "--port", PORT, "--host"])
        .arg(folder);
    let begin = Instant::now();
    while !is_ready.status()?.success() {
        if server.ended()?.is_some() || begin.elapsed() > START_LIMIT {
            bail!("PostgreSQL did not start: {}", log(folder)?);
        }
        sleep(TICK);
    }
    Ok(server)
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

fn log(folder: &Path) -> io::Result<String> {
    fs::read_to_string(folder.join(LOG))
}

/// Returns the folder of PostgreSQL's programs. Debian keeps those of a server out of `PATH`, in
/// one folder per version.
fn programs() -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let debian = debian.filter_map(|version| Some(version.ok()?.path().join("bin")));
    let mut folders = env::split_paths(&path).chain(debian);
    let found = folders.find(|folder| {
        let has = |name: &str| folder.join(name).is_file();
        ["initdb", "postgres", "pg_isready"].into_iter().all(has)
    });
    found.context(
        "no `initdb`, `postgres` and `pg_isready` in a folder of PATH or in \
         /usr/lib/postgresql/*/bin: install PostgreSQL (on Debian `cargo xtask setup postgresql`)",
    )
}

/// Returns a command without the caller's environment, whose `PG…` variables would change its
/// behaviour. When the thread that starts it ends, it gets SIGQUIT, and ends at once with its own
/// processes.
fn command(program: &Path, folder: &Path) -> io::Result<Command> {
    let mut options = File::options();
    let log = options.create(true).append(true).open(folder.join(LOG))?;
    let mut command = bound(program, "QUIT");
    if geteuid().is_root() {
        command = Command::new("/usr/bin/setpriv");
        command.args(["--reuid", SYSTEM_USER, "--regid", SYSTEM_USER]);
        command
            .args(["--clear-groups", "--pdeathsig", "QUIT"])
            .arg(program);
    }
    command
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", "/usr/bin:/bin");
    // The server's user may not be allowed to enter the folder of the tests.
    command.current_dir(folder).stdin(Stdio::null());
    command.stdout(log.try_clone()?).stderr(log);
    Ok(command)
}
