//! Dockets on the engine itself, against the mock service: the deployment is the one that users
//! copy, and the mock recognises no duplicates. The variables `OBELISK` and `OBELISK_FOLDER` locate
//! the engine and the folder; `cargo xtask obelisk test` sets them.

mod campaign;
mod crash;
mod docket;
mod outcome;
mod proxy;
mod readme;
mod webhook;
