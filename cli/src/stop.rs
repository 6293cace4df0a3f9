//! Ctrl-C, SIGTERM and the end of the terminal: once to finish what is open, twice to leave it.

#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How often the user has asked the command to stop.
pub(crate) struct Stop(watch::Receiver<u8>);

impl Stop {
    /// Listens to the signals from now on.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let (sender, receiver) = watch::channel(0_u8);
        #[cfg(unix)]
        for kind in [SignalKind::interrupt(), SignalKind::terminate()]
            .into_iter()
            .chain(heeds_hangup().then(SignalKind::hangup))
        {
            let (mut signals, sender) = (signal(kind)?, sender.clone());
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    sender.send_modify(|asked| *asked = asked.saturating_add(1));
                }
            });
        }
        #[cfg(not(unix))]
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                sender.send_modify(|asked| *asked = asked.saturating_add(1));
            }
        });
        Ok(Self(receiver))
    }

    pub(crate) fn is_asked(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Waits until the user asks.
    pub(crate) async fn asked(&self) {
        self.at_least(1).await;
    }

    /// Waits until the user has asked twice.
    pub(crate) async fn asked_twice(&self) {
        self.at_least(2).await;
    }

    async fn at_least(&self, times: u8) {
        // The senders are gone only if the runtime ends.
        let _ = self.0.clone().wait_for(|asked| *asked >= times).await;
    }
}

/// Returns `true` if the end of the terminal, as of an SSH session, is to end the command: it does not
/// for one that `nohup` has started. Where this is not known, it ends the command at once.
#[cfg(unix)]
fn heeds_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is the first signal.
    ignored.is_some_and(|mask| mask & 1 == 0)
}
