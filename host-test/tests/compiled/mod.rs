//! What tests compile is kept in the target folder, for all test programs and their next runs.

use std::path::Path;
use voice_calling_host::{CompiledCache, Loading};

/// Where others may write to the target folder, tests compile each time.
pub fn loading() -> Loading {
    // A command finds the same folder, where its caches are in the one of these tests.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("voice-calling");
    Loading {
        cache: CompiledCache::in_folder(&folder).ok(),
        ..Loading::default()
    }
}
