//! The built components, and their compiled forms, which the target folder caches for all test
//! programs and later runs.

use std::path::{Path, PathBuf};
use voice_calling_host::{Loading, cache_in};

/// Returns settings with the cache.
pub fn loading() -> Loading {
    // A command uses the same folder if its caches are in the one of these tests.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("voice-calling/compiled");
    Loading {
        cache: cache_in(&folder).ok(),
        ..Loading::default()
    }
}

/// Returns the path of a file in the repository.
pub fn in_repository(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)
}

/// Returns the component under test: the file that `HOST_TEST_COMPONENT` names, or the one that
/// `cargo xtask build` builds.
pub fn component_path() -> PathBuf {
    let path = std::env::var_os("HOST_TEST_COMPONENT");
    path.map_or_else(|| in_repository("target/voice-calling.wasm"), PathBuf::from)
}
