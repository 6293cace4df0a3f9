//! A process that does not outlive the one that started it.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

/// How often to look whether a process has ended.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// What the guard does: its stdin ends when the process that holds the other end does, in
/// whatever way, since the system closes it.
const GUARD: &str = r#"read -r _; kill -s "$1" "$2""#;

/// A child process. Dropping it kills it, so that a test that panics leaves nothing running;
/// and for the case that this process is killed itself, a guard, in a process group that
/// signals from the terminal do not reach, then ends the child.
pub(crate) struct GuardedChild {
    name: String,
    child: Child,
    /// None when the child has ended: its number may then belong to anyone.
    guard: Option<Child>,
}

impl GuardedChild {
    /// Starts `command`. `last_signal` (`KILL`) is what the guard would end it by.
    pub(crate) fn start(command: &mut Command, last_signal: &str) -> Result<Self> {
        let name = command.get_program().display().to_string();
        let child = command.spawn();
        let child = child.with_context(|| format!("cannot start `{name}`"))?;
        let mut started = Self {
            name,
            child,
            guard: None,
        };
        let guard = Command::new("/bin/sh")
            .args(["-c", GUARD, "guard", last_signal])
            .arg(started.id().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        started.guard = Some(guard.context("cannot start `/bin/sh`")?);
        Ok(started)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let status = self.child.try_wait();
        let status = status.with_context(|| format!("cannot wait for `{}`", self.name))?;
        if status.is_some() {
            self.dismiss_guard();
        }
        Ok(status)
    }

    /// Sends a signal. One that has ended meanwhile needs none.
    pub(crate) fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.ended()?.is_some() {
            return Ok(());
        }
        match kill_process(Pid::from_child(&self.child), signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error).with_context(|| {
                let signal = signal.as_raw();
                format!("cannot send signal {signal} to `{}`", self.name)
            }),
        }
    }

    /// Waits until it has ended, but no longer than `limit`. Blocks the thread.
    pub(crate) fn wait_until_ended(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        let begin = Instant::now();
        loop {
            let ended = self.ended()?;
            if ended.is_some() || begin.elapsed() >= limit {
                return Ok(ended);
            }
            sleep(TICK);
        }
    }

    /// Ends it by SIGKILL, and waits for that.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.signal(Signal::KILL)?;
        // The guard goes first: until the child is waited for, its number is its own.
        self.dismiss_guard();
        let status = self.child.wait();
        status.with_context(|| format!("cannot wait for `{}`", self.name))?;
        Ok(())
    }

    fn dismiss_guard(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            // By SIGKILL, while it still reads: it must not come to its last line.
            let _ = guard.kill();
            let _ = guard.wait();
        }
    }
}

impl Drop for GuardedChild {
    fn drop(&mut self) {
        // No one is left to report to.
        let _ = self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_can_be_killed() {
        let mut child = GuardedChild::start(&mut Command::new("true"), "KILL").unwrap();
        assert!(
            child
                .wait_until_ended(Duration::from_secs(10))
                .unwrap()
                .unwrap()
                .success()
        );
        child.signal(Signal::TERM).unwrap();
        child.kill().unwrap();
    }
}
