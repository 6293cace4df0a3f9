//! How guests are built: `cargo xtask` builds those of users, and a build script those of tests.

pub mod compiler;
pub mod component;
pub mod core_module;
pub mod debian_rust;
pub mod guest;
pub mod process;
pub mod toolchain;
pub mod wit;
pub mod workspace;
