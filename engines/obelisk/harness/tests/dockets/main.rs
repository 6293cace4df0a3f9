//! Dockets on the engine itself, against the mock service: the deployment is the one that users
//! copy, and the mock recognises no duplicates. The variables `OBELISK` and `OBELISK_FOLDER` say
//! where the engine and the folder are; `cargo xtask obelisk test` sets them.

mod campaign;
mod crash;
mod deployment;
mod docket;
mod outcome;
mod readme;
mod webhook;
