//! A temporary PostgreSQL server for a test.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, io};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Signal, geteuid};
use tempfile::TempDir;

use crate::process::{Process, TICK, bound};

/// The engine can use only this port, its default. Here it is only a part of the socket's name.
const PORT: &str = "5432";

/// The database's superuser. Anyone who can open the socket is accepted as this user.
const USER: &str = "obelisk";

/// The user that runs the server if the tests run as root, which PostgreSQL refuses.
const SYSTEM_USER: &str = "postgres";

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// A PostgreSQL cluster in a temporary folder, with a socket in that folder and no network.
/// Dropping it stops the server and removes everything.
///
/// The engine connects to port 5432 of a host, without TLS. If the host is a path, it is the folder
/// of a Unix socket, as usual for PostgreSQL; so any number of clusters can run at once, beside the
/// system's own.
pub struct Postgres {
    // Dropped in this order: the server ends before its files are removed.
    server: Process,
    folder: TempDir,
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
        let log_file = folder.path().join("postgres.log");
        let log = || File::options().create(true).append(true).open(&log_file);
        let data = folder.path().join("data");
        let mut initdb = command(&programs.join("initdb"), folder.path(), log()?)?;
        initdb.args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        initdb.args(["--username", USER, "--pgdata"]).arg(&data);
        let made = initdb.status()?;
        ensure!(
            made.success(),
            "{initdb:?}: {}",
            fs::read_to_string(&log_file)?
        );

        let mut server = command(&programs.join("postgres"), folder.path(), log()?)?;
        server.arg("-D").arg(&data).arg("-k").arg(folder.path());
        server.args(["-p", PORT, "-c", "listen_addresses="]);
        // The tests kill nodes, not the machine: no write is lost.
        server.args(["-c", "fsync=off"]);
        let server = Process::start(&mut server)?;
        let mut postgres = Self { server, folder };
        let mut is_ready = Command::new(programs.join("pg_isready"));
        is_ready.args(["--quiet", "--port", PORT, "--host"]);
        is_ready.arg(postgres.folder());
        let begin = Instant::now();
        while !is_ready.status()?.success() {
            let has_ended = postgres.server.ended()?.is_some();
            if has_ended || begin.elapsed() > START_LIMIT {
                bail!(
                    "PostgreSQL did not start: {}",
                    fs::read_to_string(&log_file)?
                );
            }
            sleep(TICK);
        }
        Ok(postgres)
    }

    /// Returns the folder of the cluster's files and socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the variables for a server file that takes the location of its database from them.
    /// With `provision_policy = "auto"` the engine creates `database` (a lower-case word).
    pub fn variables(&self, database: &str) -> Vec<(String, String)> {
        let host = self.folder().to_string_lossy();
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
         /usr/lib/postgresql/*/bin: install PostgreSQL (on Debian the package `postgresql`)",
    )
}

/// Returns a command without the caller's environment, whose `PG…` variables would change its
/// behaviour. When the thread that starts it ends, it gets SIGQUIT, and ends at once with its own
/// processes.
fn command(program: &Path, folder: &Path, log: File) -> io::Result<Command> {
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
