//! Functions of the user's that the Rust client asks, and that answer later.

use napi::bindgen_prelude::{FnArgs, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode::NonBlocking};
use napi::{Result, Status};
use napi_derive::napi;
use std::cell::RefCell;
use std::pin::Pin;
use tokio::sync::oneshot::{self, Sender};
use voice_calling::ledger::Change;

type Args = FnArgs<(NativeQuestion,)>;

/// A question that waits for its answer.
pub(crate) type Answering =
    Pin<Box<dyn Future<Output = std::result::Result<String, String>> + Send>>;

/// A function of JavaScript that takes questions. It does not keep the environment from ending.
pub struct Asked(ThreadsafeFunction<NativeQuestion, (), Args, Status, false, true>);

impl Asked {
    pub fn new(function: &Function<'_, Args, ()>) -> Result<Self> {
        let function = function.build_threadsafe_function::<NativeQuestion>();
        let function = function.weak::<true>().callee_handled::<false>();
        let asked = function.build_callback(|call| Ok(FnArgs::from((call.value,))))?;
        Ok(Self(asked))
    }

    /// Asks, and returns the answer, or why there is none.
    pub async fn ask(
        &self,
        method: &'static str,
        argument: String,
        change: Option<Change>,
    ) -> std::result::Result<String, String> {
        let (sender, receiver) = oneshot::channel();
        let question = NativeQuestion {
            method,
            argument,
            change: RefCell::new(change),
            sender: RefCell::new(Some(sender)),
        };
        match self.0.call(question, NonBlocking) {
            Status::Ok => receiver
                .await
                .unwrap_or_else(|_| Err(format!("{method} has not answered"))),
            status => Err(format!("{method} cannot be called any more: {status}")),
        }
    }
}

/// A question, which is answered once. One that is collected as garbage before is not answered.
#[napi]
pub struct NativeQuestion {
    method: &'static str,
    argument: String,
    change: RefCell<Option<Change>>,
    sender: RefCell<Option<Sender<std::result::Result<String, String>>>>,
}

#[napi]
impl NativeQuestion {
    #[napi(getter)]
    pub fn method(&self) -> &'static str {
        self.method
    }

    #[napi(getter)]
    pub fn argument(&self) -> String {
        self.argument.clone()
    }

    /// Returns the entry that replaces this one, if it is to be stored. Both are JSON.
    #[napi]
    pub fn change(&self, entry: Option<String>) -> Result<Option<String>> {
        let entry = entry.map(|entry| serde_json::from_str(&entry)).transpose();
        let entry = entry.map_err(|error| napi::Error::from_reason(format!("entry: {error}")))?;
        let mut change = self.change.borrow_mut();
        let Some((entry, reply)) = change.as_mut().map(|change| change(entry)) else {
            return Ok(None);
        };
        let entry = entry.filter(|_| reply.is_change());
        Ok(entry.map(|entry| serde_json::to_string(&entry).expect("an entry is JSON")))
    }

    #[napi]
    pub fn answer(&self, answer: String) {
        self.end(Ok(answer));
    }

    #[napi]
    pub fn fail(&self, error: String) {
        self.end(Err(error));
    }

    fn end(&self, answer: std::result::Result<String, String>) {
        if let Some(sender) = self.sender.take() {
            // What has asked may be gone.
            let _ = sender.send(answer);
        }
    }
}
