//! The native half of the npm package: a thin bridge from JavaScript to the Rust client. What it
//! takes and returns are plain values, and records as JSON; `bindings/javascript/src` makes of them
//! what users see.

// napi-rs requires public types, but only JavaScript uses them.
#![expect(missing_debug_implementations)]

mod batch;
mod breaker;
mod client;
mod command;
mod errors;
mod ledger;
mod logs;
mod numbers;
mod outcome;
mod question;
mod records;
mod runtime;
mod storage;
mod testing;
