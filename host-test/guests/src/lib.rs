//! The components that tests load, which the build script builds when their sources change, and
//! instances of them that are connected to a service.

mod stage;

use std::path::Path;
use voice_calling_host::{Loading, cache_in};

pub use stage::*;

/// The component for WASI 0.2.
pub const CLIENT: &str = concat!(env!("OUT_DIR"), "/voice-calling.wasm");

/// The component for WASI 0.3.
pub const CLIENT_P3: &str = concat!(env!("OUT_DIR"), "/voice-calling-p3.wasm");

/// The component for WASI 0.2 on a core that misbehaves as the variable `FAULT` says.
pub const FAULTY: &str = concat!(env!("OUT_DIR"), "/faulty.wasm");

/// A guest that cancels its calls, with the component for WASI 0.3 plugged into it.
pub const CANCELLER: &str = concat!(env!("OUT_DIR"), "/canceller.wasm");

/// The folder of caches, for all test programs and later runs.
pub const CACHES: &str = concat!(env!("OUT_DIR"), "/caches");

/// Returns the path of the component under test, which is for WASI 0.3 if `HOST_TEST_WASI` is `0.3`.
pub fn component() -> &'static str {
    match std::env::var("HOST_TEST_WASI").as_deref() {
        Ok("0.3") => CLIENT_P3,
        _ => CLIENT,
    }
}

/// Returns settings with the cache of compiled components, which a command uses as well if its
/// caches are in [`CACHES`].
pub fn loading() -> Loading {
    Loading {
        cache: cache_in(&Path::new(CACHES).join("voice-calling/compiled")).ok(),
        ..Loading::default()
    }
}

/// Returns the path of a file in the repository.
pub fn in_repository(path: &str) -> std::path::PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}
