//! The ledger, for a client or to look into.

use crate::errors::{configuration_error, thrown};
use crate::question::{Asked, NativeQuestion};
use crate::records::{failure, ok};
use crate::runtime::Threads;
use napi::bindgen_prelude::{Buffer, FnArgs, Function, Object};
use napi::{Env, Result};
use napi_derive::napi;
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

    fn run<'env, F: Future<Output = std::result::Result<Value, Error>> + Send + 'static>(
        &self,
        env: &'env Env,
        operation: impl FnOnce(Ledger) -> F,
    ) -> Result<Object<'env>> {
        let operation = operation(self.open().map_err(|error| thrown(&error))?);
        self.threads.promise(env, async {
            match operation.await {
                Ok(value) => ok(&value.to_string()),
                Err(error) => failure(&error),
            }
        })
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

    #[napi]
    pub fn get<'env>(&self, env: &'env Env, key: String) -> Result<Object<'env>> {
        self.run(env, async move |ledger| {
            let entry = ledger.get(&key).await?;
            Ok(entry.map_or(Value::Null, |entry| entry_json(&entry)))
        })
    }

    #[napi]
    pub fn unknown<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.run(env, async |ledger| {
            Ok(ledger.unknown().await?.iter().map(entry_json).collect())
        })
    }

    #[napi]
    pub fn resolve<'env>(
        &self,
        env: &'env Env,
        key: String,
        created_id: String,
        by: String,
    ) -> Result<Object<'env>> {
        self.run(env, async move |ledger| {
            Ok(entry_json(&ledger.resolve(&key, created_id, &by).await?))
        })
    }

    #[napi]
    pub fn release<'env>(&self, env: &'env Env, key: String, by: String) -> Result<Object<'env>> {
        self.run(env, async move |ledger| {
            Ok(entry_json(&ledger.release(&key, &by).await?))
        })
    }

    #[napi]
    pub fn prune<'env>(&self, env: &'env Env, done_before_ms: f64) -> Result<Object<'env>> {
        let done_before = UNIX_EPOCH + Duration::from_millis(done_before_ms as u64);
        self.run(env, async move |ledger| {
            Ok(ledger.prune(done_before).await?.into())
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
