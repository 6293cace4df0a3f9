//! A guest composed with the voice-calling component, in the host harness.

use crate::bindings::Composed;
use crate::{Campaign, Customer, Reminder};
use anyhow::{Context, Result};
use std::env;
use std::path::{Path, PathBuf};
use voice_calling_host::{CompiledCache, InstanceSettings, Loading, Sandbox};

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
            .context("`cargo xtask examples build` makes it")?;
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
