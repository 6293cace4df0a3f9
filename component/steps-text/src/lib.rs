//! The machine of steps as a core module: JSON in and out, for hosts that know nothing of the
//! component model, or whose JSON is faster than their way to convert its values.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;
#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code)]
#[path = "../../p2/src/heap.rs"]
mod heap;
mod json;
mod strict;
mod text;
