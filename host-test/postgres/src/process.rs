//! A process that does not outlive the one that started it.

use std::ffi::OsStr;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

/// The interval at which a process is checked for readiness or its end.
pub const TICK: Duration = Duration::from_millis(10);

/// Returns a command for a program that receives `signal` (`KILL`) if the thread that started it
/// ends first: the tests may be killed themselves.
pub fn bound(program: impl AsRef<OsStr>, signal: &str) -> Command {
    let mut command = Command::new("/usr/bin/setpriv");
    command.args(["--pdeathsig", signal]).arg(program);
    command
}

/// A child process. Dropping it kills it, so that a test that panics leaves nothing running.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts a process.
    pub fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn();
        Ok(Self(
            child.with_context(|| format!("cannot start {command:?}"))?,
        ))
    }

    /// Returns its id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Returns the exit status if the process has ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.0.try_wait()?)
    }

    /// Sends a signal, unless the process has ended.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.ended()?.is_some() {
            return Ok(());
        }
        match kill_process(Pid::from_child(&self.0), signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error).context("cannot send a signal"),
        }
    }

    /// Kills the process by SIGKILL, and waits until it has ended.
    pub fn kill(&mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error is ignored: there is no one to report it to.
        let _ = self.kill();
    }
}
