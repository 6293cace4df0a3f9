//! Ports on loopback for nodes to listen on.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::sleep;
use uuid::Uuid;

/// Below those that the system itself gives to outgoing connections (32768 and above on
/// Linux). A node that is killed leaves its port free until it is started again, and no
/// connection of anyone may take it meanwhile.
const LOWEST: u16 = 10_000;
const HIGHEST: u16 = 32_000;

/// The last port that was given out. Processes begin at different ones.
static LAST: Mutex<Option<u16>> = Mutex::new(None);

/// A port on 127.0.0.1 on which nobody listens. No port is given out twice by a process,
/// before all others have been.
///
/// # Errors
/// Where all ports are taken.
pub fn free_port() -> Result<u16> {
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
pub(crate) async fn becomes_free(port: u16) -> bool {
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
    fn is_free_and_never_the_same() {
        let first = free_port().unwrap();
        let second = free_port().unwrap();
        assert_ne!(first, second);
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, first)).unwrap();
        assert!(!is_free(first));
    }

    #[test]
    fn begins_again_after_the_highest() {
        assert_eq!(following(HIGHEST), LOWEST);
        assert!((LOWEST..=HIGHEST).contains(&any_port()));
    }
}
