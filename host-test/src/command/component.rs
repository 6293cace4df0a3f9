//! The component that a command loads.

use clap::Args;
use std::path::PathBuf;
use voice_calling_host::{Loading, user_cache};

/// The component that a command loads if no other is named.
pub(crate) const DEFAULT: &str = "target/voice-calling.wasm";

/// Returns settings that use the user's cache of compiled components.
pub(crate) fn loading() -> Loading {
    Loading {
        cache: user_cache(),
        ..Loading::default()
    }
}

#[derive(Args)]
pub(crate) struct Component {
    /// The component
    ///
    /// The compiled component is cached in $XDG_CACHE_HOME/voice-calling/compiled, or
    /// ~/.cache/voice-calling/compiled, if no one else can write to that folder.
    #[arg(long = "component", value_name = "FILE", default_value = DEFAULT)]
    pub(crate) path: PathBuf,
}
