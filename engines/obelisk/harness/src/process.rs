//! A process that does not outlive the one that started it.

use std::ffi::OsStr;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

/// How often to look whether a process has ended, or is ready.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// A command for a program that the system sends `signal` (`KILL`) where the thread that starts it
/// ends first: the tests may be killed themselves.
pub(crate) fn bound(program: impl AsRef<OsStr>, signal: &str) -> Command {
    let mut command = Command::new("/usr/bin/setpriv");
    command.args(["--pdeathsig", signal]).arg(program);
    command
}

/// A child process. Dropping it kills it, so that a test that panics leaves nothing running.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn();
        Ok(Self(
            child.with_context(|| format!("cannot start {command:?}"))?,
        ))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.0.try_wait()?)
    }

    /// Sends a signal. One that has ended meanwhile needs none.
    pub(crate) fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.ended()?.is_some() {
            return Ok(());
        }
        match kill_process(Pid::from_child(&self.0), signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error).context("cannot send a signal"),
        }
    }

    /// Ends it by SIGKILL, and waits for that.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // No one is left to report to.
        let _ = self.kill();
    }
}
