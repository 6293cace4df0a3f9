//! The component that a command loads.

use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use voice_calling_host::{CompiledCache, Loading};

/// Returns settings that use the user's cache of compiled components.
pub(crate) fn loading() -> Loading {
    Loading {
        cache: CompiledCache::for_user(),
        ..Loading::default()
    }
}

#[derive(Args)]
pub(crate) struct Component {
    /// The component [default: target/voice-calling.wasm]
    ///
    /// The compiled component is cached in $XDG_CACHE_HOME/voice-calling, or
    /// ~/.cache/voice-calling, if no one else can write to that folder.
    #[arg(long, value_name = "FILE")]
    component: Option<PathBuf>,
    #[command(flatten)]
    built: Built,
}

impl Component {
    pub(crate) fn path(&self) -> PathBuf {
        self.built.or_given(self.component.as_deref())
    }
}

/// Which of the components that `cargo xtask build` makes.
#[derive(Args)]
pub(crate) struct Built {
    /// Instead of a file: the component of this kind that was built
    #[arg(long, value_name = "KIND", conflicts_with = "component")]
    guest: Option<BuiltGuest>,
}

#[derive(Clone, Copy, ValueEnum)]
enum BuiltGuest {
    /// For WASI 0.2: target/voice-calling.wasm
    #[value(name = "0.2")]
    V0_2,
    /// For WASI 0.3: target/voice-calling-p3.wasm
    #[value(name = "0.3")]
    V0_3,
}

impl Built {
    pub(crate) fn or_given(&self, given: Option<&Path>) -> PathBuf {
        let built = match self.guest {
            None | Some(BuiltGuest::V0_2) => "target/voice-calling.wasm",
            Some(BuiltGuest::V0_3) => "target/voice-calling-p3.wasm",
        };
        given.unwrap_or(built.as_ref()).to_owned()
    }
}
