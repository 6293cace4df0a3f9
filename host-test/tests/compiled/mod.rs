//! The built components, and what tests compile of them, which is kept in the target folder for
//! all test programs and their next runs.

use std::path::{Path, PathBuf};
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

/// A file of the repository.
pub fn in_repository(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)
}

/// The component under test: the file that `HOST_TEST_COMPONENT` names, or the one that
/// `cargo xtask build` makes.
pub fn component_path() -> PathBuf {
    let path = std::env::var_os("HOST_TEST_COMPONENT");
    path.map_or_else(|| in_repository("target/voice-calling.wasm"), PathBuf::from)
}
