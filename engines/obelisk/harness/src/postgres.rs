//! A PostgreSQL for the time of a test.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Signal, geteuid};
use tempfile::TempDir;

use crate::child::{GuardedChild, TICK};

/// The engine can only use this port, its default. It is a part
/// of the socket's name here, and taken from nobody.
const PORT: &str = "5432";

/// The database's superuser. Whoever can open the socket is let in as this one.
const USER: &str = "obelisk";

/// The name of a socket has to fit into 108 bytes on Linux, 104 elsewhere.
const LONGEST_SOCKET_PATH: usize = 100;

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// A PostgreSQL cluster in a temporary folder, with a socket in that folder and on no
/// network. Dropping it stops the server and removes everything.
///
/// The engine connects to port 5432 of a host, without TLS. Where the host is a path, it is
/// the folder of a unix socket, as everywhere in PostgreSQL; so that any number of clusters
/// can run beside each other, and beside the system's own.
pub struct Postgres {
    // Dropped in this order: the server ends before its files go.
    server: GuardedChild,
    folder: TempDir,
}

impl Postgres {
    /// Makes a cluster and starts its server; that takes seconds and blocks the thread.
    pub fn start() -> Result<Self> {
        let programs = Programs::find()?;
        let account = Account::for_server()?;
        let folder = tempfile::Builder::new().prefix("postgres-").tempdir();
        let folder = folder.context("cannot make a temporary folder")?;
        let socket = folder.path().join(format!(".s.PGSQL.{PORT}"));
        ensure!(
            socket.as_os_str().len() <= LONGEST_SOCKET_PATH,
            "{} is {} bytes long, but the path of a socket has at most {LONGEST_SOCKET_PATH}: \
             set TMPDIR to a shorter path",
            socket.display(),
            socket.as_os_str().len()
        );
        if let Some(account) = &account {
            let owned = chown(folder.path(), Some(account.user), Some(account.group));
            let name = &account.name;
            owned.with_context(|| format!("cannot give a folder to the user {name}"))?;
        }

        let data = folder.path().join("data");
        let mut initdb = programs.command("initdb", account.as_ref(), folder.path());
        initdb.args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        initdb
            .arg("--username")
            .arg(USER)
            .arg("--pgdata")
            .arg(&data);
        let output = initdb.output();
        let output = output.with_context(|| cannot_enter(account.as_ref(), folder.path()))?;
        ensure!(
            output.status.success(),
            "`initdb` failed ({}):\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr).trim_end()
        );

        let log_file = folder.path().join("postgres.log");
        let log = File::create(&log_file);
        let log = log.with_context(|| format!("cannot make {}", log_file.display()))?;
        let mut server = programs.command("postgres", account.as_ref(), folder.path());
        server.arg("-D").arg(&data).arg("-k").arg(folder.path());
        server.args(["-p", PORT, "-c", "listen_addresses="]);
        // The tests kill nodes, not the machine: what was written is never lost.
        server.args(["-c", "fsync=off"]);
        server.stdout(log.try_clone()?).stderr(log);
        // Its own processes end with it, and at once by SIGQUIT.
        let server = GuardedChild::start(&mut server, "QUIT")?;
        let mut postgres = Self { server, folder };
        let mut is_ready = programs.command("pg_isready", None, postgres.folder());
        is_ready
            .args(["--quiet", "--port", PORT, "--host"])
            .arg(postgres.folder());
        postgres.wait_until_ready(&mut is_ready, &log_file)?;
        Ok(postgres)
    }

    /// Where its files and its socket are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn wait_until_ready(&mut self, is_ready: &mut Command, log_file: &Path) -> Result<()> {
        let log = || fs::read_to_string(log_file).unwrap_or_default();
        let begin = Instant::now();
        loop {
            if let Some(status) = self.server.ended()? {
                bail!("PostgreSQL ended while it started ({status}):\n{}", log());
            }
            let answer = is_ready.status().context("cannot start `pg_isready`")?;
            if answer.success() {
                return Ok(());
            }
            ensure!(
                begin.elapsed() < START_LIMIT,
                "PostgreSQL was not ready within {START_LIMIT:?}:\n{}",
                log()
            );
            sleep(TICK);
        }
    }

    /// The variables for a file of the server that leaves it to them where its database is:
    /// `POSTGRES_HOST`, `POSTGRES_USER`, `POSTGRES_PASSWORD` and `POSTGRES_DATABASE`. With
    /// `provision_policy = "auto"` the engine creates `database` (a lower-case word).
    pub fn variables(&self, database: &str) -> Vec<(String, String)> {
        let host = self.folder().to_string_lossy();
        let variables = [
            ("POSTGRES_HOST", &*host),
            ("POSTGRES_USER", USER),
            // The engine insists on one; the server never asks for it.
            ("POSTGRES_PASSWORD", "unused"),
            ("POSTGRES_DATABASE", database),
        ];
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        variables.map(owned).into()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGINT closes its connections and ends it. If it does not, it is killed next.
        if self.server.signal(Signal::INT).is_ok() {
            let _ = self.server.wait_until_ended(STOP_LIMIT);
        }
    }
}

/// Why `initdb` could not even be started: it is there, but its user cannot come to the folder
/// where one above is private to the caller.
fn cannot_enter(account: Option<&Account>, folder: &Path) -> String {
    let folder = folder.display();
    match account {
        Some(Account { name, .. }) => {
            format!(
                "cannot start `initdb` as the user {name}, who needs permission to enter {folder}"
            )
        }
        None => format!("cannot start `initdb` in {folder}"),
    }
}

/// The folder of PostgreSQL's programs. Debian keeps those of a server out of `PATH`, one
/// folder for each version.
struct Programs {
    folder: PathBuf,
}

impl Programs {
    fn find() -> Result<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let in_path = env::split_paths(&path).collect();
        let found = [in_path, debian_folders()]
            .concat()
            .into_iter()
            .find(|folder| {
                let has = |name: &str| folder.join(name).is_file();
                ["initdb", "postgres", "pg_isready"].into_iter().all(has)
            });
        let folder = found.context(
            "no `initdb`, `postgres` and `pg_isready` in a folder of PATH or in \
             /usr/lib/postgresql/*/bin: install PostgreSQL (on Debian the package `postgresql`)",
        )?;
        Ok(Self { folder })
    }

    /// A program that knows nothing of the caller's environment, in which `PG…` variables
    /// would change what it does.
    fn command(&self, name: &str, account: Option<&Account>, folder: &Path) -> Command {
        let mut command = Command::new(self.folder.join(name));
        command
            .env_clear()
            .env("LC_ALL", "C")
            .env("PATH", &self.folder);
        // Its user need not be allowed to enter the folder of the tests.
        command.current_dir(folder).stdin(Stdio::null());
        if let Some(account) = account {
            command.uid(account.user).gid(account.group);
        }
        command
    }
}

/// The newest version first.
fn debian_folders() -> Vec<PathBuf> {
    let entries = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<u32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    versions.sort_unstable_by(|one, other| other.cmp(one));
    let folder = |version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin"));
    versions.into_iter().map(folder).collect()
}

/// A user of the system.
#[derive(Debug, PartialEq, Eq)]
struct Account {
    name: String,
    user: u32,
    group: u32,
}

impl Account {
    /// Whom the server runs as: PostgreSQL refuses to run as root. None is the caller.
    fn for_server() -> Result<Option<Self>> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
        let mut names = ["postgres", "nobody"].into_iter();
        let found = names.find_map(|name| Self::named(name, &accounts));
        let found = found.context(
            "PostgreSQL does not run as root, and /etc/passwd has neither the user `postgres` \
             nor `nobody`",
        )?;
        Ok(Some(found))
    }

    fn named(name: &str, accounts: &str) -> Option<Self> {
        accounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let [found, _, user, group, ..] = fields[..] else {
                return None;
            };
            if found != name {
                return None;
            }
            Some(Self {
                name: name.to_owned(),
                user: user.parse().ok()?,
                group: group.parse().ok()?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_account() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\npostgres:x:105:110::/:/bin/sh\n";
        let account = Account::named("postgres", accounts).unwrap();
        assert_eq!((account.user, account.group), (105, 110));
        assert_eq!(Account::named("post", accounts), None);
    }
}
