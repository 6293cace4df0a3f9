//! How guests are built: `cargo xtask` builds those of users, and a build script those of tests.

#![forbid(unsafe_code)]

pub mod component;
pub mod core_module;
pub mod guest;
pub mod process;
pub mod setup;
pub mod toolchain;
pub mod wit;
pub mod workspace;
