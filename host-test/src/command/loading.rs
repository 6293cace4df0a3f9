//! How commands load a component.

use voice_calling_host::{CompiledCache, Loading};

/// What was compiled for this user before is not compiled again.
pub(crate) fn loading() -> Loading {
    Loading {
        cache: Some(CompiledCache::for_user()),
        ..Loading::default()
    }
}
