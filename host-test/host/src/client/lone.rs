//! A client that has one call at a time and ends with one that traps or is dropped, as an instance
//! that does its I/O itself.

use super::Client;
use crate::guest::in_flight::ENDED;
use crate::guest::limits::MemoryBytes;
use crate::guest::settings::Stderr;
use crate::network::outgoing::Outgoing;
use anyhow::{Context, Result};

pub(crate) struct LoneClient {
    /// None during a call, and once one trapped or was dropped.
    client: Option<Client>,
    memory: MemoryBytes,
    stderr: Stderr,
    begun: u32,
    returned: u32,
}

impl LoneClient {
    pub(crate) fn of(client: Client, stderr: Stderr) -> Self {
        Self {
            memory: client.memory().unwrap_or_default(),
            client: Some(client),
            stderr,
            begun: 0,
            returned: 0,
        }
    }

    /// A call. If it does not return, or the instance is lost meanwhile, it was the last.
    pub(crate) async fn call<T>(
        &mut self,
        call: impl AsyncFnOnce(&Client) -> Result<T>,
    ) -> Result<T> {
        let client = self.client.take().context(ENDED)?;
        self.begun += 1;
        let returned = call(&client).await;
        if client.lost() == 0 {
            self.returned += 1;
            self.client = Some(client);
        }
        returned
    }

    pub(crate) fn set_outgoing(&mut self, outgoing: Outgoing) {
        if let Some(client) = &self.client {
            client.set_outgoing(outgoing);
        }
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.contents()
    }

    pub(crate) fn calls(&self) -> u32 {
        self.begun
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.begun == self.returned
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory.get()
    }
}
