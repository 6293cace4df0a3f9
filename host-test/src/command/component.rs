//! The component that a command loads.

use clap::Args;
use std::path::PathBuf;
use voice_calling_host::{CompiledCache, Loading};

/// The component that a command loads if no other is named.
pub(crate) const DEFAULT: &str = "target/voice-calling.wasm";

/// Returns settings that use the user's cache of compiled components.
pub(crate) fn loading() -> Loading {
    Loading {
        cache: CompiledCache::for_user(),
        ..Loading::default()
    }
}

#[derive(Args)]
pub(crate) struct Component {
    /// The component
    ///
    /// The compiled component is cached in $XDG_CACHE_HOME/voice-calling/compiled, or
    /// ~/.cache/voice-calling/compiled, if no one else can enter that folder.
    #[arg(long = "component", value_name = "FILE", default_value = DEFAULT)]
    pub(crate) path: PathBuf,
}
