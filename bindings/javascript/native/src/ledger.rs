//! The ledger, for a client or to look into.

use crate::errors::{configuration_error, thrown};
use crate::question::{Asked, NativeQuestion};
use crate::records::{failure, ok, read_json};
use crate::runtime::Threads;
use napi::bindgen_prelude::{Buffer, FnArgs, Function, Object};
use napi::{Env, Result};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use voice_calling::ledger::Entry;
use voice_calling::{Error, Ledger};

/// A ledger, until it is closed.
#[napi]
pub struct NativeLedger {
    ledger: RefCell<Option<Ledger>>,
    threads: Threads,
}

impl NativeLedger {
    /// Returns the ledger if it is open.
    pub fn open(&self) -> std::result::Result<Ledger, Error> {
        let ledger = self.ledger.borrow().clone();
        let closed =
            || configuration_error("ledger", "a ledger that is closed", "one that is open");
        ledger.ok_or_else(closed)
    }
}

#[napi]
impl NativeLedger {
    #[napi(constructor)]
    pub fn new(env: Env, path: String) -> Result<Self> {
        Self::of(&env, Ledger::open(path))
    }

    /// Returns a ledger on the user's own storage, which answers questions.
    #[napi(factory)]
    pub fn on(
        env: Env,
        storage: Function<'_, FnArgs<(NativeQuestion,)>, ()>,
        secret: Buffer,
    ) -> Result<Self> {
        Self::of(&env, Ledger::on(Asked::new(&storage)?, secret))
    }

    fn of(env: &Env, ledger: std::result::Result<Ledger, Error>) -> Result<Self> {
        Ok(Self {
            ledger: RefCell::new(Some(ledger.map_err(|error| thrown(&error))?)),
            threads: Threads::of(env)?,
        })
    }

    /// Returns the promise of what a method returns: `{"ok": …}` or `{"failure": …}`.
    #[napi]
    pub fn run<'env>(
        &self,
        env: &'env Env,
        method: String,
        arguments: String,
    ) -> Result<Object<'env>> {
        let ledger = self.open().map_err(|error| thrown(&error))?;
        self.threads.promise(env, async move {
            match run(&ledger, &method, &read_json(&arguments)).await {
                Ok(value) => ok(&value.to_string()),
                Err(error) => failure(&error),
            }
        })
    }

    /// Closes the file once no client uses it, without blocking the program.
    #[napi]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let ledger = self.ledger.take();
        let closed = self.threads.handle.spawn_blocking(|| drop(ledger));
        self.threads.promise(env, async {
            let _ = closed.await;
            "null".to_owned()
        })
    }
}

/// Does not block the program that collects it as garbage.
impl Drop for NativeLedger {
    fn drop(&mut self) {
        let ledger = self.ledger.take();
        self.threads.handle.spawn_blocking(|| drop(ledger));
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    key: String,
    created_id: String,
    by: String,
    done_before_ms: u64,
}

async fn run(
    ledger: &Ledger,
    method: &str,
    given: &Arguments,
) -> std::result::Result<Value, Error> {
    Ok(match method {
        "get" => ledger
            .get(&given.key)
            .await?
            .as_ref()
            .map(entry_json)
            .into(),
        "unknown" => ledger.unknown().await?.iter().map(entry_json).collect(),
        "resolve" => {
            let resolved = ledger.resolve(&given.key, given.created_id.clone(), &given.by);
            entry_json(&resolved.await?)
        }
        "release" => entry_json(&ledger.release(&given.key, &given.by).await?),
        "prune" => {
            let done_before = UNIX_EPOCH + Duration::from_millis(given.done_before_ms);
            ledger.prune(done_before).await?.into()
        }
        unknown => unreachable!("{unknown}"),
    })
}

fn entry_json(entry: &Entry) -> Value {
    json!({
        "key": entry.key,
        "function": entry.function,
        "state": entry.state.name(),
        "begunAt": ms_of(entry.begun_at),
        "endedAt": entry.ended_at.map(ms_of),
        "createdId": entry.created_id,
        "message": entry.message,
        "resolvedBy": entry.resolved_by,
    })
}

fn ms_of(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since_1970.as_millis().try_into().unwrap_or(u64::MAX)
}
