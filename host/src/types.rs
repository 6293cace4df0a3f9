//! The records of the WIT package, as `bindgen!` makes them.

#[allow(missing_docs, clippy::all)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "types-only",
        additional_derives: [Clone, PartialEq, serde::Serialize, serde::Deserialize],
    });
}

pub use bindings::voice_calling::client::types::*;

/// What came of one request of a batch.
pub type DocketResult = Result<CreatedDocketV2, RequestError>;
