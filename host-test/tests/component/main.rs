//! The component as its users meet it: the built file in wasmtime, against the mock
//! service over loopback, or a network in memory with virtual time.

mod dockets;
mod stage;
