//! The examples in other languages, each composed with voice-calling into one component, in the
//! host harness. `cargo xtask examples` builds the compositions; the tests run them against the
//! mock service and prove that they do what their WIT says.

#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use bindings::Composed;
use futures_util::future::BoxFuture;
use http::{Method, Request, Response};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use voice_calling_host::{
    CompiledCache, InstanceSettings, Loading, Network, PooledNetwork, Sandbox,
};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// The bindings of the world `composed`.
#[allow(missing_docs, clippy::all)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "composed",
        exports: { default: async },
        additional_derives: [Clone, PartialEq],
    });
}

/// The records of the interface `renewals`.
pub use bindings::exports::voice_calling::example::renewals::{
    Campaign, Completion, Customer, Ending, Reminder,
};

/// The variable with the path of the folder of compositions; the default is `target/examples`.
const FOLDER_VARIABLE: &str = "EXAMPLES_FOLDER";

/// The language that a guest is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `examples/python`
    Python,
    /// `examples/javascript`
    JavaScript,
}

impl Language {
    /// All languages of the examples.
    pub const ALL: [Self; 2] = [Self::Python, Self::JavaScript];

    fn file(self) -> &'static str {
        match self {
            Self::Python => "renewals-python.wasm",
            Self::JavaScript => "renewals-javascript.wasm",
        }
    }
}

/// A compiled guest with voice-calling plugged in.
pub struct Composition(Sandbox);

impl Composition {
    /// Loads the composition that `cargo xtask examples` built. It includes an interpreter, which
    /// takes seconds to compile: the result is cached beside it.
    pub fn load(language: Language) -> Result<Self> {
        let folder = folder();
        let loading = Loading {
            // If others may write to the folder, the composition is compiled each time.
            cache: CompiledCache::in_folder(&folder.join("compiled")).ok(),
            ..Loading::default()
        };
        let sandbox = Sandbox::load(&folder.join(language.file()), &loading)
            .context("`cargo xtask examples` makes it")?;
        Ok(Self(sandbox))
    }

    /// Calls `renewals.remind` in a fresh instance. The outer result is the host's (a trap), the
    /// inner one the guest's.
    pub async fn remind(
        &self,
        settings: InstanceSettings,
        campaign: &Campaign,
        customers: &[Customer],
    ) -> Result<Result<Vec<Reminder>, String>> {
        let mut instance = self.0.instantiate(settings).await?;
        instance
            .call(async |store, instance| {
                let composed = Composed::new(&mut *store, instance)?;
                let renewals = composed.voice_calling_example_renewals();
                renewals.call_remind(store, campaign, customers).await
            })
            .await
    }

    /// Returns the interfaces that the composition imports.
    pub fn imports(&self) -> Vec<String> {
        self.0.imports()
    }
}

fn folder() -> PathBuf {
    match env::var_os(FOLDER_VARIABLE) {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/examples"),
    }
}

/// A network whose connection breaks after the service has received the `nth` creation (from 1) and
/// before it answers.
pub struct LostAnswer {
    network: PooledNetwork,
    nth: usize,
    creations: AtomicUsize,
}

impl LostAnswer {
    /// Returns a network that loses the answer to the `nth` creation from now.
    pub fn to_nth_creation(nth: usize, network: PooledNetwork) -> Self {
        Self {
            network,
            nth,
            creations: AtomicUsize::new(0),
        }
    }
}

impl Network for LostAnswer {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        let lost = request.method() == Method::POST
            && self.creations.fetch_add(1, Ordering::Relaxed) + 1 == self.nth;
        let sending = self.network.send(request, options);
        Box::pin(async move {
            let answer = sending.await;
            match lost {
                true => Err(Error::ConnectionTerminated),
                false => answer,
            }
        })
    }
}
